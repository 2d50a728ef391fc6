"""The heat equation on a square with a hole, stepped in time by the implicit midpoint rule.

One matrix, I + dt/2 K, factorised once; a solve for each of 10,000 steps. SciPy's splu does the same steps for comparison.

    python heat.py [--side 120] [--steps 10000] [--device cuda] [--output heat.png]
"""

import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from picture import arguments, arrays, save

import gpusolve


def laplacian(side):
    """The Laplacian of the grid's points outside of the hole, with zero on every boundary; and which points these are."""
    one = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    K = (sp.kron(one, sp.eye(side)) + sp.kron(sp.eye(side), one)).tocsc() * float(side + 1) ** 2
    y, x = np.mgrid[1 : side + 1, 1 : side + 1] / (side + 1)
    inside = np.flatnonzero((x - 0.6) ** 2 + (y - 0.4) ** 2 > 0.15**2)
    return K[inside][:, inside], inside, x.ravel()[inside], y.ravel()[inside]


def run(solve, explicit, u, steps, keep, synchronize=lambda: None):
    """(I + dt/2 K) u_next = (I - dt/2 K) u. Returns the seconds and the states that are kept."""
    kept, spent = [], 0.0
    for k in range(steps + 1):
        if k in keep:
            kept.append(u.copy())
        if k == steps:
            break
        start = time.perf_counter()
        u = solve(explicit @ u)
        spent += time.perf_counter() - start
    start = time.perf_counter()
    synchronize()
    return spent + time.perf_counter() - start, kept


def main():
    options = arguments(__doc__, "heat.png", side=120, steps=10000)
    K, inside, x, y = laplacian(options.side)
    n, dt = len(inside), 0.05 / options.steps
    A, B = sp.eye(n) + dt / 2 * K, (sp.eye(n) - dt / 2 * K).tocsr()
    u0 = np.exp(-120 * ((x - 0.3) ** 2 + (y - 0.7) ** 2)) + np.exp(-300 * ((x - 0.75) ** 2 + (y - 0.75) ** 2))
    keep = [0, options.steps // 20, options.steps // 4, options.steps]

    with gpusolve.cholesky(A, device=options.device) as F:
        to, to_sparse, back, synchronize = arrays(F)
        seconds, states = run(F.solve, to_sparse(B), to(u0), options.steps, keep, synchronize)
        device = F.info["device"]
    few = max(1, options.steps // 20)
    by_scipy, _ = run(spla.splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve, B, u0, few, [])
    by_scipy *= options.steps / few
    title = f"{n} unknowns, {options.steps} steps: gpusolve on {device} {seconds:.2f} s, SciPy splu {by_scipy:.2f} s"
    print(title)

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(14, 4))
    for axis, state, step in zip(axes, states, keep):
        field = np.full(options.side**2, np.nan)
        field[inside] = back(state)
        picture = axis.imshow(field.reshape(options.side, -1), origin="lower", extent=(0, 1, 0, 1), cmap="inferno")
        figure.colorbar(picture, ax=axis, shrink=0.7)
        axis.set_title(f"t = {step * dt:.4f}")
        axis.set_xticks([])
        axis.set_yticks([])
    save(figure, title, options.output)


if __name__ == "__main__":
    main()
