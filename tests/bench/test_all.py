#!/usr/bin/env python3
"""bench/all, with solves on the host and with records made up here, and gpusolve-bench's own record: test_all.py BENCH-FOLDER GPUSOLVE-BENCH"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(2)
BENCH = Path(sys.argv.pop(1))
sys.dont_write_bytecode = True

GOOD = "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 4\n2 2 5\n3 3 6\n2 1 1\n3 2 -2\n"
INDEFINITE = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 2 1\n2 1 3\n"


def record(matrix, nrhs, us, cudss_us, classes, error=2e-16, ok=True):
    peers = {"cudss": {"solve_us": cudss_us} if cudss_us else {"refused": "it does"}, "cholmod": {"backward_error": 1e-16}}
    return {"git": "0123", "operation": "solve", "matrix": matrix, "nrhs": nrhs, "solve_us": us, "wall_us": 10.0, "dtype": "d", "device": "a device",
            "driver": "1", "backend": "cuda", "threads": 1, "backward_error": error, "peers": peers, "ok": ok, "classes": classes}


class All(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.record = self.folder / "record.jsonl"
        matrices = self.folder / "matrices"
        matrices.mkdir()
        (matrices / "all_good.mtx").write_text(GOOD)
        (matrices / "all_other.mtx").write_text(GOOD)
        (matrices / "all_indefinite.mtx").write_text(INDEFINITE)
        self.list = self.folder / "list"
        self.list.write_text("# a comment\n2D,large grid2d:9\ncontrast,2D contrast:3:grid2d:8\n"
                             "collection,ill-conditioned all_good\ncollection all_nowhere\ncollection *\nskip all_indefinite not definite\n")
        self.environment = dict(os.environ, GPUSOLVE_MATRICES=str(matrices))

    def tearDown(self):
        self.temporary.cleanup()

    def all(self, *arguments):
        return subprocess.run([sys.executable, BENCH / "all", *map(str, arguments)], capture_output=True, text=True, env=self.environment)

    def measure(self, *arguments):
        return self.all(self.record, "--program", PROGRAM, "--list", self.list, "--backend", "host", "--jobs", 2, "--threads", 1, "--repeat", 1,
                        "--bandwidth", 10, *arguments)

    def lines(self, operation="solve"):
        return [r for r in map(json.loads, self.record.read_text().splitlines()) if r["operation"] == operation]

    def test_measure_and_go_on(self):
        only = ["--only", "grid2d|all_"]
        done = self.measure("--columns", "1,3", *only)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("not on the search path, left out: all_nowhere", done.stdout)
        solves = self.lines()
        self.assertEqual(sorted((r["matrix"], r["nrhs"]) for r in solves),
                         sorted((m, n) for m in ("grid2d:9", "contrast:3:grid2d:8", "all_good", "all_other") for n in (1, 3)))
        for r in solves:
            self.assertTrue(r["ok"] and r["storage"] == "double" and r["create_ms"] > 0 and r["factor_bytes"] > 0)
            self.assertLess(r["backward_error"], 1e-15)
            self.assertLess(r["peers"]["cholmod"]["backward_error"], 1e-15)
            self.assertNotIn("solve_us", r["peers"]["cholmod"])
        self.assertEqual({r["matrix"]: r["classes"] for r in solves}["all_good"], ["collection", "ill-conditioned"])
        summaries = {(s["class"], s["nrhs"]): s for s in self.lines("summary")}
        self.assertEqual(sorted(summaries), sorted((c, n) for c in ("2D", "all", "collection", "contrast", "ill-conditioned", "large") for n in (1, 3)))
        self.assertEqual(summaries["all", 3]["matrices"], 4)
        # again: nothing is left to do; other columns: those alone; and the old lines stay as they were
        self.assertIn(": 0 matrices,", self.measure("--columns", "3", *only).stdout)
        done = self.measure("--columns", "1,2", *only)
        self.assertIn(": 4 matrices,", done.stdout)
        self.assertEqual(self.lines()[:8], solves)
        self.assertEqual([r["nrhs"] for r in self.lines()[8:]], [2] * 4)

    def test_fails(self):
        self.list.write_text("collection all_indefinite\n2D grid2d:5\n")
        done = self.measure("--columns", "1")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, "FAILED: all_indefinite: gpusolve-bench: all_indefinite is not positive definite: "
                                      "CHOLMOD stops at column [0-9]+ of P A P', column [0-9]+ of A")
        self.assertEqual([r["matrix"] for r in self.lines()], ["grid2d:5"])

    def test_out_of_time(self):
        done = self.measure("--columns", "1", "--minutes", "0", "--only", "grid2d:9")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("not measured yet: grid2d:9;", done.stdout)
        self.assertEqual(self.measure("--columns", "1", "--only", "grid2d:9").returncode, 0)

    def test_of_another_device(self):
        self.record.write_text(json.dumps(record("grid2d:9", 1, 1.0, 2.0, ["2D"])) + "\n")
        done = self.measure("--columns", "1", "--only", "grid2d:9")
        self.assertEqual(done.returncode, 2)
        self.assertIn("another file, please", done.stderr)
        self.assertEqual(len(self.lines()), 1)

    def test_refused(self):
        self.assertEqual(self.all().returncode, 2)
        self.assertEqual(self.all(self.record, "--summary", self.record).returncode, 2)
        self.assertEqual(self.all("--summary", self.folder / "none").returncode, 2)
        self.assertEqual(self.measure("--only", "(").returncode, 2)
        self.assertEqual(self.measure("--only", "nothing has this name").returncode, 2)
        self.assertEqual(self.measure("--columns", "0").returncode, 2)
        self.list.write_text("3D,round grid3d:4\n")
        self.assertIn("list:1: the classes are", self.measure().stderr)
        self.assertEqual(self.all(self.record, "--program", self.folder / "none", "--backend", "host").returncode, 2)

    def write(self, records, name="record.jsonl"):
        path = self.folder / name
        path.write_text("".join(json.dumps(r) + "\n" for r in records))
        return path

    def test_summary_and_headline(self):
        records = [record("a", 1, 10.0, 40.0, ["collection"]), record("b", 1, 10.0, 90.0, ["collection", "ill-conditioned"], error=5e-15, ok=False),
                   record("c:1", 1, 10.0, 5.0, ["contrast"]), record("a", 32, 10.0, None, ["collection"])]
        path = self.write(records)
        with path.open("a") as file:
            file.write('{"operation": "solve", "matr')  # cut off
        done = self.all("--summary", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {tuple(line.split()[:2]): line.split()[2:] for line in done.stdout.splitlines()}
        self.assertEqual(rows["collection", "1"], ["2", "6.00", "4.00", "a", "0", "22.5"])
        self.assertEqual(rows["all", "1"], ["3", "%.2f" % 18 ** (1 / 3), "0.50", "c:1", "1", "22.5"])
        self.assertEqual(rows["collection", "32"][0:4], ["1", "-", "-", "-"])
        self.assertIn("WRONG: b, 1 columns: backward error 5e-15", done.stdout)
        self.assertIn("no cuDSS: a, 32 columns: it does", done.stdout)
        done = self.all("--headline", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("- 2 real matrices: 6.0 times faster in the geometric mean, 4.00 at least;", done.stdout)
        self.assertIn("- all 3 matrices: 2.6 times, least 0.50 (c:1, 1 right-hand sides).", done.stdout)
        self.assertIn("| contrast | 1 | 0.5 | 0.50 |", done.stdout)

    def test_storage_and_refinement(self):
        done = self.measure("--columns", "1,2", "--only", "grid2d:9", "--storage", "single", "--refine", "automatic")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for r in self.lines():
            self.assertEqual((r["storage"], r["refine_method"], r["ok"]), ("single", "automatic", True))
        self.assertRegex(done.stdout, r"all +2 refined in the time of \S+ solves with L in double precision, \S+ at most \(grid2d:9\), in \d steps at most")
        summary, = [s for s in self.lines("summary") if (s["class"], s["nrhs"]) == ("all", 1)]
        self.assertTrue(0 < summary["double_solves"] and 1 <= summary["refine_steps"] <= 10 and 0 <= summary["worst_error"] < 10, summary)
        for other in ([], ["--storage", "single"], ["--refine", "automatic"], ["--storage", "single", "--refine", "cg"]):
            done = self.measure("--columns", "1", "--only", "grid2d:9", *other)
            self.assertEqual(done.returncode, 2, other)
            self.assertIn("another storage of L, or refined otherwise: another file, please", done.stderr)
        self.assertEqual(len(self.lines()), 2)

    def test_summary_of_refined(self):
        peers = {"cudss": {"solve_us": 20.0}, "cudss:refine": {"solve_us": 90.0}, "cudss:fp32:refine": {"solve_us": 60.0}, "cholmod": {"backward_error": 1e-16}}
        refined = dict(record("a", 1, 10.0, 20.0, ["2D"], error=1e-8), storage="single", refine_method="cg", refine_us=30.0, refine_steps=2,
                       refine_backward_error=2e-16, double_solve_us=12.0, peers=peers)
        path = self.write([refined, dict(refined, matrix="b", refine_us=48.0, refine_steps=3)])
        done = self.all("--summary", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("refined, over cuDSS refined: mean %.2f, least 1.25 (b)" % 2.5**0.5, done.stdout)
        self.assertIn("refined in the time of %.2f solves with L in double precision, 4.00 at most (b), in 3 steps at most" % 10**0.5, done.stdout)
        rows = {tuple(line.split()[:2]): line.split()[2:] for line in done.stdout.splitlines() if "refined" not in line}
        self.assertEqual(rows["2D", "1"], ["2", "2.00", "2.00", "a", "0", "0.9"])

    def test_compare(self):
        old = self.write([record("a", 1, 10.0, 40.0, ["2D"]), record("b", 1, 10.0, 90.0, ["2D"]), record("c", 1, 10.0, 90.0, ["2D"])], "old")
        new = self.write([record("a", 1, 20.0, 42.0, ["2D"]), record("b", 1, 5.0, 90.0, ["2D"])], "new")
        done = self.all("--compare", old, new)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split() for line in done.stdout.splitlines()[1:3]],
                         [["a", "1", "10.0", "20.0", "2.000", "1.050"], ["b", "1", "10.0", "5.0", "0.500", "1.000"]])
        self.assertIn("nrhs 1: geometric mean 1.000, worst 2.000 (a), best 0.500 (b), 2 matrices", done.stdout)
        self.assertEqual(self.all("--compare", old, self.write([], "empty")).returncode, 2)
        stored = self.write([dict(record("a", 1, 5.0, 40.0, ["2D"]), storage="single"), dict(record("b", 1, 5.0, 90.0, ["2D"]), storage="double")], "new")
        self.assertIn("1 matrices", self.all("--compare", old, stored).stdout)


class Record(unittest.TestCase):
    """What gpusolve-bench writes for some options."""

    def records(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "record.jsonl"
            done = subprocess.run([PROGRAM, "--backend", "host", "--threads", "1", "--repeat", "1", "--bandwidth", "10", "--json", output,
                                   *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return [json.loads(line) for line in output.read_text().splitlines()], done.stdout

    def refused(self, said, *arguments):
        done = subprocess.run([PROGRAM, *arguments, "grid2d:5"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(said, done.stderr.splitlines()[0])


class Refinement(Record):
    """One record says what a refined solve took, and how accurate it was, beside its peers'."""

    def test_stored_in_single(self):
        for method, matrix, dtype in (("richardson", "grid2d:30", "d"), ("automatic", "grid2d:20@c", "z"), ("fgmres", "grid2d:30", "d")):
            records, table = self.records("--storage", "single", f"--refine={method}", "--peers", "cholmod:refine", "--nrhs", "1,8", matrix)
            self.assertIn(f" {dtype}{ {'d': 's', 'z': 'c'}[dtype] } ", table)
            for r in records:
                self.assertEqual((r["storage"], r["dtype"], r["refine_method"], r["ok"]), ("single", dtype, method, True))
                self.assertTrue(1 <= r["refine_steps_min"] <= r["refine_steps"] <= r["refine_most_steps"] == 10, r)
                self.assertTrue(1e-12 < r["backward_error"] < 3e-6 and 0 <= r["refine_backward_error"] < 2.3e-16, r)
                self.assertTrue(0 < r["refine_us_min"] <= r["refine_us"] and r["refine_async_us"] > 0 and r["double_solve_us"] > 0, r)
                self.assertTrue(0 <= r["double_backward_error"] < 1e-14, r)
                peer = r["peers"]["cholmod:refine"]
                self.assertTrue(peer["solve_us"] > 0 and peer["refine_steps"] <= 3 and 0 <= peer["backward_error"] < 2.3e-16, r)

    def test_storage_without_refinement(self):
        for storage in ("single", "double"):
            (r,), _ = self.records("--storage", storage, "grid2d:20")
            self.assertEqual((r["storage"], r["ok"], "refine_us" in r, "double_solve_us" in r), (storage, True, False, False))
            self.assertEqual(r["backward_error"] > 1e-12, storage == "single")
        (r,), _ = self.records("--storage", "single", "--batch", "3", "grid2d:20")
        self.assertEqual((r["storage"], r["ok"], r["batch_error"] > 1e-12), ("single", True, True))
        (r,), _ = self.records("--dtype", "s", "grid2d:20")
        self.assertEqual(r["storage"], "single")
        (r,), _ = self.records("--refine", "grid2d:20")
        self.assertEqual((r["storage"], r["refine_method"], "double_solve_us" in r), ("double", "richardson", False))

    def test_refused(self):
        for said, arguments in [("--storage goes with --dtype d and z", ["--storage", "single", "--dtype", "s"]),
                                ("--storage does not take \"same\"", ["--storage", "same"]),
                                ("--refine does not take \"jacobi\"", ["--refine=jacobi"]),
                                ("peers that refine go with --refine", ["--peers", "cudss:fp32:refine"])]:
            self.refused(said, *arguments)


class Calls(Record):
    """What is timed beside solves: the bytes of a product are L's, once or twice, and those of x and y."""

    def test_multiply(self):
        for matrix, dtype, number in (("grid2d:30", "s", 4), ("grid2d:30", "d", 8), ("grid3d:5@c", "c", 8), ("grid3d:5@c", "z", 16)):
            records, table = self.records("--multiply", "--nrhs", "1,9", "--dtype", dtype, matrix)
            self.assertEqual([r["nrhs"] for r in records], [1, 9])
            self.assertIn("P' L x us", table)
            for r in records:
                for name, sweeps in (("l", 1), ("lt", 1), ("ptl", 1), ("a", 2)):
                    bytes_moved = sweeps * r["stored_bytes"] + 2 * r["n"] * r["nrhs"] * number
                    self.assertEqual(r[f"multiply_{name}_bytes"], bytes_moved)
                    self.assertAlmostEqual(r[f"multiply_{name}_wall_us"], 1e-4 * bytes_moved, delta=1e-5 * bytes_moved * 1e-4)
                    self.assertTrue(0 < r[f"multiply_{name}_us_min"] <= r[f"multiply_{name}_us"], r)
                    self.assertTrue(0 <= r[f"multiply_{name}_error"] < (5e-7 if dtype in "sc" else 2e-15), r)
                self.assertTrue(r["ok"])

    def test_batch_peers(self):
        records, table = self.records("--batch", "3", "--batch-peers", "cholmod,cudss", "--nrhs", "1,2", "grid2d:20", "grid3d:4@c")
        self.assertIn("CHOLMOD us", table)
        for r in records:
            peer = r["batch_peers"]["cholmod"]
            self.assertTrue(peer["solve_us"] > 0 and 0 <= peer["backward_error"] < 1e-14 and r["ok"], r)
            self.assertEqual((list(r["batch_peers"]), r["peers"]), (["cholmod", "cudss"], {}))
            self.assertEqual(r["batch_peers"]["cudss"]["absent"], "it wants the CUDA backend")
        self.refused("--batch-peers goes with --batch", "--batch-peers", "cholmod")
        self.refused('--batch-peers does not take "pardiso"', "--batch", "2", "--batch-peers", "pardiso")

    def test_not_wanted(self):
        (r,), table = self.records("grid2d:20")
        self.assertEqual([key for key in r if key.startswith("multiply")], [])
        self.assertNotIn("L x us", table)

    def test_refused(self):
        self.refused("--multiply goes with --storage double", "--multiply", "--storage", "single")


if __name__ == "__main__":
    unittest.main()
