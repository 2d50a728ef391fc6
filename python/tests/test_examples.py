"""The examples run, at small sizes, and their own assertions hold."""

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"
SMALL = {
    "heat": ["--side", "20", "--steps", "40"],
    "random_field": ["--side", "24", "--samples", "30"],
    "modes": ["--side", "20", "--modes", "4"],
    "geodesics": ["--around", "16", "--points", "8"],
    "interior": ["--side", "24"],
    "likelihood": ["--side", "12", "--samples", "10", "--steps", "5"],
}


def test_every_example_is_here():
    if not EXAMPLES.exists():
        pytest.skip("the examples are not here")
    assert {path.stem for path in EXAMPLES.glob("*.py")} - {"picture"} == set(SMALL)

# Runs an example; when it draws, no factor of scikit-sparse may be left: interior.py says why.
NO_FACTOR_LEFT = """
import gc, pathlib, runpy, sys
sys.path.insert(0, str(pathlib.Path(sys.argv[1]).parent))
import picture
save = picture.save

def checked(*arguments):
    left = [o for o in gc.get_objects() if type(o).__name__ == "Factor" and type(o).__module__ == "sksparse.cholmod"]
    assert not left, "a factor of scikit-sparse is left"
    save(*arguments)

picture.save = checked
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("name", SMALL)
def test_example(name, device, tmp_path):
    if not EXAMPLES.exists():
        pytest.skip("the examples are not here")
    pytest.importorskip("matplotlib", reason="the examples draw with matplotlib, which is not installed")
    if device == "cuda":
        pytest.importorskip("cupy", reason="with --device cuda the examples need CuPy, which is not installed")
    if name == "likelihood":
        pytest.importorskip("torch", reason="likelihood.py needs PyTorch, which is not installed", exc_type=ImportError)
    picture = tmp_path / "picture.png"
    command = [sys.executable, "-c", NO_FACTOR_LEFT, str(EXAMPLES / f"{name}.py"), *SMALL[name], "--device", device,
               "--output", str(picture)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300,
                            env={**os.environ, "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(tmp_path), "PYTHONFAULTHANDLER": "1"})
    assert result.returncode == 0, result.stdout + result.stderr
    assert "unknowns" in result.stdout or "points" in result.stdout
    assert picture.stat().st_size > 5000


@pytest.mark.parametrize("name", ["random_field", "interior", "likelihood"])
def test_example_beside_another_scikit_sparse(name, tmp_path):
    """Version 0.5 has a function cholesky, but not that of 0.4."""
    if not EXAMPLES.exists():
        pytest.skip("the examples are not here")
    pytest.importorskip("matplotlib", reason="the examples draw with matplotlib, which is not installed")
    if name == "likelihood":
        pytest.importorskip("torch", reason="likelihood.py needs PyTorch, which is not installed", exc_type=ImportError)
    (tmp_path / "sksparse").mkdir()
    (tmp_path / "sksparse/__init__.py").touch()
    (tmp_path / "sksparse/cholmod.py").write_text("def cholesky(A, *, lower=True, order='default'): raise TypeError\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *SMALL[name], "--device", "cpu", "--output", str(tmp_path / "picture.png")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300,
                            env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(tmp_path)})
    assert result.returncode == 0, result.stdout + result.stderr
    assert "scikit-sparse 0.4 is not installed" in result.stdout


def test_likelihood_says_that_it_needs_pytorch(tmp_path):
    if not EXAMPLES.exists():
        pytest.skip("the examples are not here")
    pytest.importorskip("matplotlib", reason="the examples draw with matplotlib, which is not installed")
    (tmp_path / "torch.py").write_text("raise ImportError('hidden by the test')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    result = subprocess.run([sys.executable, str(EXAMPLES / "likelihood.py")], capture_output=True, text=True, timeout=60,
                            env={**os.environ, "PYTHONPATH": path})
    assert result.returncode == 1 and "likelihood.py needs PyTorch, which is not installed" in result.stderr
