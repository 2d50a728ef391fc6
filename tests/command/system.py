"""What the tests of gpusolve-solve share: matrices as dictionaries, files of the Matrix Market format, and residuals in exact
arithmetic. Nothing here is gpusolve's."""

import os
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

PROGRAM = sys.argv.pop(1)
EPSILON = 2.0**-52
# On a machine whose GPU must be there, as in run-gpu-tests.
ON_DEVICE = bool(os.environ.get("GPUSOLVE_TEST_DEVICE"))


def number(text):
    """One or two words as a complex number."""
    return complex(*[float(word) for word in text])


def read_block(text):
    """An array of the Matrix Market format: its columns, and whether the field is complex."""
    lines = text.splitlines()
    banner = lines[0].split()
    assert banner[:3] == ["%%MatrixMarket", "matrix", "array"] and banner[4] == "general", banner
    rows, cols = (int(word) for word in lines[1].split())
    words = [line.split() for line in lines[2:]]
    assert len(words) == rows * cols and all(len(w) == (2 if banner[3] == "complex" else 1) for w in words)
    values = [number(w) for w in words]
    return [values[j * rows:(j + 1) * rows] for j in range(cols)], banner[3] == "complex"


def put(value, is_complex):
    return f"{value.real!r} {value.imag!r}" if is_complex else repr(value.real)


def write_block(columns, is_complex=False):
    lines = [f"%%MatrixMarket matrix array {'complex' if is_complex else 'real'} general",
             f"{len(columns[0])} {len(columns)}"]
    return "\n".join(lines + [put(complex(v), is_complex) for column in columns for v in column]) + "\n"


def write_matrix(n, lower, is_complex=False):
    """lower: {(i, j): value}, counted from 0, i >= j."""
    kind = "complex hermitian" if is_complex else "real symmetric"
    lines = [f"%%MatrixMarket matrix coordinate {kind}", "% made by a test", f"{n} {n} {len(lower)}"]
    return "\n".join(lines + [f"{i + 1} {j + 1} {put(complex(v), is_complex)}" for (i, j), v in lower.items()]) + "\n"


def grid(width, height, is_complex=False):
    """The 5-point matrix of a grid, made a little heavier at the diagonal; complex: D A conj(D) with D of unit modulus."""
    n = width * height
    lower = {}
    turn = [1, 1j, -1, -1j] if is_complex else [1, 1, 1, 1]
    for i in range(n):
        lower[i, i] = 4.25 + i % 3
        for k in ([i + 1] if (i + 1) % width else []) + ([i + width] if i + width < n else []):
            lower[k, i] = -complex(turn[k % 4]) * complex(turn[i % 4]).conjugate()
    return n, lower


def exact(value):
    value = complex(value)
    return Fraction(value.real), Fraction(value.imag)


def residual(n, lower, b, x):
    """b - A x as pairs of fractions, without rounding."""
    r = [list(exact(v)) for v in b]
    xs = [exact(v) for v in x]
    for (i, j), value in lower.items():
        re, im = exact(value)
        for row, column, sign in [(i, j, 1)] + ([(j, i, -1)] if i != j else []):
            r[row][0] -= re * xs[column][0] - sign * im * xs[column][1]
            r[row][1] -= re * xs[column][1] + sign * im * xs[column][0]
    return r


def norm(values):
    return max([0.0] + [abs(complex(v)) for v in values])


def backward_error(n, lower, b, x):
    sums = [0.0] * n
    for (i, j), value in lower.items():
        sums[i] += abs(complex(value))
        if i != j:
            sums[j] += abs(complex(value))
    r = norm(complex(float(re), float(im)) for re, im in residual(n, lower, b, x))
    return r / (max(sums) * norm(x) + norm(b))


class Case(unittest.TestCase):
    """A folder of its own, and the program run in it."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def write(self, name, text):
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def run_program(self, *arguments, stdin=None, status=0, **more):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, input=stdin, text=not isinstance(stdin, bytes),
                              capture_output=True, timeout=600, check=False, **more)
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout!r}{done.stderr!r}")
        return done

    def refused(self, status, said, *arguments, **more):
        """The program ends so, prints nothing, and its first line of complaint holds what is said."""
        done = self.run_program(*arguments, status=status, **more)
        self.assertEqual(done.stdout, "")
        self.assertIn(said, done.stderr.splitlines()[0])
        self.assertTrue(done.stderr.startswith("gpusolve-solve: "), done.stderr)
        return done

    def check_solution(self, n, lower, columns, text, is_complex=False):
        """x, which is returned, solves A x = b for every column."""
        x, has_parts = read_block(text)
        self.assertEqual((len(x), has_parts), (len(columns), is_complex))
        for b, column in zip(columns, x):
            error = backward_error(n, lower, b, column)
            self.assertTrue(error < 30 * EPSILON, error)
        return x
