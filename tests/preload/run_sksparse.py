"""scikit-sparse's own tests, without and with the preload library: the same tests pass, and gpusolve solves.

    run_sksparse.py PRELOAD FOLDER

PRELOAD is libgpusolve_preload.so. FOLDER keeps the tests: they are in the source package alone, which pip fetches once, if it is of the
installed version. The package leaves out the four least-squares problems that one test reads from files, so files of these
names are made here, with other numbers; the test compares solutions with NumPy's, whatever the numbers are.
Exit code 77: skipped, for want of scikit-sparse 0.4 or of its source package.
"""
import glob
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile

SKIPPED = 77
PROBLEMS = {"well1033": (300, 90), "illc1033": (300, 90), "well1850": (500, 200), "illc1850": (500, 200)}


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def fetch_tests(folder, version):
    """The tests of the source package, in folder/tests."""
    tests = os.path.join(folder, "tests-" + version)
    if os.path.isdir(tests):
        return tests
    os.makedirs(folder, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary",
               "scikit-sparse", "--dest", folder, "scikit-sparse==" + version]
    if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        skip("the source package of scikit-sparse " + version + " cannot be fetched")
    with tarfile.open(glob.glob(os.path.join(folder, "scikit_sparse-*.tar.gz"))[0]) as archive:
        members = [member for member in archive.getmembers() if re.search(r"/tests/[^/]+\.py$", member.name)]
        for member in members:
            member.name = os.path.basename(member.name)
        archive.extractall(tests + ".part", members)
    make_problems(os.path.join(tests + ".part", "test_data"))
    shutil.move(tests + ".part", tests)
    return tests


def make_problems(folder):
    """Least-squares problems of full rank: some numbers in each row, and a diagonal."""
    import gzip
    import numpy
    import scipy.io
    import scipy.sparse
    os.makedirs(folder)
    for seed, (name, (rows, columns)) in enumerate(PROBLEMS.items()):
        random = numpy.random.default_rng(seed)
        matrix = scipy.sparse.random(rows, columns, density=4 / columns, random_state=random, format="lil")
        matrix.setdiag(1 + random.random(columns))
        right = random.standard_normal((rows, 1))
        for suffix, numbers in (("", matrix.tocoo()), ("_rhs1", right)):
            path = os.path.join(folder, name + suffix + ".mtx")
            scipy.io.mmwrite(path, numbers)
            with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
                packed.write(plain.read())
            os.remove(path)


def outcomes(tests, environment):
    """{test: outcome} of one run of pytest."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-q", "--disable-warnings", "."]
    run = subprocess.run(command, cwd=tests, env={**os.environ, **environment}, capture_output=True, text=True)
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
    tests = fetch_tests(folder, version)
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
