#!/usr/bin/env python3
"""What gpusolve-solve refuses, and what becomes of files, pipes and terminals then: test_files.py GPUSOLVE-SOLVE FOLDER, where
FOLDER has the man page and the completion."""

import gzip
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

DOCUMENTS = Path(sys.argv.pop(2))

from system import PROGRAM, Case, grid, read_block, write_matrix  # noqa: E402

REAL = "%%MatrixMarket matrix coordinate real symmetric\n"
ARRAY = "%%MatrixMarket matrix array real general\n"
COORDINATE = "%%MatrixMarket matrix coordinate real general\n"


class CommandLine(Case):
    def test_help_and_version(self):
        for option in ("--help", "-h"):
            done = self.run_program(option, "A.mtx", "b.mtx", "c.mtx")
            self.assertTrue(done.stdout.startswith("usage: gpusolve-solve [options] A.mtx [b.mtx]\n"))
            self.assertEqual(done.stderr, "")
        done = self.run_program("--version")
        self.assertRegex(done.stdout, r"^gpusolve-solve (\d+\.\d+\.\d+), with the library \1 and CHOLMOD \d+\.\d+\.\d+\n$")

    def test_refused(self):
        self.write("A.mtx", write_matrix(*grid(2, 2)))
        for said, arguments in [
                ("no matrix is given", []), ("'c' is one argument too many", ["a", "b", "c"]),
                ("A and b cannot both be standard input", ["-", "-"]),
                ("--system: takes A, LDLt, LD, DLt, L, Lt, D, P or Pt, not 'l'", ["A.mtx", "--system", "l"]),
                ("--backend: takes auto, host or cuda, not 'gpu'", ["A.mtx", "--backend=gpu"]),
                ("--ordering: takes metis, nesdis, amd, natural or best, not ''", ["A.mtx", "--ordering="]),
                ("--refine: takes richardson, cg, fgmres or automatic, not 'CG'", ["A.mtx", "--refine=CG"]),
                ("--storage: takes double or single, not 'float'", ["A.mtx", "--storage", "float"]),
                ("--repeat: takes a whole number from 1 to 1000000, not '0'", ["A.mtx", "--repeat", "0"]),
                ("--repeat: takes a whole number from 1 to 1000000, not '3x'", ["A.mtx", "--repeat", "3x"]),
                ("--threads: takes a whole number from 1 to 1024, not '-1'", ["A.mtx", "--threads=-1"]),
                ("--threads: takes a whole number", ["A.mtx", "--threads", "99999999999999999999"]),
                ("go with --system A alone", ["A.mtx", "--system", "L", "--refine"]),
                ("go with --system A alone", ["A.mtx", "--system", "L", "--refine=cg"]),
                ("go with --system A alone", ["A.mtx", "--system", "L", "--plot"]),
                ("go with --system A alone", ["A.mtx", "--system", "L", "--save-residuals", "r"]),
                ("cannot both go to standard output", ["A.mtx", "--save-residuals", "-"]),
                ("cannot both go to x", ["A.mtx", "--save-residuals", "x", "-o", "x"]),
                ("--quiet leaves out the report", ["A.mtx", "-q", "--explain"])]:
            self.refused(2, said, *arguments)
        for arguments in (["A.mtx", "--nosuch"], ["A.mtx", "--repeat"], ["A.mtx", "-x"], ["A.mtx", "-o"]):
            done = self.run_program(*arguments, status=2)
            self.assertIn("gpusolve-solve --help says more", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["A.mtx"])

    def test_documents_are_complete(self):
        """Man page and completion name the options of --help, and the man page its exit statuses."""
        options = set(re.findall(r"--[a-z-]+", self.run_program("--help").stdout))
        self.assertEqual(len(options), 14)
        page = (DOCUMENTS / "gpusolve-solve.1").read_text().replace("\\-", "-")
        completion = (DOCUMENTS / "gpusolve-solve.bash").read_text()
        for option in options:
            self.assertRegex(page, rf"\n\.BR? .*{option}\b")
            self.assertIn(option, completion)
        for status in range(6):
            self.assertIn(f"\n.TP\n.B {status}\n", page)

    def test_man_page(self):
        """The formatter has nothing to complain about."""
        if not shutil.which("groff"):
            self.skipTest("groff is missing")
        done = subprocess.run(["groff", "-ww", "-man", "-Tascii", DOCUMENTS / "gpusolve-solve.1"], capture_output=True, check=True)
        self.assertEqual(done.stderr, b"")
        self.assertIn(b"norm(A) norm(x) + norm(b)", done.stdout)

    def test_completion(self):
        self.write("A.mtx", "")
        for words, wanted in [(["--sys"], ["--system"]), (["--backend", ""], ["auto", "host", "cuda"]),
                              (["--ordering", "n"], ["nesdis", "natural"]), (["--system", "=", "L"], ["LDLt", "LD", "L", "Lt"]),
                              (["--refine", "=", "f"], ["fgmres"]), (["--refine", "="], ["richardson", "cg", "fgmres", "automatic"]),
                              (["--refine", "A"], ["A.mtx"]), (["--storage", "s"], ["single"]), (["--storage", "="], ["double", "single"]),
                              (["A"], ["A.mtx"]), (["--repeat", ""], [])]:
            script = (f". '{DOCUMENTS}/gpusolve-solve.bash'; COMP_WORDS=(gpusolve-solve {' '.join(repr(w) for w in words)}); "
                      f"COMP_CWORD={len(words)}; _gpusolve_solve; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
            done = subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout.split(), wanted)


class BadFiles(Case):
    """Nothing is written then, and an old x stays."""

    def setUp(self):
        super().setUp()
        self.write("A.mtx", write_matrix(*grid(2, 2)))
        self.write("x.mtx", "the old one\n")

    def check(self, said, *arguments, status=3, **more):
        before = sorted(os.listdir(self.folder))
        self.refused(status, said, *arguments, "-o", "x.mtx", **more)
        self.assertEqual((self.folder / "x.mtx").read_text(), "the old one\n")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_matrix(self):
        for said, text in [(":3:5: the value '1..5' is not a number", REAL + "2 2 2\n1 1 1..5\n2 2 1\n"),
                           (":2:1: the number of rows 'two' is not a whole number", REAL + "two 2 2\n"),
                           (":4:3: the column '3' is outside 1 .. 2", REAL + "2 2 2\n1 1 1\n2 3 1\n"),
                           (":4: ends after 2 of 3 entries", REAL + "2 2 3\n1 1 1\n2 2 1\n"),
                           (":1:1: is not '%%MatrixMarket", "2 2 2\n1 1 1\n"), (": is empty", ""),
                           (":1:23: 'array' is not 'coordinate'", ARRAY + "2 2\n1\n0\n0\n1\n"),
                           (":4: (2, 1) = 5, but (1, 2) is absent: not symmetric", COORDINATE + "2 2 3\n1 1 1\n2 1 5\n2 2 1\n")]:
            self.write("bad.mtx", text)
            self.check("bad.mtx" + said, "bad.mtx")
            self.check("standard input" + said, "-", stdin=text)
        self.write("bad.mtx", gzip.compress(write_matrix(*grid(9, 9)).encode())[:60])
        self.check("bad.mtx: cannot be read to its end", "bad.mtx")
        self.check("nowhere.mtx: No such file or directory", "nowhere.mtx")
        self.check("grid9d:3: no such file, and no such generator", "grid9d:3")
        self.check("grid2d:0", "grid2d:0")
        self.check(": cannot be read to its end: ", ".")

    def test_right_sides(self):
        for said, text in [
                (":2: has 3 rows, not 4", ARRAY + "3 1\n1\n1\n1\n"),
                (":4:1: the value 'x' is not a number", ARRAY + "4 1\n1\nx\n1\n1\n"),
                (":4:3: the text '2' follows the number", ARRAY + "4 1\n1\n1 2\n1\n1\n"),
                (":5: ends after 3 of 4 entries", ARRAY + "4 1\n1\n1\n1\n"),
                (":7:1: text behind the last of 4 entries: '5'", ARRAY + "4 1\n1\n1\n1\n1\n5\n"),
                (":3:1: the value 'nan' is not finite", ARRAY + "4 1\nnan\n1\n1\n1\n"),
                (":3:1: the value '1e999' is too large for double precision", ARRAY + "4 1\n1e999\n1\n1\n1\n"),
                (":2:5: the text '4' follows ROWS COLUMNS", ARRAY + "4 1 4\n"),
                (":1: ends before its size line", ARRAY),
                (":2:4: the number of entries is missing", COORDINATE + "4 1\n"),
                (":3:1: the row '5' is outside 1 .. 4", COORDINATE + "4 1 1\n5 1 1\n"),
                (":4: entry (2, 1) is given again", COORDINATE + "4 1 2\n2 1 1\n2 1 1\n"),
                (":2: declares 5 entries, more than 4 x 1 has room for", COORDINATE + "4 1 5\n"),
                (":2: 4 x 100000000000000000 numbers are too many", COORDINATE + "4 100000000000000000 1\n1 1 1\n"),
                (":2: 4 x 1 is not square", ARRAY.replace("general", "symmetric") + "4 1\n"),
                (":3: entry (1, 2) is not in the lower triangle",
                 COORDINATE.replace("general", "symmetric") + "4 4 1\n1 2 3\n"),
                (":1:34: 'none' is not general, symmetric, hermitian or skew-symmetric",
                 ARRAY.replace("general", "none")),
                (":1:29: 'pattern' has no values", ARRAY.replace("real", "pattern")),
                (":1:29: 'float' is not real, integer or complex", ARRAY.replace("real", "float")),
                (":1:34: 'hermitian' goes with the field complex alone", ARRAY.replace("general", "hermitian")),
                (":1:23: 'list' is not 'array' or 'coordinate'", ARRAY.replace("array", "list")),
                (":1:1: is not '%%MatrixMarket", "1\n1\n1\n1\n"), (": is empty", "")]:
            self.write("b.mtx", text)
            self.check("b.mtx" + said, "A.mtx", "b.mtx")
            self.check("standard input" + said, "A.mtx", "-", stdin=text)
        self.check("nowhere: No such file or directory", "A.mtx", "nowhere")

    def test_not_positive_definite(self):
        """The column is that of the file, however CHOLMOD orders."""
        n, lower = grid(6, 5)
        for column in (0, 13, 29):
            bad = dict(lower)
            bad[column, column] = -1.0
            for key in list(bad):
                if column in key and key != (column, column):
                    del bad[key]  # nothing else depends on it
            self.write("bad.mtx", write_matrix(n, bad))
            for ordering in ("metis", "amd", "natural"):
                self.check(f"bad.mtx: is not positive definite: the factorisation stops at column {column + 1} of 30, counted from 1",
                           "bad.mtx", "--ordering", ordering, status=4)
        self.write("bad.mtx", REAL + "2 2 3\n1 1 1\n2 1 2\n2 2 1\n")
        self.check("is not positive definite: the factorisation stops at column", "bad.mtx", status=4)
        self.check("at column 2 of 2", "bad.mtx", "--ordering=natural", status=4)

    def test_overflow(self):
        self.write("bad.mtx", REAL + "1 1 1\n1 1 1e-300\n")
        self.write("b.mtx", ARRAY + "1 1\n1e300\n")
        self.check("x has numbers that are not finite", "bad.mtx", "b.mtx", status=1)


class Outputs(Case):
    def setUp(self):
        super().setUp()
        self.write("A.mtx", write_matrix(*grid(5, 5)))

    def test_file(self):
        """New: the permissions of any new file. Old: those it has, also behind a link."""
        self.run_program("A.mtx", "-o", "x.mtx", preexec_fn=lambda: os.umask(0o027))
        path = self.folder / "x.mtx"
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        whole = path.read_text()
        path.write_text("the old one")
        path.chmod(0o604)
        (self.folder / "link").symlink_to("x.mtx")
        self.run_program("A.mtx", "-o", "link")
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual((path.read_text(), path.stat().st_mode & 0o777), (whole, 0o604))
        self.run_program("A.mtx", "-q", "-o", "/dev/null")
        self.assertTrue(Path("/dev/null").is_char_device())
        name = "x" * 255
        self.run_program("A.mtx", "-o", name)
        self.assertEqual((self.folder / name).read_text(), whole)
        self.assertEqual(sorted(os.listdir(self.folder)), ["A.mtx", "link", "x.mtx", name])

    def test_cannot_be_written(self):
        (self.folder / "sub").mkdir()
        for path, said in [("nowhere/x.mtx", "nowhere/x.mtx: No such file or directory"), ("sub", "sub: Is a directory"),
                           ("A.mtx/x", "A.mtx/x: Not a directory"), ("y" * 256, ": File name too long"),
                           ("/dev/full", "/dev/full: No space left on device")]:
            self.refused(5, said, "A.mtx", "-q", "-o", path)
            self.refused(5, said, "A.mtx", "-q", "-o", "x.mtx", "--save-residuals", path)
        # both files or none
        self.assertEqual(sorted(os.listdir(self.folder)), ["A.mtx", "sub"])
        with open("/dev/full", "w", encoding="ascii") as full:
            for arguments in (["A.mtx"], ["A.mtx", "-o", "x.mtx"], ["--help"]):
                done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, check=False)
                self.assertEqual(done.returncode, 5)
        self.assertEqual(len(read_block((self.folder / "x.mtx").read_text())[0][0]), 25)

    def test_file_size_limit(self):
        """A disk that is full in the middle of x."""
        def limit():
            import resource
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        self.write("x.mtx", "the old one\n")
        self.refused(5, "x.mtx: File too large", "grid2d:50", "-q", "-o", "x.mtx", preexec_fn=limit)
        self.assertEqual((self.folder / "x.mtx").read_text(), "the old one\n")
        self.assertEqual(sorted(os.listdir(self.folder)), ["A.mtx", "x.mtx"])

    def closed_pipe(self, *arguments, ignore=False):
        """Nobody reads what the program prints."""
        reading, writing = os.pipe()
        os.close(reading)
        def start():
            signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignore else signal.SIG_DFL)
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, stdout=writing, stderr=subprocess.PIPE, preexec_fn=start,
                              restore_signals=False, text=True, check=False)
        os.close(writing)
        return done

    def test_broken_pipe(self):
        self.assertEqual(self.closed_pipe("A.mtx").returncode, -signal.SIGPIPE)
        done = self.closed_pipe("A.mtx", ignore=True)
        self.assertEqual((done.returncode, done.stderr), (5, "gpusolve-solve: standard output: Broken pipe\n"))
        # x is complete before the report begins
        self.assertEqual(self.closed_pipe("A.mtx", "-o", "x.mtx").returncode, -signal.SIGPIPE)
        self.assertEqual(len(read_block((self.folder / "x.mtx").read_text())[0][0]), 25)
        self.assertEqual(sorted(os.listdir(self.folder)), ["A.mtx", "x.mtx"])

    def wait_for(self, what, condition):
        end = time.monotonic() + 120
        while not condition():
            self.assertTrue(time.monotonic() < end, what)
            time.sleep(0.01)

    def test_interrupt(self):
        """No temporary file is left behind."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with subprocess.Popen([PROGRAM, "-", "-o", "x.mtx", "--save-residuals", "r.mtx"], cwd=self.folder,
                                  stdin=subprocess.PIPE) as program:
                # both temporary files are there while it waits for A
                self.wait_for("the temporary files", lambda: len(os.listdir(self.folder)) == 3)
                program.send_signal(number)
                self.assertEqual(program.wait(timeout=120), -number)
            self.assertEqual(os.listdir(self.folder), ["A.mtx"])

    def test_progress(self):
        """On a terminal, of a step that takes longer than a second: reading, where A is late."""
        terminal, other = pty.openpty()
        with subprocess.Popen([PROGRAM, "-", "-o", "x.mtx"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=other) as program:
            os.close(other)
            seen = b""
            self.wait_for("progress", lambda: bool(select.select([terminal], [], [], 0)[0]))
            while b", 1 s" not in seen and b", 2 s" not in seen:
                self.assertTrue(select.select([terminal], [], [], 120)[0])
                seen += os.read(terminal, 4096)
            self.assertTrue(seen.startswith(b"\r\x1b[Kreading standard input, "), seen)
            out, _ = program.communicate((self.folder / "A.mtx").read_bytes(), timeout=120)
            self.assertEqual(program.returncode, 0)
            self.assertIn(b"backward error", out)
            try:
                seen += os.read(terminal, 4096)
            except OSError:  # the other end is closed
                pass
            self.assertTrue(seen.endswith(b"\r\x1b[K"), seen)
        os.close(terminal)

    def test_no_progress(self):
        """In a pipe nothing is shown, however long it takes."""
        with subprocess.Popen([PROGRAM, "-", "-q"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as program:
            time.sleep(1.3)
            out, error = program.communicate((self.folder / "A.mtx").read_bytes(), timeout=120)
        self.assertEqual((program.returncode, error), (0, b""))
        self.assertEqual(len(read_block(out.decode())[0][0]), 25)


if __name__ == "__main__":
    unittest.main()
