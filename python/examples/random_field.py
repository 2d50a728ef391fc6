"""Samples of a Gaussian Markov random field with a Matern covariance, and its conditional mean given a few observations.

The precision matrix is Q = (kappa^2 I + K)^2. With P Q P' = L L', x = P' L'^-1 z has the covariance Q^-1: one solve with L' for
many samples at once. The mean given observations is a solve with Q + A' A / sigma^2, and the marginal variances there come from
samples. scikit-sparse draws the same samples for comparison, if it is installed.

    python random_field.py [--side 150] [--samples 1000] [--device cuda] [--output random_field.png]
"""

import time

import numpy as np
import scipy.sparse as sp
from picture import arguments, arrays, save

import gpusolve


def seconds_of_scikit_sparse(Q, z):
    """What the samples take scikit-sparse, whose factor is freed at the end: interior.py says why."""
    from sksparse.cholmod import analyze  # 0.5 has none

    f = analyze(Q, ordering_method="metis", mode="supernodal")
    f.cholesky_inplace(Q)
    start = time.perf_counter()
    f.apply_Pt(f.solve_Lt(z, use_LDLt_decomposition=False))
    return time.perf_counter() - start


def main():
    options = arguments(__doc__, "random_field.png", side=150, samples=1000)
    side, n = options.side, options.side**2
    one = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    K = sp.kron(one, sp.eye(side)) + sp.kron(sp.eye(side), one)
    kappa = np.sqrt(8) / (0.2 * side)  # a range of a fifth of the picture
    Q = ((kappa**2 * sp.eye(n) + K) @ (kappa**2 * sp.eye(n) + K)).tocsc() * (1 / (4 * np.pi * kappa**2))
    generator = np.random.default_rng(5)
    z = generator.standard_normal((n, options.samples))

    with gpusolve.cholesky(Q, device=options.device) as F:
        to, _, back, synchronize = arrays(F)
        z_there = to(z)
        F.solve(z_there, system="Lt")
        synchronize()
        start = time.perf_counter()
        samples = F.solve(F.solve(z_there, system="Lt"), system="Pt")
        synchronize()
        seconds = time.perf_counter() - start
        samples = back(samples)
        device = F.info["device"]

    # Observations of the first sample at a few points, with noise.
    truth, sigma = samples[:, 0], 0.1
    at = generator.choice(n, 60, replace=False)
    A = sp.csr_matrix((np.ones(60), (np.arange(60), at)), shape=(60, n))
    values = truth[at] + sigma * generator.standard_normal(60)
    with gpusolve.cholesky(Q + A.T @ A / sigma**2, device=options.device) as F:
        to, _, back, _ = arrays(F)
        mean = back(F.solve(to(A.T @ values / sigma**2)))
        draws = back(F.solve(F.solve(to(z[:, :300]), system="Lt"), system="Pt"))
        deviation = draws.std(axis=1)

    title = f"{n} points, {options.samples} samples: gpusolve on {device} {seconds:.3f} s"
    try:
        title += f", scikit-sparse {seconds_of_scikit_sparse(Q, z):.3f} s"
    except ImportError:
        title += " (scikit-sparse 0.4 is not installed)"
    print(title)

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(14, 4))
    limit = abs(truth).max()
    for axis, field, name in ((axes[0], samples[:, 1], "a sample"), (axes[1], truth, "the truth, and where it is observed"),
                              (axes[2], mean, "mean given the observations"), (axes[3], deviation, "standard deviation")):
        is_deviation = field is deviation
        picture = axis.imshow(field.reshape(side, side), origin="lower", cmap="viridis" if is_deviation else "RdBu_r",
                              vmin=0 if is_deviation else -limit, vmax=None if is_deviation else limit)
        figure.colorbar(picture, ax=axis, shrink=0.7)
        axis.set_title(name, fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
        if field is truth or is_deviation:
            axis.plot(at % side, at // side, "k.", markersize=3)
    save(figure, title, options.output)


if __name__ == "__main__":
    main()
