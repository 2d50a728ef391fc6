#!/usr/bin/env python3
"""gpusolve-solve's answers, against exact arithmetic: test_solve.py GPUSOLVE-SOLVE"""

import gzip
import os
import random
import re
import unittest

from system import EPSILON, ON_DEVICE, Case, backward_error, grid, read_block, residual, write_block, write_matrix


def random_columns(n, count, is_complex=False, seed=1):
    generator = random.Random(seed)
    return [[complex(generator.uniform(-1, 1), generator.uniform(-1, 1) if is_complex else 0) for _ in range(n)]
            for _ in range(count)]


class Solve(Case):
    def system(self, is_complex=False, width=7, height=6):
        n, lower = grid(width, height, is_complex)
        self.write("A.mtx", write_matrix(n, lower, is_complex))
        return n, lower

    def test_ones(self):
        n, lower = self.system()
        done = self.run_program("A.mtx", "-o", "x.mtx")
        self.check_solution(n, lower, [[1] * n], (self.folder / "x.mtx").read_text())
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, rf"^A.mtx: order {n}, \d+ nonzeros, real symmetric; read in ")
        said = float(re.search(r"backward error (\S+), of column 1\n", done.stdout)[1])
        self.assertTrue(said < 1e-15)

    def test_many_columns(self):
        n, lower = self.system()
        columns = random_columns(n, 37)
        self.write("b.mtx", write_block(columns))
        self.run_program("A.mtx", "b.mtx", "-q", "--output=x.mtx")
        self.check_solution(n, lower, columns, (self.folder / "x.mtx").read_text())

    def test_standard_output_and_input(self):
        n, lower = self.system()
        columns = random_columns(n, 2)
        text, matrix = write_block(columns), (self.folder / "A.mtx").read_text()
        self.write("b.mtx", text)
        x = self.check_solution(n, lower, columns, self.run_program("A.mtx", "b.mtx").stdout)
        for arguments, stdin in [(("-", "b.mtx"), matrix), (("A.mtx", "-"), text), (("A.mtx", "-", "-o", "-"), text)]:
            done = self.run_program(*arguments, stdin=stdin)
            self.assertEqual(read_block(done.stdout)[0], x)
            self.assertIn("backward error", done.stderr)
        packed = self.run_program("-", "b.mtx", stdin=gzip.compress(matrix.encode()))
        self.assertEqual(read_block(packed.stdout.decode())[0], x)

    def test_packed_files_of_any_name(self):
        n, lower = self.system()
        columns = random_columns(n, 1)
        self.write("b.rhs", gzip.compress(write_block(columns).encode()))
        self.write("grid:A", (self.folder / "A.mtx").read_text())
        self.check_solution(n, lower, columns, self.run_program("grid:A", "b.rhs").stdout)

    def test_complex(self):
        n, lower = self.system(is_complex=True)
        columns = random_columns(n, 3, is_complex=True)
        self.write("b.mtx", write_block(columns, is_complex=True))
        done = self.run_program("A.mtx", "b.mtx")
        self.check_solution(n, lower, columns, done.stdout, is_complex=True)
        self.assertIn("complex Hermitian", done.stderr)
        self.check_solution(n, lower, [[1] * n], self.run_program("A.mtx", "--refine").stdout, is_complex=True)

    def test_real_and_complex(self):
        n, lower = self.system(is_complex=True)
        columns = random_columns(n, 2)
        self.write("b.mtx", write_block(columns))
        self.check_solution(n, lower, columns, self.run_program("A.mtx", "b.mtx").stdout, is_complex=True)
        n, lower = self.system()
        columns = random_columns(n, 2, is_complex=True)
        self.write("b.mtx", write_block(columns, is_complex=True))
        for more in ([], ["--refine"]):
            done = self.run_program("A.mtx", "b.mtx", *more, "--save-residuals", "r.mtx")
            x = self.check_solution(n, lower, columns, done.stdout, is_complex=True)
            self.check_residuals(n, lower, columns, x)

    def check_residuals(self, n, lower, columns, x):
        r, _ = read_block((self.folder / "r.mtx").read_text())
        for b, column, rest in zip(columns, x, r):
            for got, (re_part, im_part) in zip(rest, residual(n, lower, b, column)):
                # products of doubles are summed with 64 bits, so all but the last of them are right
                self.assertTrue(abs(got - complex(float(re_part), float(im_part))) < 1e-18)

    def test_residuals_and_plot(self):
        n, lower = self.system()
        columns = random_columns(n, 3)
        self.write("b.mtx", write_block(columns))
        done = self.run_program("A.mtx", "b.mtx", "-o", "x.mtx", "--save-residuals=r.mtx", "--plot")
        x = self.check_solution(n, lower, columns, (self.folder / "x.mtx").read_text())
        self.check_residuals(n, lower, columns, x)
        worst = max(backward_error(n, lower, b, column) for b, column in zip(columns, x))
        said = float(re.search(r"backward error (\S+),", done.stdout)[1])
        self.assertTrue(abs(said - worst) <= 0.06 * worst, (said, worst))
        plot = done.stdout.split("are as large:\n")[1].splitlines()
        self.assertEqual(sum(int(line[18:].split()[0]) for line in plot[:-1]), 3 * n)
        self.assertRegex(plot[-1], r"^  the largest is in row \d+, column [123]$")
        # residuals to standard output, the report to standard error
        piped = self.run_program("A.mtx", "b.mtx", "-o", "x.mtx", "--save-residuals", "-")
        self.assertEqual(piped.stdout, (self.folder / "r.mtx").read_text())
        self.assertIn("backward error", piped.stderr)

    def test_refine(self):
        n, lower = self.system()
        done = self.run_program("A.mtx", "-o", "x.mtx", "--refine")
        self.assertRegex(done.stdout, r"\nsolved and refined 1 column in \S+ ms, richardson, \d+ steps? at most\n")
        x = self.check_solution(n, lower, [[1] * n], (self.folder / "x.mtx").read_text())
        self.assertTrue(backward_error(n, lower, [1] * n, x[0]) < 2.3e-16)

    def test_methods_and_storage(self):
        """Each method brings x to double precision, from L in single precision, too; without one x has single precision."""
        for is_complex in (False, True):
            n, lower = self.system(is_complex)
            columns = random_columns(n, 3, is_complex)
            self.write("b.mtx", write_block(columns, is_complex))
            for storage in ("double", "single"):
                said = ", L in single precision\n" if storage == "single" else "\n"
                for method in ("richardson", "cg", "fgmres", "automatic"):
                    done = self.run_program("A.mtx", "b.mtx", "-o", "x.mtx", f"--refine={method}", f"--storage={storage}", "--repeat", "2")
                    self.assertRegex(done.stdout, rf"\nprepared in \S+ ms for [^\n]*{said}solved and refined 3 columns in \S+ ms, {method}, ")
                    steps = int(re.search(r"(\d+) steps? at most", done.stdout)[1])
                    self.assertTrue(steps >= 1 if storage == "single" else steps <= 4, steps)
                    x = self.check_solution(n, lower, columns, (self.folder / "x.mtx").read_text(), is_complex)
                    for b, column in zip(columns, x):
                        self.assertTrue(backward_error(n, lower, b, column) < 2.3e-16)
            done = self.run_program("A.mtx", "b.mtx", "-o", "x.mtx", "--storage", "single")
            errors = [backward_error(n, lower, b, x) for b, x in zip(columns, read_block((self.folder / "x.mtx").read_text())[0])]
            self.assertTrue(30 * EPSILON < max(errors) < 1e-6, errors)
            self.assertAlmostEqual(float(re.search(r"backward error (\S+), of", done.stdout)[1]) / max(errors), 1, delta=0.06)

    def test_repeat_and_explain(self):
        self.system()
        done = self.run_program("A.mtx", "-o", "x.mtx", "--repeat", "4", "--explain")
        times = re.search(r"\n4 times more: median (\S+) ms, least (\S+) ms, spread (\S+) %", done.stdout)
        self.assertTrue(0 <= float(times[2]) <= float(times[1]) and float(times[3]) >= 0)
        self.assertRegex(done.stdout, r"\ntree +\d+ supernodes in \d+ levels")
        self.assertRegex(done.stdout, r"\na solve with 1 column: L read twice ")

    def test_systems(self):
        """A is L L' behind P: the steps, each by itself, make up the whole."""
        n, _ = self.system()
        columns = random_columns(n, 2)
        self.write("b.mtx", write_block(columns))
        whole = read_block(self.run_program("A.mtx", "b.mtx").stdout)[0]

        def step(system, text):
            return self.run_program("A.mtx", "-", "--system", system, stdin=text).stdout

        def close(text, columns):
            for got, want in zip(read_block(text)[0], columns):
                self.assertTrue(max(abs(g - w) for g, w in zip(got, want)) < 1e-14)

        permuted = step("P", write_block(columns))
        self.assertEqual([sorted(c, key=abs) for c in read_block(permuted)[0]],
                         [sorted(c, key=abs) for c in columns])
        self.assertEqual(read_block(step("Pt", permuted))[0], columns)
        forward = step("L", permuted)
        inner = step("Lt", forward)
        close(step("Pt", inner), whole)
        close(step("LDLt", permuted), read_block(inner)[0])
        self.assertEqual((step("LD", permuted), step("DLt", forward), step("D", permuted)), (forward, inner, permuted))
        # the report of a system that is not A has no backward error
        done = self.run_program("A.mtx", "b.mtx", "--system=L")
        self.assertNotIn("backward error", done.stderr)

    def test_orderings_threads_backends(self):
        n, lower = self.system(width=20, height=20)
        for ordering, name in [("metis", "METIS"), ("nesdis", "NESDIS"), ("amd", "AMD"), ("natural", "the given order"),
                               ("best", "the best of AMD and METIS")]:
            done = self.run_program("A.mtx", "--ordering", ordering, "--backend", "host", "--threads", "3")
            self.check_solution(n, lower, [[1] * n], done.stdout)
            self.assertIn(f"ordered by {name}", done.stderr)
            self.assertIn("host, 3 threads", done.stderr)

    def test_device(self):
        n, lower = self.system(width=20, height=20)
        if ON_DEVICE:
            done = self.run_program("A.mtx", "--backend", "cuda", "--refine", "--repeat", "3")
            self.check_solution(n, lower, [[1] * n], done.stdout)
            self.assertIn("NVIDIA", done.stderr)
            done = self.run_program("A.mtx", "--backend", "cuda", "--storage", "single", "--refine=automatic")
            self.check_solution(n, lower, [[1] * n], done.stdout)
        else:
            # where there is a device after all, none is visible
            self.refused(1, "no usable CUDA device", "A.mtx", "--backend=cuda", env=dict(os.environ, CUDA_VISIBLE_DEVICES=""))

    def test_generator(self):
        done = self.run_program("grid2d:20", "-o", "x.mtx")
        self.assertIn("grid2d:20: order 400,", done.stdout)
        self.assertEqual(len(read_block((self.folder / "x.mtx").read_text())[0][0]), 400)

    def test_nothing(self):
        self.write("A.mtx", "%%MatrixMarket matrix coordinate real symmetric\n0 0 0\n")
        self.write("b.mtx", "%%MatrixMarket matrix array real general\n0 3\n")
        self.assertEqual(read_block(self.run_program("A.mtx").stdout), ([[]], False))
        self.assertEqual(read_block(self.run_program("A.mtx", "b.mtx").stdout), ([[], [], []], False))
        self.system()
        self.write("b.mtx", "%%MatrixMarket matrix array real general\n42 0\n")
        self.assertEqual(self.run_program("A.mtx", "b.mtx", "--repeat=2", "--refine", "--plot").stdout.splitlines()[1],
                         "42 0")


class RightSides(Case):
    """Every form that b may have; A is diagonal, with squares of powers of two, so nothing is rounded."""

    def solve(self, banner, *lines, is_complex=False):
        self.write("A.mtx", write_matrix(3, {(0, 0): 1, (1, 1): 4, (2, 2): 16}))
        text = "\r\n".join([f"%%MatrixMarket matrix {banner}", "% b", "", *lines]) + "\r\n"
        x, has_parts = read_block(self.run_program("A.mtx", self.write("b.mtx", text)).stdout)
        self.assertEqual(has_parts, is_complex)
        return [[v * d for v, d in zip(column, (1, 4, 16))] for column in x]

    def test_general(self):
        self.assertEqual(self.solve("array real general", "3 2", "1", "-2.5D+0", " 3e0", "4", "", "5", "6"),
                         [[1, -2.5, 3], [4, 5, 6]])
        self.assertEqual(self.solve("array integer general", "3 1", "7", "8", "9"), [[7, 8, 9]])
        self.assertEqual(self.solve("ARRAY Complex General", "3 1", "7 1", "8 0", "9 -2", is_complex=True),
                         [[7 + 1j, 8, 9 - 2j]])
        self.assertEqual(self.solve("coordinate real general", "3 2 3", "3 2 1.5", "1 1 2", "2 1 0"),
                         [[2, 0, 0], [0, 0, 1.5]])
        self.assertEqual(self.solve("coordinate complex general", "3 1 1", "2 1 3 4", is_complex=True), [[0, 3 + 4j, 0]])
        self.assertEqual(self.solve("coordinate integer general", "3 1 0"), [[0, 0, 0]])

    def test_symmetric(self):
        """As scipy.io.mmwrite writes a right-hand side that happens to be symmetric, the identity say."""
        wanted = [[1, 2, 3], [2, 4, 5], [3, 5, 6]]
        self.assertEqual(self.solve("array real symmetric", "3 3", *"123456"), wanted)
        self.assertEqual(self.solve("coordinate real symmetric", "3 3 6", "1 1 1", "2 1 2", "3 1 3", "2 2 4", "3 2 5",
                                    "3 3 6"), wanted)
        self.assertEqual(self.solve("array real skew-symmetric", "3 3", *"123"), [[0, 1, 2], [-1, 0, 3], [-2, -3, 0]])
        self.assertEqual(self.solve("coordinate real skew-symmetric", "3 3 1", "3 1 2"), [[0, 0, 2], [0, 0, 0], [-2, 0, 0]])
        self.assertEqual(self.solve("array complex hermitian", "3 3", "1 0", "2 1", "3 2", "4 0", "5 3", "6 0",
                                    is_complex=True),
                         [[1, 2 + 1j, 3 + 2j], [2 - 1j, 4, 5 + 3j], [3 - 2j, 5 - 3j, 6]])
        self.assertEqual(self.solve("array complex symmetric", "3 3", "1 0", "2 1", "3 2", "4 0", "5 3", "6 0",
                                    is_complex=True),
                         [[1, 2 + 1j, 3 + 2j], [2 + 1j, 4, 5 + 3j], [3 + 2j, 5 + 3j, 6]])


if __name__ == "__main__":
    unittest.main()
