#!/usr/bin/env python3
"""A user of scikit-sparse 0.5: factors of every type are solved with again and again, and factorised anew.
It checks its own solutions and says how many are wrong. scikit-sparse 0.5 makes every factor simplicial."""
import itertools

import numpy as np
import scipy.sparse as sp
from sksparse.cholmod import cho_factor


def cube(k, dtype, shift, indices):
    """The 7-point stencil of k^3 points; Hermitian, with imaginary parts, if dtype is complex."""
    upper = -1 + 0.25j * np.iscomplexobj(np.empty(0, dtype))
    line = sp.diags([np.conj(upper), 2.2 + shift, upper], [-1, 0, 1], shape=(k, k))
    eye = sp.eye(k)
    A = sp.kron(sp.kron(line, eye), eye) + sp.kron(sp.kron(eye, line), eye) + sp.kron(sp.kron(eye, eye), line)
    A = sp.csc_array(A if np.iscomplexobj(np.empty(0, dtype)) else A.real).astype(dtype)
    A.indices, A.indptr = A.indices.astype(indices), A.indptr.astype(indices)
    return A


wrong = 0
rng = np.random.default_rng(5)
for dtype, indices, mode in itertools.product("fdFD", (np.int32, np.int64), ("supernodal", "simplicial")):
    A = cube(8, dtype, 0, indices)
    n, epsilon = A.shape[0], np.finfo(dtype).eps
    f = cho_factor(A, lower=True, supernodal_mode=mode)
    for round in range(2):
        for columns in ((), (1,), (7,)) * 3:
            b = rng.standard_normal((n, *columns)).astype(dtype)
            b *= 1 + 0.5j * np.iscomplexobj(b) if np.iscomplexobj(b) else 1
            x = f.solve(b)
            error = np.linalg.norm(A @ x - b) / np.linalg.norm(b)
            wrong += not error < 100 * epsilon
            # L y = P b, then L' z = y: z is P x
            y = f.solve(f.solve(b[f.perm], system="L"), system="Lt")
            wrong += not np.linalg.norm(y - x[f.perm]) < 100 * epsilon * np.linalg.norm(x)
        sparse = sp.random_array((n, 5), density=0.01, format="csc", dtype=dtype, rng=rng)
        sparse.indices, sparse.indptr = sparse.indices.astype(indices), sparse.indptr.astype(indices)
        x = f.solve(sparse)
        wrong += not abs(A @ x - sparse).max() < 100 * epsilon
        A = cube(8, dtype, 1.5, indices)
        f.factorize(A)
print(wrong, "wrong")
