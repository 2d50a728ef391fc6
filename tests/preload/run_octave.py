"""Octave without and with the preload library: run_octave.py FOLDER OCTAVE SCRIPT PRELOAD

The script checks its own solutions and says "0 wrong". All of its 45 solves must be served."""
import os
import re
import subprocess
import sys

folder, octave, script, preload = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
log = os.path.join(folder, "octave.log")
clean = {key: value for key, value in os.environ.items() if not key.startswith("GPUSOLVE_")}
under = {"LD_PRELOAD": os.path.abspath(preload), "GPUSOLVE_LOG": log, "GPUSOLVE_PRELOAD": "always", "GPUSOLVE_PRELOAD_MIN_BYTES": "0"}
for settings in ({}, under):
    if os.path.exists(log):
        os.remove(log)
    done = subprocess.run([octave, "--norc", "--no-gui", "--quiet", script], env={**clean, **settings}, capture_output=True, text=True,
                          timeout=300)
    # Debian 12's Octave says something on standard error whenever it ends, so that is shown and not judged
    if done.returncode or done.stdout != "0 wrong\n":
        sys.exit(f"{settings}: {done.stdout}{done.stderr}")
with open(log, encoding="utf-8") as file:
    last = file.read().rstrip().split("\n")[-1]
print(last)
solves, served = map(int, re.search(r"total: (\d+) solves, (\d+) served", last).groups())
if not served == solves >= 45:
    sys.exit(f"{served} of {solves} solves were served, there were to be 45 at least")
