"""The lowest modes of an L-shaped drum, by shift-invert: eigsh with a factor as OPinv.

The first mode of the unit L has the eigenvalue 9.63972 (the "MathWorks" L). SciPy does the same with its own factorisation.

    python modes.py [--side 160] [--modes 8] [--device cpu] [--output modes.png]
"""

import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from picture import arguments, save

import gpusolve


def main():
    options = arguments(__doc__, "modes.png", side=160, modes=8)
    side = options.side | 1  # odd: the corner is a point of the grid
    one = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    h = 2 / (side + 1)  # three unit squares
    K = (sp.kron(one, sp.eye(side)) + sp.kron(sp.eye(side), one)).tocsr() / h**2
    y, x = np.mgrid[1 : side + 1, 1 : side + 1] * h - 1
    inside = np.flatnonzero(~((x >= -1e-12) & (y >= -1e-12)).ravel())
    K = K[inside][:, inside].tocsc()

    start = time.perf_counter()
    with gpusolve.cholesky(K, device=options.device) as F:
        values, vectors = spla.eigsh(K, k=options.modes, sigma=0, OPinv=F.as_linear_operator())
        device = F.info["device"]
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    by_scipy = spla.eigsh(K, k=options.modes, sigma=0, return_eigenvectors=False)
    scipy_seconds = time.perf_counter() - start
    assert np.allclose(np.sort(values), np.sort(by_scipy), rtol=1e-8)
    title = (f"{len(inside)} unknowns, {options.modes} modes: gpusolve on {device} {seconds:.2f} s, SciPy {scipy_seconds:.2f} s; "
             f"first eigenvalue {values.min():.4f} (9.6397)")
    print(title)

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, (options.modes + 1) // 2, figsize=(14, 7))
    for axis, k in zip(axes.flat, np.argsort(values)):
        field = np.full(side * side, np.nan)
        field[inside] = vectors[:, k]
        limit = abs(vectors[:, k]).max()
        axis.imshow(field.reshape(side, side), origin="lower", cmap="RdBu_r", vmin=-limit, vmax=limit)
        axis.set_title(f"{values[k]:.3f}")
        axis.set_axis_off()
    save(figure, title, options.output)


if __name__ == "__main__":
    main()
