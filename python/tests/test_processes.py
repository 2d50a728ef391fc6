"""Threads, forked children, Ctrl-C, the end of the process, memory."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import TOLERANCE, backward_error, grid, need_device, random

import gpusolve


def run(program, **environment):
    """Run a program that can use the tests' helpers; what it prints."""
    here = os.path.dirname(os.path.abspath(__file__))
    code = f"import sys; sys.path.insert(0, {here!r})\n" + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def test_threads_share_a_factor(device):
    A = grid(12)
    F = gpusolve.cholesky(A, device=device)
    right = [random((144, 1 + k % 5), seed=k) for k in range(40)]
    expected = [F.solve(b) for b in right]

    def work(k):
        return all(np.array_equal(F.solve(right[j]), expected[j]) for j in range(k, k + 20))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(20)))


def test_refresh_among_solves(device):
    A = grid(10)
    b = random((100, 2))
    F = gpusolve.cholesky(A, device=device)
    allowed = [F.solve(b)]
    allowed.append(F.refresh(2 * A).solve(b))
    stop = threading.Event()
    wrong = []

    def solver():
        while not stop.is_set():
            x = F.solve(b)
            if not any(np.array_equal(x, one) for one in allowed):
                wrong.append(x)

    threads = [threading.Thread(target=solver) for _ in range(4)]
    for thread in threads:
        thread.start()
    for k in range(10):
        F.refresh((1 + k % 2) * A)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_refreshes_at_once(device):
    A = grid(12)
    b = random((144, 2))
    F = gpusolve.cholesky(A, device=device)
    allowed = [gpusolve.cholesky(k * A, device=device).solve(b) for k in range(1, 5)]

    def work(k):
        for _ in range(20):
            F.refresh(k * A)
            x = F.solve(b)
            if not any(np.allclose(x, one, rtol=1e-12, atol=0) for one in allowed):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1, 5)))
    assert np.allclose(F.refresh(3 * A).solve(b), allowed[2], rtol=1e-12, atol=0)


def test_close_among_solves(device):
    A = grid(15)
    b = random((225, 4))
    for _ in range(10):
        F = gpusolve.cholesky(A, device=device)
        expected = F.solve(b)
        unexpected = []

        def solver(F=F, expected=expected, unexpected=unexpected):
            while True:
                try:
                    x = F.solve(b)
                except ValueError as error:
                    if "closed" not in str(error):
                        unexpected.append(error)
                    return
                if not np.array_equal(x, expected):
                    unexpected.append(x)

        threads = [threading.Thread(target=solver) for _ in range(4)]
        for thread in threads:
            thread.start()
        F.close()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert not unexpected


def test_selections_shared_by_threads(device):
    F = gpusolve.cholesky(grid(12), device=device)
    S = F.selection([3], None)
    expected = S.solve(np.ones(1), np.empty(144))
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda _: S.solve(np.ones(1), np.empty(144)), range(50))
        assert all(np.array_equal(x, expected) for x in results)


def test_a_factor_outlives_the_thread_that_made_it(device):
    made = []
    thread = threading.Thread(target=lambda: made.append(gpusolve.cholesky(grid(6), device=device)))
    thread.start()
    thread.join()
    b = random(36)
    assert backward_error(grid(6), made[0].solve(b), b) < TOLERANCE


def test_forked_children_solve_on_the_host():
    F = gpusolve.cholesky(grid(10), device="cpu")
    b = random((100, 3))
    x = F.solve(b)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            good = np.array_equal(F.solve(b), x)
            good = good and np.array_equal(gpusolve.cholesky(grid(10), device="cpu").solve(b), x)
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_fork_while_threads_solve():
    F = gpusolve.cholesky(grid(30), device="cpu")
    b = random((900, 20))
    x = F.solve(b)
    stop = threading.Event()

    def solver():
        while not stop.is_set():
            F.solve(b)

    threads = [threading.Thread(target=solver) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            F.refresh(grid(30))
            os._exit(0 if np.array_equal(F.solve(b), x) else 1)
        assert os.waitpid(child, 0)[1] == 0
    stop.set()
    for thread in threads:
        thread.join()


def test_forked_children_are_told_that_cuda_does_not_survive():
    need_device()
    F = gpusolve.cholesky(grid(5), device="cuda")
    F.solve(np.ones(25))
    child = os.fork()
    if child == 0:
        try:
            F.solve(np.ones(25))
        except gpusolve.DeviceError as error:
            F.close()
            os._exit(0 if "spawn" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert np.allclose(grid(5) @ F.solve(np.ones(25)), 1)


def test_ctrl_c_in_a_long_factorisation():
    out = run("""
        import os, signal, threading, time, numpy as np
        from conftest import grid
        import gpusolve
        A = grid(120)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job inherits that it is ignored
        def send():
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)
        try:
            threading.Thread(target=send, daemon=True).start()
            # All are kept: in a finalizer Python would ignore the exception.
            kept = [gpusolve.cholesky(A, device="cpu") for _ in range(200)]
        except KeyboardInterrupt:
            print("interrupted")
        b = np.ones(14400)
        x = gpusolve.cholesky(A, device="cpu").solve(b)
        print(abs(A @ x - b).max() < 1e-8)
    """)
    assert out.split() == ["interrupted", "True"]


def test_the_process_ends_with_factors_alive():
    for columns in (1, 64):
        run(f"""
        columns = {columns}
        import threading, numpy as np
        from conftest import grid
        import gpusolve
        F = gpusolve.cholesky(grid(40))
        S = F.selection([1], [2])
        S.solve(np.ones(1))
        def solver():
            while True:
                F.solve(np.ones((1600, columns)))
        for _ in range(3):
            threading.Thread(target=solver, daemon=True).start()
        F.solve(np.ones(1600))
    """)


def test_other_threads_run_while_one_factorises():
    A = grid(120)
    ticks = []
    done = threading.Event()

    def ticker():
        while not done.wait(0.0005):
            ticks.append(1)

    thread = threading.Thread(target=ticker)
    thread.start()
    gpusolve.cholesky(A, device="cpu")
    done.set()
    thread.join()
    assert ticks


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_no_memory_is_lost():
    A = grid(40)
    b = random((1600, 40))

    def once():
        with gpusolve.cholesky(A, device="cpu") as F:
            F.solve(b)
            F.refresh(2 * A)
            F.selection([1], [2]).solve(np.ones(1))
            F.refine(A, b)
            for wrong in (lambda: F.solve(b[1:]), lambda: F.refresh(-A), lambda: F.selection([-1])):
                with pytest.raises((ValueError, np.linalg.LinAlgError)):
                    wrong()

    for _ in range(5):
        once()
    gc.collect()
    before = resident()
    for _ in range(25):
        once()
    gc.collect()
    # A factor and its selection have 1 MB: twenty-five that are lost are seen.
    assert resident() - before < 12e6


def test_too_little_memory():
    out = run("""
        import resource, numpy as np, scipy.sparse as sp
        from conftest import grid
        import gpusolve
        small = grid(8)
        F = gpusolve.cholesky(small, mode="supernodal", device="cpu", threads=1)  # libraries have their memory now
        n = 6000
        row = sp.csc_matrix((np.ones(n - 1), (np.zeros(n - 1, int), np.arange(1, n))), shape=(n, n))
        arrow = sp.csc_matrix(row + n * sp.eye(n))  # the upper triangle; in this order L is dense
        m = 4000
        panel = np.asfortranarray(np.tri(m) + m * np.eye(m)).ravel("F")
        structure = dict(n=m, super=[0, m], pi=[0, m], px=[0, m * m], s=np.arange(m))
        with open("/proc/self/statm") as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + (32 << 20), -1))
        for call in (lambda: gpusolve.cholesky(arrow, ordering="natural", mode="simplicial", device="cpu", threads=1),  # L: 144 MB
                     lambda: gpusolve.Factor.from_arrays("supernodal", panel, device="cpu", threads=1, **structure),  # 64 MB
                     lambda: F.solve(np.broadcast_to(1.0, (64, 1 << 20)))):  # x: 512 MB
            try:
                call()
            except MemoryError as error:
                print("MemoryError", len(str(error)) > 10)
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
        print(np.allclose(small @ F.solve(np.ones(64)), 1))
        print(gpusolve.Factor.from_arrays("supernodal", panel, device="cpu", threads=1, **structure).n)
    """, OPENBLAS_NUM_THREADS="1")
    assert out.split() == ["MemoryError", "True"] * 3 + ["True", "4000"]
