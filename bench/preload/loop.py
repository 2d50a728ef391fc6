"""A program of scikit-sparse's users: one factor, many solves. It does not know gpusolve; `run` starts it without and with the preload library.

    loop.py SIDE COLUMNS SOLVES

The matrix is the 7-point grid of SIDE^3 nodes (40: L has 125 MB). Prints a line of JSON: the times of f.solve_A(b), each call by itself, with
b of COLUMNS columns in NumPy's ordinary memory.
"""
import json
import sys
import time

import numpy
import scipy.sparse
from sksparse.cholmod import cholesky

side, columns, solves = map(int, sys.argv[1:4])
line = scipy.sparse.diags([-numpy.ones(side - 1), 2 * numpy.ones(side), -numpy.ones(side - 1)], [-1, 0, 1])
one = scipy.sparse.identity(side)
kron = scipy.sparse.kron
a = (kron(kron(line, one), one) + kron(kron(one, line), one) + kron(kron(one, one), line)).tocsc()
n = a.shape[0]
start = time.perf_counter()
f = cholesky(a, mode="supernodal", ordering_method="metis")
factor_s = time.perf_counter() - start

random = numpy.random.default_rng(1)
blocks = [numpy.asfortranarray(random.standard_normal((n, columns))) for _ in range(4)]
times = []
for k in range(solves):
    b = blocks[k % len(blocks)]
    start = time.perf_counter()
    x = f.solve_A(b)
    times.append(1e3 * (time.perf_counter() - start))
residual = float(abs(a @ x - b).max() / abs(b).max())
later = sorted(times[3:])
print(json.dumps({"n": n, "columns": columns, "solves": solves, "factor_s": round(factor_s, 3),
                  "first_ms": round(times[0], 3), "second_ms": round(times[1], 3), "third_ms": round(times[2], 3),
                  "median_ms": round(later[len(later) // 2], 4), "tenth_ms": round(later[len(later) // 10], 4),
                  "ninetieth_ms": round(later[len(later) * 9 // 10], 4), "total_s": round(sum(times) / 1e3, 3),
                  "residual": residual}))
if not residual < 1e-10:
    sys.exit("the residual is too large")
