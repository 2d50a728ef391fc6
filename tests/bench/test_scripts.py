#!/usr/bin/env python3
"""bench/table, bench/plot, bench/fit, bench/gain, bench/host/plot, bench/prepare/table, bench/calls/table, bench/compare and bench/vary on records made up here: test_scripts.py BENCH-FOLDER"""

import importlib.machinery
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

BENCH = Path(sys.argv.pop(1))
sys.dont_write_bytecode = True


def record(matrix, nrhs, us, peers):
    return {"matrix": matrix, "nrhs": nrhs, "solve_us": us, "wall_us": 10.0, "dtype": "d", "device": "a device", "backend": "cuda",
            "threads": 1, "wall_fraction": 10.0 / us, "peers": peers}


RECORDS = [
    record("first", 1, 20.0, {"cholmod": {"solve_us": 400.0}, "cudss": {"solve_us": 60.0}}),
    record("first", 32, 31.6, {"cholmod": {"solve_us": 9000.0}, "cudss": {"refused": "it does"}}),
    record("second", 1, 5.0, {"cholmod": {"solve_us": 100.0}, "cudss": {"absent": "not found"}}),
]


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "records.jsonl"
        self.file.write_text("".join(json.dumps(r) + "\n" for r in RECORDS))

    def tearDown(self):
        self.folder.cleanup()

    def run_script(self, name, *arguments):
        return subprocess.run([sys.executable, BENCH / name, self.file, *arguments], capture_output=True, text=True)

    def test_table(self):
        done = self.run_script("table")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            "| case | wall | nrhs 1 | 32 | CHOLMOD, nrhs 1 / 32 | cuDSS, nrhs 1 / 32 |",
            "|---|---|---|---|---|---|",
            "| first | 10 | 20 | 32 | 400 / 9000 | 60 / - |",
            "| second | 10 | 5 | - | 100 / - | - / - |",
        ])

    def test_table_of_some(self):
        done = self.run_script("table", "--cases", "second", "--peers", "cholmod")
        self.assertEqual(done.stdout.splitlines()[2:], ["| second | 10 | 5 | 100 |"])
        done = self.run_script("table", "--peers", "cholmod", "--peer-nrhs", "32,8")
        self.assertEqual(done.stdout.splitlines()[::2], [
            "| case | wall | nrhs 1 | 32 | CHOLMOD, nrhs 32 / 8 |", "| first | 10 | 20 | 32 | 9000 / - |"])
        self.assertNotEqual(self.run_script("table", "--cases", "third").returncode, 0)
        self.assertNotEqual(self.run_script("table", "--dtype", "s").returncode, 0)

    def test_plot(self):
        output = Path(self.folder.name) / "plot.svg"
        done = self.run_script("plot", "--output", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        picture = xml.dom.minidom.parse(str(output))
        circles = picture.getElementsByTagName("circle")
        self.assertEqual(len(circles), 1 + 3)  # the legend's, and one for each record
        places = [float(c.getAttribute("cx")) for c in circles[1:]]
        # time over wall 2, 0.5, 3.16: the axis has the decades from 0.1 to 1000 (40 and 900 are CHOLMOD's)
        decade = (900 - 150 - 30) / 4
        for place, power in zip(sorted(places), (-0.30103, 0.30103, 0.49969)):
            self.assertAlmostEqual(place, 150 + decade * (1 + power), places=0)
        self.assertNotEqual(self.run_script("plot", "--dtype", "s").returncode, 0)
        self.check_words(picture)

    def check_words(self, picture):
        """No two words of a picture on each other, as far as 0.56 of the font's size a letter tells."""
        boxes = []
        for text in picture.getElementsByTagName("text"):
            if text.hasAttribute("transform"):
                continue
            words = text.firstChild.data
            size = text.getAttribute("font-size") or picture.documentElement.getAttribute("font-size")
            width, x, y = 0.56 * float(size) * len(words), float(text.getAttribute("x")), float(text.getAttribute("y"))
            x -= {"middle": width / 2, "end": width}.get(text.getAttribute("text-anchor"), 0)
            boxes.append((x, x + width, y - 0.8 * float(size), y, words))
        self.assertTrue(boxes)
        for k, (left, right, top, bottom, words) in enumerate(boxes):
            for other in boxes[:k]:
                apart = left >= other[1] or other[0] >= right or top >= other[3] or other[2] >= bottom
                self.assertTrue(apart, (words, other[4]))

    def test_plot_over(self):
        sized = [dict(r, stored_bytes=(k + 1) * 1e6) for k, r in enumerate(RECORDS)]
        self.file.write_text("".join(json.dumps(r) + "\n" for r in sized))
        output = Path(self.folder.name) / "over.svg"
        done = self.run_script("plot", "--over", "cudss", "--output", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        picture = xml.dom.minidom.parse(str(output))
        self.assertEqual(len(picture.getElementsByTagName("circle")), 2)  # the legend's, and the one case with cuDSS
        self.check_words(picture)
        done = self.run_script("plot", "--over", "cholmod", "--output", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(xml.dom.minidom.parse(str(output)).getElementsByTagName("circle")), 3)
        done = self.run_script("plot", "--over", "pardiso")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no times of pardiso", done.stderr)

    def test_pictures_of_the_records(self):
        checked = 0
        for path in sorted((BENCH / "results").glob("*.svg")):
            if "matplotlib.org" not in path.read_text():  # matplotlib draws words as outlines
                with self.subTest(path.name):
                    self.check_words(xml.dom.minidom.parse(str(path)))
                checked += 1
        self.assertGreater(checked, 0)

    def test_compare(self):
        done = self.run_script("compare")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nrhs 1 over cudss: geometric mean 3.00, least 3.00, 1 matrices", done.stdout)
        self.assertNotIn("nrhs 32 over cudss", done.stdout)
        self.assertEqual(self.run_script("compare", "--least", "4").returncode, 1)

    def write(self, records):
        self.file.write_text("".join(json.dumps(r) + "\n" for r in records))

    def test_storages(self):
        """Records of L in double and in single precision are never mixed."""
        both = RECORDS + [dict(r, storage="single", solve_us=r["solve_us"] / 2, stored_bytes=1e6) for r in RECORDS]
        self.write(both)
        for script, *arguments in (["table"], ["plot"], ["plot", "--over", "cudss"]):
            done = self.run_script(script, *arguments)
            self.assertNotEqual(done.returncode, 0, script)
            self.assertIn("--storage says which", done.stderr)
        done = self.run_script("table", "--storage", "single", "--peers", "cudss", "--peer-nrhs", "1")
        self.assertEqual(done.stdout.splitlines()[2:], ["| first | 10 | 10 | 16 | 60 |", "| second | 10 | 2 | - | - |"])
        self.assertIn("| first | 10 | 20 | 32 |", self.run_script("table", "--storage", "double").stdout)
        output = Path(self.folder.name) / "storage.svg"
        done = self.run_script("plot", "--storage", "single", "--output", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(xml.dom.minidom.parse(str(output)).getElementsByTagName("circle")), 1 + 3)
        done = self.run_script("compare")
        self.assertIn("cuda, 1 threads, d, L in double precision, nrhs 1 over cudss: geometric mean 3.00, least 3.00, 1 matrices", done.stdout)
        self.assertIn("cuda, 1 threads, d, L in single precision, nrhs 1 over cudss: geometric mean 6.00, least 6.00, 1 matrices", done.stdout)
        self.assertNotEqual(self.gain(dict(r, ok=True) for r in both).returncode, 0)
        self.assertEqual(self.gain(dict(r, ok=True) for r in both[3:]).returncode, 0)
        done = self.run_script("host/plot", "--output", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        words = [text.firstChild.data for text in xml.dom.minidom.parse(str(output)).getElementsByTagName("text")]
        self.assertTrue("20.0" in words and "40.0" not in words, words)  # CHOLMOD's 400 over 20 us, not over 10
        # the same case stored otherwise is another case, and a type's own storage needs no word
        other = Path(self.folder.name) / "single.jsonl"
        other.write_text("".join(json.dumps(r) + "\n" for r in both[3:]))
        self.write(RECORDS)
        self.assertEqual(self.run_script("compare", other).returncode, 1)
        other.write_text("".join(json.dumps(dict(r, storage="double")) + "\n" for r in RECORDS))
        self.assertEqual(self.run_script("compare", other).stdout.count(" 1.00\n"), 3)
        self.write(dict(r, dtype="s") for r in RECORDS)
        other.write_text("".join(json.dumps(dict(r, dtype="s", storage="single")) + "\n" for r in RECORDS))
        self.assertEqual(self.run_script("compare", other).stdout.count(" 1.00\n"), 3)
        self.write(both[3:])
        self.assertIn("no records of L in double precision", self.run_script("host/plot").stderr)

    def test_refined(self):
        """Beside a peer that refines stands gpusolve's own refinement; without it there is nothing to compare."""
        peers = {"cudss": {"solve_us": 60.0}, "cudss:fp32:refine": {"solve_us": 120.0, "refine_steps": 2, "backward_error": 1e-16}}
        refined = dict(record("first", 1, 20.0, peers), refine_us=80.0, refine_backward_error=9e-17, stored_bytes=1e6)
        self.write([refined, dict(record("second", 1, 5.0, peers), stored_bytes=2e6)])
        done = self.run_script("compare")
        self.assertIn("nrhs 1 refined, over cudss:fp32:refine: geometric mean 1.50, least 1.50, 1 matrices", done.stdout)
        self.assertIn("nrhs 1 over cudss: geometric mean 6.00, least 3.00, 2 matrices", done.stdout)
        self.assertEqual(self.run_script("table").stdout.splitlines(), [
            "| case | wall | nrhs 1 | cuDSS, nrhs 1 | gpusolve, refined, nrhs 1 | cuDSS, FP32 factor, refined, nrhs 1 |",
            "|---|---|---|---|---|---|",
            "| first | 10 | 20 | 60 | 80 | 120 |",
            "| second | 10 | 5 | 60 | - | 120 |",
        ])
        output = Path(self.folder.name) / "refined.svg"
        self.assertEqual(self.run_script("plot", "--output", output).returncode, 0)
        picture = xml.dom.minidom.parse(str(output))
        self.check_words(picture)
        self.assertIn("gpusolve, refined", [text.firstChild.data for text in picture.getElementsByTagName("text")])
        done = self.run_script("plot", "--over", "cudss:fp32:refine", "--output", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        picture = xml.dom.minidom.parse(str(output))
        self.check_words(picture)
        self.assertEqual(len(picture.getElementsByTagName("circle")), 2)  # the legend's, and one case
        lines = self.gain([dict(refined, ok=True)]).stdout.splitlines()
        self.assertIn("gpusolve, refined, was 1.5 times as fast as cuDSS with a factor in FP32, refined, with 1 right-hand side", lines[1])

    def calls_table(self, kind):
        return subprocess.run([sys.executable, BENCH / "calls" / "table", kind, self.file], capture_output=True, text=True)

    def test_calls_table(self):
        products = {"multiply_l_us": 1234.5, "multiply_lt_us": 12.345, "multiply_ptl_us": 1234567.0, "multiply_a_us": 2.0, "multiply_l_wall_us": 0.5}
        first, again = dict(RECORDS[0], **products), dict(RECORDS[0], solve_us=40.0, **products)
        entries = dict(RECORDS[2], n=25, inverse_bytes=1.5e9, inverse_ms=200.0, inverse_predicted_ms=190.4, inverse_asked_ms=5.0, inverse_error=3e-15)
        self.file.write_text("".join(json.dumps(r) + "\n" for r in (first, RECORDS[1], dict(first, device="another"), again, entries)))
        done = self.calls_table("multiply")
        self.assertEqual(done.stdout.splitlines(), [
            "|  | columns | on | L x | L' x | P' L x | A x | a solve | wall of L x |",
            "|---|---|---|---|---|---|---|---|---|",
            "| `first` | 1 | a device | 1.2 | 0.012 | 1200 | 0.002 | 0.04 | 0.0005 |",
            "| `first` | 1 | another | 1.2 | 0.012 | 1200 | 0.002 | 0.02 | 0.0005 |",
        ])
        self.assertEqual(self.calls_table("inverse").stdout.splitlines()[2:], ["| `second` | a device | 25 | 1.5 | 0.2 | 0.19 | 0.005 | 3e-15 |"])
        self.assertNotEqual(self.calls_table("other").returncode, 0)
        self.file.write_text(json.dumps(RECORDS[0]) + "\n")
        self.assertNotEqual(self.calls_table("inverse").returncode, 0)

    def test_prepare_table(self):
        first = {"matrix": "first", "stored_bytes": 55e6, "factor_bytes": 58e6, "transfer_ms": 1.0, "flops_ms": 0.25,
                 "target_ms": 2.25, "refresh_ms": 9.0, "create_ms": 20.0, "plan_ms": 5.0}
        again = dict(first, refresh_ms=2.7)
        self.file.write_text("".join(json.dumps(r) + "\n" for r in (first, dict(first, matrix="second"), again)))
        done = self.run_script("prepare/table")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[2:], [
            "| first | 55 | 1.0 | 0.2 | 2.2 | 2.7 | 1.20 | 20.0 | 5.0 | 1.055 |",
            "| second | 55 | 1.0 | 0.2 | 2.2 | 9.0 | 4.00 | 20.0 | 5.0 | 1.055 |",
        ])
        self.file.write_text("")
        self.assertNotEqual(self.run_script("prepare/table").returncode, 0)

    def test_fit(self):
        def made(n, hops, stored, branch, level_us=3):  # panels twice at their bandwidth, 50 vectors at theirs
            us = level_us * hops / 2 + (1.0 * 2 * (stored - branch) + 50 * 8 * n) / 4e6
            return {"matrix": str(n), "operation": "solve", "ok": True, "dtype": "d", "nrhs": 1, "n": n, "hops": hops, "solve_us": us,
                    "stored_bytes": stored, "tiers": {"branch": {"bytes": branch}}, "bandwidth_gb_per_s": 4000.0}

        records = [made(10000, 20, 4 << 20, 1 << 20), made(90000, 26, 25 << 20, 9 << 20), made(60000, 24, 120 << 20, 8 << 20),
                   made(200000, 32, 700 << 20, 40 << 20), made(80000, 28, 500 << 20, 10 << 20), made(1000000, 34, 350 << 20, 150 << 20)]
        wrong = dict(records[0], ok=False, solve_us=1.0)
        beside = dict(records[0], tiers={"branch": {"bytes": 1 << 20}, "streams": {"bytes": 3 << 20}}, solve_us=1.0)
        stored = dict(records[1], storage="single", solve_us=1.0)
        self.file.write_text("".join(json.dumps(r) + "\n" for r in records + [wrong, beside, stored]))
        done = self.run_script("fit")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            "   1: level_us 3.00 upper 1.00 vectors 50.0; errors: 6 of 6 within 15%, at most 0%, rms 0%; "
            "left out: 6 of 6 within 15%, at most 0%, rms 0%",
        ])
        # a level takes no less with more right-hand sides
        sizes = [(r["n"], r["hops"], r["stored_bytes"], r["tiers"]["branch"]["bytes"]) for r in records]
        for level_us, found in ((2, "3.00"), (4, "4.00")):
            more = [dict(made(*size, level_us), nrhs=8) for size in sizes]
            self.file.write_text("".join(json.dumps(r) + "\n" for r in records + more))
            done = self.run_script("fit")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("8: level_us %s upper" % found, done.stdout.splitlines()[1])
        self.file.write_text("".join(json.dumps(r) + "\n" for r in records))
        # complex numbers by themselves
        self.file.write_text("".join(json.dumps(dict(r, dtype="z")) + "\n" for r in records))
        self.assertEqual(self.run_script("fit").stdout, "")
        self.assertIn("1: level_us 3.00 upper 1.00 vectors 50.0", self.run_script("fit", "--dtype", "z").stdout)
        self.file.write_text("".join(json.dumps(r) + "\n" for r in records))
        # in single precision panels take 0.6 of their time; of some of these records they are the larger part
        single = Path(self.folder.name) / "single.jsonl"
        panels = [1.0 * 2 * (r["stored_bytes"] - r["tiers"]["branch"]["bytes"]) / 4e6 for r in records]
        single.write_text("".join(json.dumps(dict(r, dtype="s", solve_us=r["solve_us"] - 0.4 * us)) + "\n"
                                  for r, us in zip(records, panels)))
        done = self.run_script("fit", "--single", single)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[1:], ["      single 0.60, by %d of 6" % sum(
            2 * us > r["solve_us"] for r, us in zip(records, panels))])

    def test_faster_mode(self):
        modes = [{"pardiso": {"solve_us": 60.0}, "pardiso:one-level": {"solve_us": 40.0}},
                 {"pardiso": {"solve_us": 90.0}, "pardiso:one-level": {"solve_us": 360.0}}]
        self.file.write_text("".join(json.dumps(record("m%d" % i, 1, 10.0, m)) + "\n" for i, m in enumerate(modes)))
        done = self.run_script("compare")
        self.assertIn("over the faster pardiso: geometric mean 6.00, least 4.00, 2 matrices", done.stdout)
        self.assertIn("over pardiso: geometric mean 7.35, least 6.00, 2 matrices", done.stdout)
        output = Path(self.folder.name) / "host.svg"
        done = self.run_script("host/plot", "--output", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        words = [text.firstChild.data for text in xml.dom.minidom.parse(str(output)).getElementsByTagName("text")]
        self.assertEqual([word for word in words if word in ("4.0", "6.0", "9.0", "36.0")], ["4.0", "9.0"])
        self.assertEqual(words.count("than oneMKL PARDISO"), 1)

    def gain(self, records):
        text = "".join(json.dumps(r) + "\n" for r in records)
        return subprocess.run([sys.executable, BENCH / "gain"], input=text, capture_output=True, text=True)

    def test_gain(self):
        done = self.gain(dict(r, ok=True) for r in RECORDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        # nrhs 1: 20 and 20 times; 32: 9000 / 31.6
        self.assertIn("gpusolve was 20.0 and 284.8 times as fast as CHOLMOD with 1 and 32 right-hand sides", lines[0])
        self.assertIn("(geometric means of 2 matrices; 20.0 to 284.8)", lines[0])
        self.assertIn("gpusolve was 3.0 times as fast as cuDSS with 1 right-hand side (", lines[1])
        self.assertEqual(lines[2:], ["All answers are right."])
        done = self.gain(dict(r, ok=r["nrhs"] == 1) for r in RECORDS)
        self.assertNotIn("284.8", done.stdout)
        self.assertIn("1 of 3 answers are WRONG.", done.stdout)
        self.assertEqual(self.gain([]).stdout, "")

    def test_demo_says_how_at_once(self):
        done = subprocess.run(["bash", BENCH / "demo", "--nrhs", "8", "--help"], capture_output=True, text=True, env={"PATH": "/bin:/usr/bin"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--matrices A,B", done.stdout)
        self.assertNotIn("configuring", done.stdout)
        for wrong in (["--matrices"], ["--json"]):
            done = subprocess.run(["bash", BENCH / "demo", *wrong], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("wants a value", done.stderr)

    def made_program(self, name, solves, status=0):
        program = Path(self.folder.name) / name
        lines = "".join("echo \"%s nrhs %5d  A %10.1f us, L %10.1f, L' %10.1f  panels\"\n" % s for s in solves)
        program.write_text("#!/bin/sh\n" + lines + "exit %d\n" % status)
        program.chmod(0o755)
        return program

    def vary(self, *programs):
        return subprocess.run([sys.executable, BENCH / "vary", "run", "--nrhs", "8", *programs, "--", "m"], capture_output=True, text=True)

    def test_vary_run(self):
        base = self.made_program("base", [("m", 8, 100.0, 50.0, 40.0)])
        other = self.made_program("other", [("m", 8, 90.0, 50.0, 44.0)])
        done = self.vary(base, other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split() for line in done.stdout.splitlines()], [
            ["m,", "8", "columns"],
            ["base", "100.0", "50.0", "40.0"],
            ["other", "-10.0", "+0.0", "+10.0"],
            ["base", "+0.0", "+0.0", "+0.0"],
        ])
        done = self.vary(base, self.made_program("broken", [], 1))
        self.assertEqual(done.returncode, 1)
        self.assertIn(["broken", "-", "-", "-"], [line.split() for line in done.stdout.splitlines()])
        silent = self.made_program("silent", [])
        self.assertEqual([self.vary(silent).returncode, self.vary(base, silent).returncode], [1, 1])

    def test_vary_constants(self):
        loader = importlib.machinery.SourceFileLoader("vary", str(BENCH / "vary"))
        vary = importlib.util.module_from_spec(importlib.util.spec_from_loader("vary", loader))
        loader.exec_module(vary)
        text = "enum {\n    TASKS = 198, /* TASKS of a level */\n    MOST = 16 << 20,\n    LAST = TASKS\n};\n"
        self.assertEqual(vary.change("TASKS", "7", text), text.replace("198", "7"))
        self.assertEqual(vary.change("MOST", "8", text), text.replace("16 << 20", "8"))
        self.assertEqual(vary.change("LAST", "-1", text), text.replace("= TASKS", "= -1"))
        self.assertEqual([vary.uses(n, text) for n in ("TASKS", "MOST", "LAST")], [1, 0, 0])
        self.assertEqual(vary.uses("MOST", "if (k == MOST && MOST == 3) // MOST\n"), 2)
        self.assertEqual(vary.parse_changes("A=1,B=-2"), {"A": "1", "B": "-2"})
        with self.assertRaises(SystemExit):
            vary.parse_changes("A=x")


if __name__ == "__main__":
    unittest.main()
