"""What gpusolve.sksparse and gpusolve.sksparse05 are made of. A program imports those two.

errors: the exceptions of both versions. compressed: matrices as version 0.5 takes them. decomposition: CHOLMOD's factor with the
solver that is made of it, which both versions' factors are. cholesky_factor, graphs: version 0.5's class and functions.
"""
