"""Distances along a surface by the heat method, and points spread evenly over a knot.

Crane, Weischedel and Wardetzky (2013): heat that has flowed from a point for a short time t points away from it. So

    (M + t C) u = the point,   X = -grad u / |grad u|,   C phi = div X

with the cotangent Laplacian C and the vertices' areas M. Both matrices are factorised once; each further point costs two solves.
Here points are added one at a time, always where the others are farthest away. SciPy's splu does the same solves for comparison.

    python geodesics.py [--around 48] [--points 100] [--device cuda] [--output geodesics.png]
"""

import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from picture import arguments, arrays, save
from scipy.sparse.csgraph import dijkstra

import gpusolve


def knot(around):
    """A tube along a trefoil: vertices (n, 3) and triangles (m, 3). It is 24 times as many vertices long as around."""
    along = 24 * around
    s = 2 * np.pi * np.arange(along) / along
    curve = np.stack([np.sin(s) + 2 * np.sin(2 * s), np.cos(s) - 2 * np.cos(2 * s), -np.sin(3 * s)], axis=1)
    tangent = np.roll(curve, -1, axis=0) - np.roll(curve, 1, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    outwards = curve - tangent * (curve * tangent).sum(1, keepdims=True)  # from the middle: never along the trefoil
    outwards /= np.linalg.norm(outwards, axis=1, keepdims=True)
    side = np.cross(tangent, outwards)
    angle = (2 * np.pi * np.arange(around) / around)[None, :, None]
    vertices = curve[:, None] + 0.55 * (np.cos(angle) * outwards[:, None] + np.sin(angle) * side[:, None])
    i, j = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    a, b = i * around + j, (i + 1) % along * around + j
    c, d = (i + 1) % along * around + (j + 1) % around, i * around + (j + 1) % around
    triangles = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
    return vertices.reshape(-1, 3), triangles


def operators(vertices, triangles):
    """Cotangent Laplacian C, areas M, gradient G (3 m, n) from vertices to triangles, and its adjoint."""
    n, m = len(vertices), len(triangles)
    p = vertices[triangles]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    twice = np.linalg.norm(normal, axis=1, keepdims=True)
    rows = (3 * np.arange(m)[:, None] + np.arange(3)).ravel()
    G = sp.csr_matrix((3 * m, n))
    for k in range(3):  # the gradient of a corner's hat function: the normal times the opposite edge
        values = np.cross(normal / twice**2, p[:, (k + 2) % 3] - p[:, (k + 1) % 3])
        G = G + sp.csr_matrix((values.ravel(), (rows, np.repeat(triangles[:, k], 3))), shape=(3 * m, n))
    area = np.repeat(twice[:, 0] / 2, 3)
    M = np.bincount(triangles.ravel(), weights=area / 3, minlength=n)
    div = (G.T @ sp.diags(area)).tocsr()
    return div @ G, sp.diags(M), G, div


def heat_method(solve_heat, solve_poisson, G, div, to=np.asarray):
    """The function that tells every vertex's distance from one of them."""

    def distance(vertex):
        X = (G @ solve_heat(to(np.arange(G.shape[1]) == vertex).astype(float))).reshape(-1, 3)
        X = X / (abs(X).max(1) + 1e-300)[:, None]  # far away they are too small to be squared
        X = X / ((X**2).sum(1) ** 0.5 + 1e-300)[:, None]
        phi = solve_poisson(div @ -X.ravel())
        return phi - phi[vertex]

    return distance


def spread(distance, first, points, back=np.asarray):
    """Add the farthest point until there are so many. Returns each vertex's nearest one, and all distances to the first."""
    to_first = back(distance(first))
    least, nearest = to_first.copy(), np.zeros(len(to_first), int)
    for k in range(1, points):
        to_this = back(distance(int(least.argmax())))
        nearest[to_this < least] = k
        least = np.minimum(least, to_this)
    return nearest, to_first


def main():
    options = arguments(__doc__, "geodesics.png", around=48, points=100)
    vertices, triangles = knot(options.around)
    C, M, G, div = operators(vertices, triangles)
    n, first = len(vertices), int(vertices[:, 2].argmax())
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    lengths = np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1)
    heat, poisson = (M + 4 * np.mean(lengths) ** 2 * C).tocsc(), (C + 1e-8 * M).tocsc()

    with gpusolve.cholesky(heat, device=options.device) as F, gpusolve.cholesky(poisson, device=options.device) as P:
        to, to_sparse, back, synchronize = arrays(F)
        distance = heat_method(F.solve, P.solve, to_sparse(G), to_sparse(div), to)
        distance(first)
        synchronize()
        start = time.perf_counter()
        nearest, to_first = spread(distance, first, options.points, back)
        seconds = time.perf_counter() - start
        device = F.info["device"]
    few = max(2, options.points // 10)
    by_scipy = [spla.splu(A, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve for A in (heat, poisson)]
    start = time.perf_counter()
    spread(heat_method(*by_scipy, G, div), first, few)
    scipy_seconds = (time.perf_counter() - start) * options.points / few

    # Paths along edges are longer than those across triangles, by up to a tenth.
    on_edges = dijkstra(sp.csr_matrix((lengths, edges.T), shape=(n, n)), directed=False, indices=first)
    ratio = np.median(np.delete(to_first, first) / np.delete(on_edges, first))
    assert 0.85 < ratio < 1.02, ratio
    title = f"{n} vertices, {options.points} points: gpusolve on {device} {seconds:.2f} s, SciPy splu {scipy_seconds:.2f} s"
    print(title)

    import matplotlib.pyplot as plt
    from matplotlib.collections import PolyCollection

    # Seen from above, lit from the left; triangles are drawn from the lowest to the highest.
    p = vertices[triangles]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    light = 0.35 + 0.65 * np.clip(normal @ np.array([-0.45, 0.45, 0.77]), 0, 1)
    order = np.flatnonzero(normal[:, 2] > 0)
    order = order[np.argsort(p[order, :, 2].mean(1))]
    palette = np.random.default_rng(3).permutation(plt.get_cmap("turbo")(np.linspace(0.05, 0.95, options.points))[:, :3])
    distance = to_first[triangles].mean(1)
    bands = plt.get_cmap("viridis")(distance / to_first.max())[:, :3] * np.where(distance % 1 < 0.12, 0.35, 1)[:, None]
    figure, axes = plt.subplots(1, 2, figsize=(12, 5))
    for axis, colours, name in ((axes[0], bands, "distance from the white point; a line at each unit"),
                                (axes[1], palette[nearest[triangles[:, 0]]], f"{options.points} points, and what is nearest to each")):
        axis.add_collection(PolyCollection(p[order][:, :, :2], facecolors=colours[order] * light[order, None], edgecolors="face",
                                           linewidths=0.2))
        axis.set(xlim=(-3.7, 3.7), ylim=(-3.8, 2.9), aspect="equal", xlabel="x", ylabel="y")
        axis.set_title(name, fontsize=10)
    axes[0].plot(*vertices[first, :2], "wo", markersize=6)
    figure.colorbar(plt.cm.ScalarMappable(plt.Normalize(0, to_first.max()), "viridis"), ax=axes[0], shrink=0.8, label="distance")
    save(figure, title, options.output)


if __name__ == "__main__":
    main()
