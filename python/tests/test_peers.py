"""bench/python/peers runs, its cases are what they are called, and a wrong answer or NaN does not pass."""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__)
FOLDER = next((up / "bench/python" for up in HERE.parents[1:3] if (up / "bench/python").exists()), HERE / "nowhere")  # or the bundle's


def module(name):
    if not FOLDER.exists():
        pytest.skip("bench/python is not here")
    loader = importlib.machinery.SourceFileLoader("bench_" + name.removesuffix(".py"), str(FOLDER / name))
    result = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(result)
    return result


def test_cases():
    cases = module("cases.py")
    for spec, n in (("grid2d:7", 49), ("grid3d:4", 64), ("elasticity3d:3", 81)):
        A = cases.load(spec)
        assert A.shape == (n, n) and (A != A.T).nnz == 0
        assert np.linalg.eigvalsh(A.toarray())[0] > 1e-3
    corners, K = cases.element()
    position = corners.astype(float)
    rigid = [np.tile(axis, 8) for axis in np.eye(3)] + [np.cross(axis, position).ravel() for axis in np.eye(3)]
    assert abs(K @ np.array(rigid).T).max() < 1e-13 and np.linalg.matrix_rank(K, tol=1e-10) == 18
    with pytest.raises(FileNotFoundError):
        cases.load("no_such_matrix")


def test_wrong_answers_are_found():
    peers, cases = module("peers"), module("cases.py")
    A = cases.load("grid2d:10")
    x = np.random.default_rng(0).standard_normal((100, 3))
    b = A @ x
    assert peers.backward_error(A, x, b) < 1e-15
    for place in ((0, 0), (99, 2)):
        for value in (np.nan, np.inf, x[place] + 1e-6):
            wrong = x.copy()
            wrong[place] = value
            with np.errstate(invalid="ignore"):
                assert not peers.backward_error(A, wrong, b) < peers.WRONG


def test_run(tmp_path):
    module("cases.py")
    record = tmp_path / "record.jsonl"
    command = [sys.executable, str(FOLDER / "peers"), "--threads", "1", "--columns", "1,3", "--json", str(record),
               "--solvers", "gpusolve;scipy;nvmath", "grid2d:12"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    solved = [line for line in lines if "solve_us" in line]
    assert {(line["solver"], line["nrhs"]) for line in solved} >= {("gpusolve", 1), ("gpusolve", 3), ("scipy", 1), ("scipy", 3)}
    assert all(line["ok"] and line["solve_us"] > 0 for line in solved)
    assert any("nvmath" in line["solver"] for line in lines), "a solver that is absent is named"
    pytest.importorskip("matplotlib", reason="bench/python/plot draws with matplotlib, which is not installed")
    picture = tmp_path / "picture.svg"
    command = [sys.executable, str(FOLDER / "plot"), str(record), "--output", str(picture)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "| scipy | numpy, host | 1 |" in result.stdout and picture.stat().st_size > 5000


def test_convergence(tmp_path):
    pytest.importorskip("matplotlib", reason="bench/python/convergence draws with matplotlib, which is not installed")
    picture = tmp_path / "picture.svg"
    command = [sys.executable, str(FOLDER / "convergence"), "--case", "grid2d:15", "--steps", "6", "--output", str(picture)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    last = [float(number) for number in result.stdout.splitlines()[-2].split("|")[2:-1]]
    assert len(last) == 5 and all(number < 1e-5 for number in last) and last[1] < last[0] and picture.stat().st_size > 5000


@pytest.mark.parametrize("record", ["h200-python", "epyc-python-2-threads"])
def test_figures_of_the_readme_are_the_record_s(record, capsys):
    pytest.importorskip("matplotlib", reason="bench/python/plot draws with matplotlib, which is not installed")
    plot = module("plot")
    path = FOLDER.parent / "results" / f"{record}.jsonl"
    if not path.exists():
        pytest.skip("the records are not here")
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    records = [line for line in plot.read(path) if line.get("ok")]
    plot.tables(records, [1, 8, 128])
    solves = capsys.readouterr().out.split("factorisation and solve:")[0]
    rows = [line.split(" | ", 3)[3] for line in solves.splitlines() if "(" in line and line.startswith("|")]
    assert len(rows) > 2
    for row in rows:
        assert row in readme, row


def test_gpusolve_was_faster_than_every_peer_on_the_h200():
    pytest.importorskip("matplotlib", reason="bench/python/plot draws with matplotlib, which is not installed")
    plot = module("plot")
    path = FOLDER.parent / "results/h200-python.jsonl"
    if not path.exists():
        pytest.skip("the records are not here")
    ratios = plot.ratios([line for line in plot.read(path) if line.get("ok")], "solve")
    assert {package for _, _, package, _ in ratios} == {"nvmath", "cholespy", "cupy"}
    for cases in ratios.values():
        assert len(cases) > 6
        for matrix, ratio in cases.items():
            assert ratio > 1, matrix
