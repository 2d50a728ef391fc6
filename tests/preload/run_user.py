"""A program that checks its own solutions and says "0 wrong", without and with the preload library:

    run_user.py FOLDER PROGRAM PRELOAD [simplicial]

Of its dense solves on supernodal factors 90 % must be served; of all its solves, if its factors are simplicial."""
import os
import re
import subprocess
import sys

folder, program, preload, *kind = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
log = os.path.join(folder, os.path.basename(program) + ".log")
clean = {key: value for key, value in os.environ.items() if not key.startswith("GPUSOLVE_")}
for settings in ({}, {"LD_PRELOAD": os.path.abspath(preload), "GPUSOLVE_LOG": log, "GPUSOLVE_PRELOAD_MIN_BYTES": "0"}):
    if os.path.exists(log):
        os.remove(log)
    done = subprocess.run([program], env={**clean, **settings}, capture_output=True, text=True, timeout=300)
    if done.returncode or done.stdout != "0 wrong\n" or done.stderr:
        sys.exit(f"{settings}: {done.stdout}{done.stderr}")
with open(log, encoding="utf-8") as file:
    lines = file.read()
print(lines.rstrip().split("\n")[-1])
solves, all_served, served, large = map(int, re.search(r"total: (\d+) solves, (\d+) served, .*; (\d+) of (\d+) large supernodal", lines).groups())
if kind:
    served, large = all_served, solves
if not served >= 0.9 * large > 90:
    sys.exit(f"{served} of {large} {'solves' if kind else 'dense solves on supernodal factors'} were served, not 90 %")
