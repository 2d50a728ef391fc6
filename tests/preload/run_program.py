"""One section of the program without and with the preload library: the same numbers, and enough of them by gpusolve.

    run_program.py FOLDER SECTION PROGRAM [PRELOAD]

PRELOAD: libgpusolve_preload.so, for LD_PRELOAD. Without it PROGRAM's twin PROGRAM-linked is run, which was linked with the library first.
"""
import array
import os
import re
import subprocess
import sys

# Of each section, the settings to run it with, and what the log's last line must hold at least: {setting: (environment, {count: least})}.
# "large": the part of dense solves on supernodal factors that gpusolve solved.
ALL = {"GPUSOLVE_PRELOAD": "always", "GPUSOLVE_PRELOAD_MIN_BYTES": "0"}
SECOND = {"GPUSOLVE_PRELOAD": "second", "GPUSOLVE_PRELOAD_MIN_BYTES": "0"}
SECTIONS = {
    "systems": {"always": (ALL, {"served": 1000, "large": 1.0}), "second": (SECOND, {"served": 1000, "large": 0.9})},
    "operands": {"always": (ALL, {"served": 36, "large": 1.0})},
    "errors": {"always": (ALL, {"served": 3}), "second": (SECOND, {"served": 2})},
    "sets": {"always": (ALL, {"bset": 400, "selected": 400, "large": 1.0}), "second": (SECOND, {"bset": 350, "large": 0.9})},
    "sparse": {"always": (ALL, {"sparse": 400, "selected": 200}), "second": (SECOND, {"sparse": 350, "selected": 50})},
    "changes": {"always": (ALL, {"large": 1.0, "refreshes": 10}), "second": (SECOND, {"large": 0.7, "refreshes": 10})},
    "threads": {"second": (SECOND, {"large": 0.9})},
    "fork": {"second": (SECOND, {"served": 6, "processes": 4})},
    "limits": {
        "factors": ({**SECOND, "GPUSOLVE_PRELOAD_MAX_FACTORS": "4"}, {"served": 30}),
        "bytes": ({**SECOND, "GPUSOLVE_PRELOAD_MAX_BYTES": "100k"}, {"served": 30}),
        "all": (SECOND, {"large": 0.9}),
        "standard": ({}, {"none": 0}),
        "off": ({**ALL, "GPUSOLVE_PRELOAD": "off"}, {"none": 0}),
        "no library": ({**ALL, "GPUSOLVE_LIBRARY": "/nowhere/libgpusolve.so"}, {"none": 0}),
        "other names": ({**ALL, "GPUSOLVE_PRELOAD": "sometimes", "GPUSOLVE_PRELOAD_MAX_FACTORS": "x"}, {"large": 0.9}),
    },
}
TOTAL = re.compile(r"total: \d+ solves, (?P<served>\d+) served, \d+ passed on; (?P<large_served>\d+) of (?P<large>\d+) large supernodal "
                   r"dense served; (?P<sparse>\d+) sparse and (?P<bset>\d+) Bset served, (?P<selected>\d+) of them selected; "
                   r"\d+ imports, (?P<refreshes>\d+) refreshes")


def run(program, section, file, environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GPUSOLVE_") and name != "LD_PRELOAD"}
    # OpenBLAS's threads, and OpenMP's, are not those that are tested.
    clean.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="2")
    done = subprocess.run([program, section, file], env={**clean, **environment}, capture_output=True, text=True, timeout=300)
    if done.returncode or done.stdout or done.stderr:
        sys.exit(f"{section}: {program} ended with {done.returncode} and said: {done.stdout}{done.stderr}")
    with open(file + ".names", encoding="utf-8") as names:
        labels = [line.rstrip("\n").split(" ", 1) for line in names]
    numbers = array.array("d")
    with open(file, "rb") as stored:
        numbers.frombytes(stored.read())
    return labels, numbers


def compare(section, without, under):
    """Every block of numbers to rounding, against the largest of the block. A NaN in one alone is a failure."""
    if without[0] != under[0]:
        sys.exit(f"{section}: other blocks of numbers under the preload library")
    place = 0
    for count, label in without[0]:
        a, b = (numbers[place:place + int(count)] for numbers in (without[1], under[1]))
        place += int(count)
        scale = max((abs(x) for x in a if x == x), default=0)
        for x, y in zip(a, b):
            if not (abs(x - y) <= 1e-11 * scale or (x != x and y != y) or x == y):
                sys.exit(f"{section}: {label}: {x} without, {y} with the preload library")
    return place


def check_counts(section, setting, log, wanted):
    with open(log, encoding="utf-8") as file:
        lines = file.read()
    found = [TOTAL.search(line) for line in lines.split("\n") if "total: " in line]
    counts = {name: sum(int(match[name]) for match in found) for name in TOTAL.groupindex}
    if not found:
        sys.exit(f"{section}, {setting}: the log has no last line")
    print(f"{section}, {setting}: {counts}")
    processes = len(set(re.findall(r"\[(\d+)\]: served", lines)))
    if processes < wanted.get("processes", 0) and "PRELOAD_TEST_CHILDREN_PASS" not in os.environ: # after CUDA they do
        sys.exit(f"{section}, {setting}: solves were served in {processes} processes")
    for name, least in wanted.items():
        if name == "none" and counts["served"]:
            sys.exit(f"{section}, {setting}: {counts['served']} solves were served, none were to be")
        if name == "large" and not counts["large_served"] >= least * counts["large"] > 0:
            sys.exit(f"{section}, {setting}: {counts['large_served']} of {counts['large']} dense solves on supernodal factors were served")
        if name in counts and name != "large" and counts[name] < least:
            sys.exit(f"{section}, {setting}: {name} is {counts[name]}, not {least}")


def main():
    folder, section, program = sys.argv[1:4]
    preload = {"LD_PRELOAD": os.path.abspath(sys.argv[4])} if len(sys.argv) > 4 else {}
    linked = program if preload else program + "-linked"
    os.makedirs(folder, exist_ok=True)
    file = os.path.join(folder, section + ("" if preload else "-linked"))
    without = run(program, section, file, {})
    for setting, (environment, wanted) in SECTIONS[section].items():
        log = file + ".log"
        if os.path.exists(log):
            os.remove(log)
        under = run(linked, section, file, {**preload, **environment, "GPUSOLVE_LOG": log})
        print(f"{section}, {setting}: {compare(section, without, under)} numbers agree")
        check_counts(section, setting, log, wanted)


main()
