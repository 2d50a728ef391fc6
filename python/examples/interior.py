"""A membrane over an obstacle, by an interior-point method that refreshes one factor at every step.

The quadratic program is: minimise u' K u / 2 - f' u subject to u >= psi, with the grid's Laplacian K. With the slack s = u - psi
and the pressure z of the obstacle, a step of Mehrotra's predictor-corrector method solves twice with

    K + Z / S:   the same pattern at every step, other numbers on its diagonal

so ordering, analysis and plan are made once, and `F.refresh` brings the numbers. The same matrices are then factorised anew by
gpusolve, by SciPy's splu, and by scikit-sparse, which keeps its analysis too, if it is installed.

    python interior.py [--side 200] [--device cuda] [--output interior.png]
"""

import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from picture import arguments, arrays, save

import gpusolve


def obstacle(side):
    """The Laplacian of the unit square, and what the membrane must stay above: a ridge and three domes."""
    one = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    K = (sp.kron(one, sp.eye(side)) + sp.kron(sp.eye(side), one)).tocsc()
    y, x = np.mgrid[1 : side + 1, 1 : side + 1] / (side + 1)
    psi = 0.35 * np.exp(-(((x - 0.68) / 0.16) ** 2)) * np.exp(-(((y - 0.5) / 0.3) ** 2)) - 0.05
    for a, b, radius in ((0.25, 0.25, 0.15), (0.3, 0.72, 0.12), (0.45, 0.48, 0.08)):
        psi = np.maximum(psi, 2 * np.sqrt(np.maximum(radius**2 - (x - a) ** 2 - (y - b) ** 2, 0)) - 0.05)
    return K, psi.ravel(), x.ravel(), y.ravel()


def longest(v, dv):
    """The longest step, at most 1, that keeps v + step dv positive."""
    shrinking = dv < 0
    return min(1.0, 0.995 * float((-v[shrinking] / dv[shrinking]).min())) if shrinking.any() else 1.0


def interior_point(K, f, psi, newton, tolerance=1e-9):
    """newton(d) factorises K + diag(d) and returns its solve. Returns u, z, and for each step s'z / n, residual, d."""
    u = np.maximum(psi, 0) + 0.1
    s, z, steps = u - psi, np.full(len(u), 0.01), []
    while True:
        gap, residual = s @ z / len(u), K @ u - f - z
        steps.append((gap, abs(residual).max(), z / s))
        if gap < tolerance and abs(residual).max() < tolerance:
            return u, z, steps
        if not len(steps) < 60:
            raise RuntimeError("the interior-point method does not converge")
        solve = newton(z / s)
        du = solve(-residual - z)  # predictor: towards s z = 0
        dz = -z - z / s * du
        step, step_z = longest(s, du), longest(z, dz)
        sigma = ((s + step * du) @ (z + step_z * dz) / (s @ z)) ** 3
        correction = (sigma * gap - du * dz) / s
        du = solve(-residual - z + correction)  # corrector: s z = sigma gap, to second order
        dz = -z - z / s * du + correction
        step = min(longest(s, du), longest(z, dz))
        u, s, z = u + step * du, s + step * du, z + step * dz


def kept(K, factor, refresh):
    """newton of interior_point with one factor, whose numbers are refreshed."""

    def newton(d):
        refresh((K + sp.diags(d)).tocsc())
        return factor

    return newton


def seconds_by_method(K, f, steps, F, device):
    """Seconds of a factorisation and two solves, by method and step; the faster of two.

    No factor of scikit-sparse may live on where pictures are drawn: matplotlib leaves cycles that hold the frames of its callers,
    and scikit-sparse 0.4 writes to memory of others when the cyclic garbage collector frees a factor.
    """
    methods = {"gpusolve, refresh": kept(K, F, F.refresh),
               "gpusolve, anew": lambda d: gpusolve.cholesky((K + sp.diags(d)).tocsc(), device=device)}
    try:
        from sksparse.cholmod import analyze  # 0.5 has none

        f_sparse = analyze(K, ordering_method="metis", mode="supernodal")
        methods["scikit-sparse, in place"] = kept(K, f_sparse, f_sparse.cholesky_inplace)
    except ImportError:
        print("scikit-sparse 0.4 is not installed")
    symmetric = {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
    methods["SciPy splu, anew"] = lambda d: spla.splu((K + sp.diags(d)).tocsc(), **symmetric).solve
    seconds = {name: np.full(len(steps) - 1, np.inf) for name in methods}
    for k, name in [(k, name) for k in range(len(steps) - 1) for name in list(methods) * 2]:
        start = time.perf_counter()
        solve = methods[name](steps[k][2])
        solve(f), solve(f)
        seconds[name][k] = min(seconds[name][k], time.perf_counter() - start)
    return seconds


def main():
    options = arguments(__doc__, "interior.png", side=200)
    K, psi, x, y = obstacle(options.side)
    n, f = K.shape[0], np.full(K.shape[0], -4.0 / (options.side + 1) ** 2)

    F = gpusolve.cholesky(K, device=options.device)
    u, z, steps = interior_point(K, f, psi, kept(K, F, F.refresh))
    assert (u > psi).all() and (z > 0).all() and abs(K @ u - f - z).max() < 1e-8 and abs(z * (u - psi)).max() < 1e-6
    seconds = seconds_by_method(K, f, steps, F, options.device)
    medians = {name: f"{name}: {1e3 * np.median(spent):.0f} ms" for name, spent in seconds.items()}
    title = f"{n} unknowns, {len(steps) - 1} steps of the interior-point method on {F.info['device']}"
    print(title, *medians.values(), sep="\n")

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), width_ratios=(1.15, 1, 1.1))
    shape = (options.side, options.side)
    picture = axes[0].imshow(u.reshape(shape), origin="lower", extent=(0, 1, 0, 1), cmap="viridis")
    axes[0].contour(x.reshape(shape), y.reshape(shape), u.reshape(shape), levels=12, colors="w", linewidths=0.5)
    axes[0].contourf(x.reshape(shape), y.reshape(shape), (z > u - psi).reshape(shape).astype(float), levels=[0.5, 1.5],
                     colors="none", hatches=["////"])
    figure.colorbar(picture, ax=axes[0], shrink=0.85, label="height")
    axes[0].set(title="the membrane; hatched: it lies on the obstacle", xlabel="x", ylabel="y")
    axes[1].semilogy([gap for gap, _, _ in steps], "o-", markersize=3, label="s'z / n")
    axes[1].semilogy([max(r, 1e-17) for _, r, _ in steps], "s-", markersize=3, label="max |K u - f - z|")
    axes[1].set(title="convergence", xlabel="step")
    axes[1].legend(fontsize=8)
    for name, spent in seconds.items():
        axes[2].semilogy(1e3 * spent, "o-", markersize=3, label=medians[name])
    axes[2].set(title="a factorisation and two solves, with medians", xlabel="step", ylabel="milliseconds",
                ylim=(None, 5e3 * max(map(max, seconds.values()))))
    axes[2].legend(fontsize=8, loc="upper right")
    for axis in axes:
        axis.title.set_fontsize(10)
    save(figure, title, options.output)


if __name__ == "__main__":
    main()
