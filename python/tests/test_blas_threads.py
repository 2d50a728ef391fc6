"""The number of BLAS threads in a factorisation: chosen, bounded by the program's, and given back."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import gpusolve
from gpusolve import _core, _library

MANY = 7


def laplacian(side):
    one, eye = sp.diags([-1.0, 2.1, -1.0], [-1, 0, 1], shape=(side, side)), sp.eye(side)
    return sp.csc_matrix(sp.kron(sp.kron(one, eye), eye) + sp.kron(sp.kron(eye, one), eye) + sp.kron(sp.kron(eye, eye), one))


@pytest.fixture
def openblas():
    """CHOLMOD's OpenBLAS with MANY threads."""
    _library.open_cholmod()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split()[-1] for line in maps if "/libopenblas" in line}
    for path in paths:
        library = ctypes.CDLL(path)
        if hasattr(library, "openblas_set_num_threads"):
            before = library.openblas_get_num_threads()
            library.openblas_set_num_threads(MANY)
            yield library
            library.openblas_set_num_threads(before)
            return
    pytest.skip("CHOLMOD is not linked with an OpenBLAS")


def watch(openblas, call, wanted, seconds=60):
    """The numbers of threads seen while another thread makes calls, until `wanted` has been seen, at most for these seconds."""
    stop, seen, end = threading.Event(), set(), time.monotonic() + seconds

    def repeat():
        while not stop.is_set():
            call()

    thread = threading.Thread(target=repeat)
    thread.start()
    while thread.is_alive() and wanted not in seen and time.monotonic() < end:
        seen.add(openblas.openblas_get_num_threads())
    stop.set()
    thread.join()
    return seen


def test_threads_grow_with_the_work():
    numbers = [_core.blas_threads_for(flops) for flops in (0.0, 1e6, 1e9, 1e10, 1e11, 1e12, 1e300)]
    assert numbers == sorted(numbers) and numbers[:3] == [1, 1, 1] and 1 < numbers[3] < numbers[5] <= 1024


def test_a_small_factorisation_takes_one_thread_and_gives_the_number_back(openblas):
    A = laplacian(18)
    assert 1 in watch(openblas, lambda: gpusolve.cholesky(A, device="cpu"), 1)
    assert openblas.openblas_get_num_threads() == MANY
    F = gpusolve.cholesky(A, device="cpu")
    F.refresh(A)
    for _ in range(2):  # in the memory of the first
        assert 1 in watch(openblas, lambda: F.refresh(A), 1)
        assert openblas.openblas_get_num_threads() == MANY


def test_a_failed_factorisation_gives_the_number_back(openblas):
    A = laplacian(10) - 6 * sp.eye(1000)
    with pytest.raises(gpusolve.NotPositiveDefiniteError):
        gpusolve.cholesky(A, device="cpu", mode="supernodal")
    assert openblas.openblas_get_num_threads() == MANY


def test_the_program_number_is_an_upper_bound(openblas):
    A = laplacian(14)
    matrix = (A.shape[0], A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data, 1, 0.0)
    symbolic = _core.Symbolic(*matrix[:3], 1, 3, 2, None)
    numeric = symbolic.factorize(*matrix, False)
    assert 5 in watch(openblas, lambda: numeric.factorize(*matrix, 5), 5)
    openblas.openblas_set_num_threads(2)
    for threads in (2, 5):
        numeric.factorize(*matrix, threads)
        assert watch(openblas, lambda n=threads: numeric.factorize(*matrix, n), None, 0.5) == {2}


def test_what_the_program_sets_meanwhile_stays(openblas):
    A = laplacian(18)
    thread = threading.Thread(target=lambda: gpusolve.cholesky(A, device="cpu"))
    thread.start()
    while thread.is_alive() and openblas.openblas_get_num_threads() == MANY:
        pass
    openblas.openblas_set_num_threads(3)
    thread.join()
    assert openblas.openblas_get_num_threads() == 3


def test_threads_of_the_program_factorise_side_by_side(openblas):
    matrices = [laplacian(side) for side in (8, 12, 16, 18)]
    threads = [threading.Thread(target=lambda A=A: [gpusolve.cholesky(A, device="cpu") for _ in range(4)]) for A in matrices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert openblas.openblas_get_num_threads() == MANY


def test_a_child_forked_meanwhile_gets_the_number_back(openblas):
    del openblas  # the child process of its own: a fork beside pytest's threads would be of its state
    code = """
import ctypes, os, threading
import scipy.sparse as sp
import gpusolve
from gpusolve import _library
from test_blas_threads import laplacian
_library.open_cholmod()
path = next(line.split()[-1] for line in open("/proc/self/maps") if "/libopenblas" in line and "numpy" not in line and "scipy" not in line)
openblas = ctypes.CDLL(path)
openblas.openblas_set_num_threads(7)
A, small = laplacian(20), laplacian(8)
thread = threading.Thread(target=lambda: gpusolve.cholesky(A, device="cpu"))
thread.start()
while thread.is_alive() and openblas.openblas_get_num_threads() == 7:
    pass
pid = os.fork()
if pid == 0:
    gpusolve.cholesky(small, device="cpu", mode="supernodal")
    os._exit(openblas.openblas_get_num_threads())
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
thread.join()
assert openblas.openblas_get_num_threads() == 7
"""
    here = os.path.dirname(os.path.abspath(__file__))
    paths = os.pathsep.join([here, *sys.path])
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env={**os.environ, "PYTHONPATH": paths})
