"""CHOLMOD's own demo without and with the preload library: run_demo.py FOLDER DEMO PRELOAD MATRIX...

DEMO is built from CHOLMOD/Demo of SuiteSparse's sources. It solves with each factor 100 times and more, with cholmod_solve, with
cholmod_solve2 and, for small matrices, with Bset. It must say the same both times but for times and for rounding in its residuals,
and all its solves must be served but the first with each factor, and but the first with Bset. MATRIX may be
cube:K or cube:K:complex, a cube of K^3 unknowns, which is made.
"""
import os
import re
import subprocess
import sys

NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"


def cube(folder, k, kind):
    """A file with the 7-point stencil on k^3 points, Hermitian with imaginary parts if it is to be complex."""
    hermitian = kind == "complex"
    entries = []
    for i in range(k ** 3):
        entries.append(f"{i + 1} {i + 1} 6.5" + " 0" * hermitian)
        for step, inner in ((1, i % k < k - 1), (k, i // k % k < k - 1), (k * k, i // k // k < k - 1)):
            if inner:
                entries.append(f"{i + step + 1} {i + 1} -1" + " 0.25" * hermitian)
    name = os.path.join(folder, f"cube{k}{kind}.mtx")
    with open(name, "w", encoding="utf-8") as file:
        kinds = "complex hermitian" if hermitian else "real symmetric"
        file.write(f"%%MatrixMarket matrix coordinate {kinds}\n{k ** 3} {k ** 3} {len(entries)}\n" + "\n".join(entries) + "\n")
    return name


def run(demo, matrix, folder, environment):
    """What the demo says: all lines without times, and the residuals. It says that it failed by its exit code, too."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GPUSOLVE_") and name != "LD_PRELOAD"}
    done = subprocess.run([demo, matrix], cwd=folder, env={**clean, "OPENBLAS_NUM_THREADS": "1", **environment}, capture_output=True,
                          text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{demo} {matrix} {environment}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    lines, residuals = [], []
    for line in done.stdout.split("\n"):
        found = re.match(r"\s*(?:max)?resid(?:ual)?\b(.*)", line)
        if found:
            residuals.append([float(number) for number in re.findall(r"(?<![\w.])" + NUMBER + r"(?![\w.])", found[1])])
        elif not re.search(r"time|memory usage|^norm\(b-Ax\)", line):
            lines.append(line)
    return lines, residuals


def check(folder, demo, preload, matrix):
    log = os.path.join(folder, os.path.basename(demo) + ".log")
    if os.path.exists(log):
        os.remove(log)
    without = run(demo, matrix, folder, {})
    under = run(demo, matrix, folder, {"LD_PRELOAD": preload, "GPUSOLVE_LOG": log, "GPUSOLVE_PRELOAD_MIN_BYTES": "0"})
    name = f"{os.path.basename(demo)} {os.path.basename(matrix)}"
    if without[0] != under[0]:
        sys.exit(f"{name} says under the preload library:\n" + "\n".join(under[0]) + "\nand without:\n" + "\n".join(without[0]))
    epsilon = 2.0 ** (-23 if re.search(r"cholmod_s[il]_", name) else -52)
    if not without[1] or [len(row) for row in without[1]] != [len(row) for row in under[1]]:
        sys.exit(f"{name}: residuals {under[1]} under the preload library, {without[1]} without")
    for a, b in zip(sum(without[1], []), sum(under[1], [])):
        if not b <= 4 * max(a, epsilon):
            sys.exit(f"{name}: residual {b} under the preload library, {a} without")
    with open(log, encoding="utf-8") as file:
        last = file.read().rstrip().split("\n")[-1]
    solves, served = map(int, re.search(r"total: (\d+) solves, (\d+) served", last).groups())
    worst = max(max(row) for row in under[1])
    print(f"{name}: {served} of {solves} solves served, largest residual {worst:.1e}")
    # two factors, and two more when Bset has made them simplicial
    if solves < 100 or served < solves - 6:
        sys.exit(f"{name}: {served} of {solves} solves were served")


def main():
    folder, demo, preload = (os.path.abspath(path) for path in sys.argv[1:4])
    os.makedirs(folder, exist_ok=True)
    for matrix in sys.argv[4:]:
        _, *size = matrix.split(":")
        check(folder, demo, preload, cube(folder, int(size[0]), size[1] if size[1:] else "real") if size else os.path.abspath(matrix))


main()
