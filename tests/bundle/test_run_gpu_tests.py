#!/usr/bin/env python3
"""cmake/run-gpu-tests, with programs made up here in the place of gpusolve-tests: test_run_gpu_tests.py SCRIPT"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SCRIPT = Path(sys.argv.pop(1))

# What a program does when it is run.
PROGRAMS = {
    "passes": 'echo "7 checks, 0 failed"',
    "also_passes": 'echo "35 checks, 0 failed"',
    "fails": 'echo "FAILED here"; echo "3 checks, 1 failed"; exit 1',
    "aborts": "kill -ABRT $$",
    "skips": 'echo "skipped: no CUDA device"; exit 77',
    "wants_two": 'echo "skipped: wants 2 devices"; exit 77',
    "leaves_out": 'echo "left out: memory of another device"; echo "1 checks, 0 failed"',
    "hangs": "sleep 1000",
    "tells": 'echo "$GPUSOLVE_TEST_DEVICE,$GPUSOLVE_TEST_FEW,$OMP_NUM_THREADS,$OPENBLAS_NUM_THREADS"; echo "1 checks, 0 failed"',
}


class RunGpuTests(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name) / "a bundle"
        self.folder.mkdir()
        self.record = self.folder / "record.jsonl"
        shutil.copy(SCRIPT, self.folder)
        (self.folder / "revision").write_text("abc123-dirty\n")
        self.machine(1)

    def tearDown(self):
        self.temporary.cleanup()

    def executable(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/bash\n" + text + "\n")
        path.chmod(0o755)

    def machine(self, devices):
        lines = "\n".join(["NVIDIA H100 80GB HBM3, 580.1"] * devices)
        self.executable("nvidia-smi", f'echo "{lines}"' if devices else 'echo "no driver"; exit 9')

    def bundle(self, device, host=()):
        listed = "\n".join([f"echo '{name} device'" for name in device] + [f"echo '{name} host'" for name in host])
        cases = "\n".join(f"{name}) {text} ;;" for name, text in PROGRAMS.items())
        self.executable("gpusolve-tests", f'case $1 in\n--list)\n{listed}\n;;\n{cases}\n*) exit 2 ;;\nesac')

    def start(self, *arguments, **environment):
        return subprocess.Popen([self.folder / "run-gpu-tests", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", **environment})

    def run_script(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        output = process.communicate(timeout=120)[0]
        return process.returncode, output

    def test_green(self):
        self.bundle(["passes"], ["also_passes"])
        status, output = self.run_script("--record", str(self.record))
        self.assertEqual(status, 0, output)
        self.assertIn("gpusolve abc123-dirty on 1 x NVIDIA H100 80GB HBM3, driver 580.1", output)
        self.assertIn("2 passed, 0 failed, 0 skipped of 2, 42 checks", output)
        record = json.loads(self.record.read_text())
        self.assertEqual({key: record[key] for key in ("revision", "mode", "green", "device", "devices", "driver", "programs", "passed",
                                                       "failed", "skipped", "checks", "failures", "skips")},
                         {"revision": "abc123-dirty", "mode": "whole", "green": True, "device": "NVIDIA H100 80GB HBM3", "devices": 1,
                          "driver": "580.1", "programs": 2, "passed": 2, "failed": 0, "skipped": 0, "checks": 42, "failures": [],
                          "skips": []})
        self.assertEqual(set(record["times"]), {"passes", "also_passes"})
        self.assertRegex(record["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.run_script("--record", str(self.record))
        self.assertEqual(len(self.record.read_text().splitlines()), 2)

    def test_failures(self):
        self.bundle(["fails", "aborts", "passes"])
        status, output = self.run_script("--record", str(self.record))
        self.assertEqual(status, 1)
        self.assertIn("    FAILED here", output)
        self.assertIn("1 passed, 2 failed, 0 skipped", output)
        record = json.loads(self.record.read_text())
        self.assertFalse(record["green"])
        self.assertEqual(sorted(record["failures"]), ["aborts", "fails"])

    def test_skipped(self):
        self.bundle(["passes", "skips"])
        status, output = self.run_script("--record", str(self.record))
        self.assertEqual(status, 1)
        self.assertIn("SKIPPED: no CUDA device", output)
        self.assertIn("not green", output)
        record = json.loads(self.record.read_text())
        self.assertFalse(record["green"])
        self.assertEqual(record["skips"], ["skips"])

    def test_too_few_devices(self):
        self.bundle(["passes", "wants_two"])
        status, output = self.run_script()
        self.assertEqual(status, 0, output)
        self.assertIn("SKIPPED: wants 2 devices", output)
        self.machine(2)
        self.assertEqual(self.run_script()[0], 1)

    def test_left_out(self):
        self.bundle(["passes", "leaves_out"])
        status, output = self.run_script("--record", str(self.record))
        self.assertEqual(status, 0, output)
        self.assertIn("passed, but left out: memory of another device", output)
        self.assertEqual(json.loads(self.record.read_text())["left_out"], ["leaves_out"])

    def test_all_skipped(self):
        self.bundle(["wants_two"])
        self.assertEqual(self.run_script()[0], 1)

    def test_hang(self):
        self.bundle(["hangs", "passes"])
        status, output = self.run_script("--jobs", "1", GPUSOLVE_TEST_TIMEOUT="1")
        self.assertEqual(status, 1)
        self.assertIn("FAILED: killed after 1 s", output)
        self.assertIn("1 passed, 1 failed", output)

    def test_killed(self):
        self.bundle(["passes", "hangs", "also_passes"])
        process = self.start("--jobs", "1", "--record", str(self.record))
        while "passed" not in process.stdout.readline():
            pass
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 1)
        self.assertIn("these were running: hangs; these had not begun: also_passes", output)
        self.assertIn("1 passed, 0 failed, 0 skipped of 3", output)
        self.assertFalse(self.record.exists())

    def test_quick(self):
        self.bundle(["tells"], ["fails"])
        status, output = self.run_script("--quick", "--jobs", "1", "--record", str(self.record), "--logs", str(self.folder / "logs"))
        self.assertEqual(status, 0, output)
        self.assertEqual(json.loads(self.record.read_text())["mode"], "quick")
        device, few, openmp, openblas = (self.folder / "logs" / "tells.log").read_text().splitlines()[0].split(",")
        self.assertEqual((device, few), ("1", "1"))
        self.assertTrue(int(openmp) >= 1 and int(openblas) >= 1)

    def test_names(self):
        self.bundle(["fails", "passes"])
        self.assertEqual(self.run_script("passes")[0], 0)
        self.assertEqual(self.run_script("unknown")[0], 1)
        self.assertEqual(self.run_script("passes", "--record", str(self.record))[0], 2)

    def test_calls(self):
        self.bundle(["passes"])
        self.assertEqual(self.run_script("--jobs", "0")[0], 2)
        self.assertEqual(self.run_script("--unknown")[0], 2)
        status, output = self.run_script("--help")
        self.assertEqual(status, 0)
        for option in "--quick", "--jobs N", "--record FILE", "--logs FOLDER", "--sanitize":
            self.assertIn(option, output)

    def test_no_device(self):
        self.bundle(["passes"])
        self.machine(0)
        status, output = self.run_script()
        self.assertEqual(status, 2)
        self.assertIn("no CUDA device: no driver", output)


if __name__ == "__main__":
    unittest.main()
