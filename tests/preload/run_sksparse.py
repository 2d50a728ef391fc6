"""scikit-sparse's own tests, without and with the preload library: the same tests pass, and gpusolve solves.

    run_sksparse.py PRELOAD FOLDER

PRELOAD is libgpusolve_preload.so; FOLDER is for the log. The tests, with their matrices, are those that scikit-sparse 0.4 installs.
Exit code 77: skipped, for want of them.
"""
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def copy_tests(folder):
    """The tests of the installed package, in folder/tests: beside the package its compiled part would be looked for."""
    package = importlib.util.find_spec("sksparse").submodule_search_locations[0]
    tests = os.path.join(folder, "tests")
    if not os.path.exists(os.path.join(package, "test_cholmod.py")):
        skip("scikit-sparse is installed without its tests")
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(os.path.join(package, "test_data"), os.path.join(tests, "test_data"))
    shutil.copy(os.path.join(package, "test_cholmod.py"), tests)
    return tests


def outcomes(tests, environment):
    """{test: outcome} of one run of pytest."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-q", "--disable-warnings", "."]
    run = subprocess.run(command, cwd=tests, env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment}, capture_output=True, text=True)
    found = dict(reversed(match) for match in re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED) (\S+)", run.stdout, re.MULTILINE))
    if not found:
        print(run.stdout, run.stderr)
        sys.exit("no test ran")
    return found, run.stdout


def main():
    preload, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    try:
        version = importlib.metadata.version("scikit-sparse")
    except importlib.metadata.PackageNotFoundError:
        skip("scikit-sparse is not installed")
    if not version.startswith("0.4."):
        skip("scikit-sparse " + version + " is installed; the tests of 0.4 are run")
    tests = copy_tests(folder)
    log = os.path.join(folder, "log")
    if os.path.exists(log):
        os.remove(log)
    without, _ = outcomes(tests, {"LD_PRELOAD": ""})
    under, output = outcomes(tests, {"LD_PRELOAD": preload, "GPUSOLVE_LOG": log, "GPUSOLVE_PRELOAD": "always",
                                     "GPUSOLVE_PRELOAD_MIN_BYTES": "0"})
    passed = sum(outcome == "PASSED" for outcome in without.values())
    print(f"{len(without)} tests, {passed} pass without the preload library")
    worse = [test for test, outcome in without.items() if outcome == "PASSED" and under.get(test) != "PASSED"]
    if worse or passed < len(without) / 2:
        print(output)
        sys.exit("fail under the preload library alone: " + ", ".join(worse))

    with open(log, encoding="utf-8") as file:
        lines = file.read()
    print(lines.rstrip().split("\n")[-1])
    total = re.findall(r"total: (\d+) solves, (\d+) served.*?; (\d+) of (\d+) large supernodal dense", lines)
    solves, served, large_served, large = (sum(int(numbers[k]) for numbers in total) for k in range(4))
    if large == 0 or large_served < 0.9 * large:
        sys.exit(f"{large_served} of {large} dense solves on supernodal factors were served, not 90 %")
    if solves < 100 or served < 0.6 * solves:
        sys.exit(f"{served} of {solves} solves were served")


main()
