"""The matrices of bench/python/peers: generated, or Matrix Market files on the search path.

    grid2d:N        5-point Laplacian of a square, N^2 unknowns
    grid3d:N        7-point Laplacian of a cube, N^3
    elasticity3d:N  linear elasticity, hexahedra, N^3 nodes with 3 unknowns each, one face clamped
    NAME, or FILE   a Matrix Market file, by name on the search path of matrices/README.md; "*" stands for all of these

The generated ones have the pattern of those that gpusolve-bench calls so, and their numbers up to rounding.
"""

import gzip
import os
import pathlib

import numpy as np
import scipy.io
import scipy.sparse as sp

ROOT = pathlib.Path(__file__).resolve().parents[2]


def laplacian(side, dimensions):
    one, eye = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side)), sp.eye(side)
    A = one
    for _ in range(dimensions - 1):
        A = sp.kron(A, eye) + sp.kron(sp.eye(A.shape[0]), one)
    return A


def element():
    """The stiffness matrix of a unit cube with trilinear functions: 8 corners, 3 unknowns each; E = 1, nu = 0.3."""
    corners = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    nu = 0.3
    D = np.zeros((6, 6))
    D[:3, :3] = nu
    np.fill_diagonal(D, [1 - nu] * 3 + [(1 - 2 * nu) / 2] * 3)
    D /= (1 + nu) * (1 - 2 * nu)
    K = np.zeros((24, 24))
    for point in 0.5 + (2 * corners - 1) * 0.5 / np.sqrt(3):
        factors = np.where(corners == 1, point, 1 - point)
        signs = np.where(corners == 1, 1.0, -1.0)
        x, y, z = (signs[:, d] * np.delete(factors, d, axis=1).prod(1) for d in range(3))  # the gradients of the 8 functions
        B = np.zeros((6, 24))
        B[0, 0::3], B[1, 1::3], B[2, 2::3] = x, y, z
        B[3, 0::3], B[3, 1::3] = y, x
        B[4, 1::3], B[4, 2::3] = z, y
        B[5, 0::3], B[5, 2::3] = z, x
        K += B.T @ D @ B / 8
    return corners, K


def elasticity(side):
    corners, K = element()
    nodes = np.arange((side + 1) * side * side).reshape(side + 1, side, side)
    cells = np.stack([nodes[i : side + i, j : side - 1 + j, k : side - 1 + k].ravel() for i, j, k in corners], axis=1)
    unknowns = (3 * cells[:, :, None] + np.arange(3)).reshape(len(cells), 24)
    rows, cols = np.repeat(unknowns, 24, axis=1).ravel(), np.tile(unknowns, (1, 24)).ravel()
    A = sp.csc_matrix((np.tile(K.ravel(), len(cells)), (rows, cols)), shape=(3 * nodes.size,) * 2)
    free = 3 * side * side
    return A[free:, free:]


def folders():
    named = [pathlib.Path(name) for name in os.environ.get("GPUSOLVE_MATRICES", "").split(":") if name]
    for folder in [*named, ROOT / "matrices", ROOT.parent / "shared/matrices"]:
        if folder.is_dir():
            yield folder


def on_search_path(least, most):
    """Names of the symmetric real matrices there whose order is between these."""
    found = {}
    for folder in folders():
        for path in sorted([*folder.glob("*.mtx"), *folder.glob("*.mtx.gz")]):
            rows, cols, _, _, field, symmetry = scipy.io.mminfo(str(path))
            if rows == cols and least <= rows <= most and field in ("real", "integer") and symmetry == "symmetric":
                found.setdefault(path.name.removesuffix(".gz").removesuffix(".mtx"), rows)
    return sorted(found, key=found.get)


def load(spec):
    """The matrix with both triangles, as compressed columns."""
    kind, _, size = spec.partition(":")
    if kind in ("grid2d", "grid3d"):
        A = laplacian(int(size), int(kind[4]))
    elif kind == "elasticity3d":
        A = elasticity(int(size))
    else:
        paths = [pathlib.Path(spec)] + [folder / (spec + end) for folder in folders() for end in (".mtx", ".mtx.gz")]
        path = next((path for path in paths if path.is_file()), None)
        if path is None:
            raise FileNotFoundError(f"no {spec}.mtx or {spec}.mtx.gz in {', '.join(map(str, folders())) or 'any folder'}")
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            A = scipy.io.mmread(file)
    A = sp.csc_matrix(A, dtype=np.float64)
    A = (A + A.T) / 2  # the same bits in both triangles
    A.sort_indices()
    return A
