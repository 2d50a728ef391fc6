"""The examples of the docstrings and of the README."""

import contextlib
import doctest
import importlib
import io
import pathlib
import pkgutil
import re

import numpy as np
import pytest
import scipy.sparse as sp

import gpusolve

NAMES = ["gpusolve"] + [
    name
    for _, name, _ in pkgutil.walk_packages(gpusolve.__path__, "gpusolve.")
    if name not in ("gpusolve._core", "gpusolve._torch", "gpusolve.autograd")
]
WITH_EXAMPLES = ("", "._batch.batch", "._cholesky", "._factor", "._figures", "._sksparse.graphs", "._linalg", ".sksparse", ".sksparse05")


@pytest.mark.parametrize("name", NAMES)
def test_docstrings(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs={"gpusolve": gpusolve, "np": np, "sp": sp})
    assert result.failed == 0
    if name in ["gpusolve" + end for end in WITH_EXAMPLES]:
        assert result.attempted > 0


def test_readme():
    readme = pathlib.Path(__file__).parent.parent / "README.md"
    if not readme.exists():
        pytest.skip("the README is not here")
    result = doctest.testfile(str(readme), module_relative=False)
    assert result.failed == 0 and result.attempted > 0


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/guides/python.md", "docs/guides/batches.md"])
def test_page(page):
    """The program of a page of the project, which prints its residual."""
    root = pathlib.Path(__file__).parents[2]
    if not (root / page).exists() or not (root / "include").exists():
        pytest.skip("the project's pages are not here")
    program = re.search(r"^```python\n(.*?)^```$", (root / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, page, "exec"), {})
    assert float(printed.getvalue()) < 1e-9


@pytest.mark.parametrize("name", ["gpusolve", "gpusolve.sksparse", "gpusolve.sksparse05"])
def test_everything_public_is_documented(name):
    module = importlib.import_module(name)
    for name in module.__all__:
        thing = getattr(module, name)
        assert thing.__doc__, name
        for part, member in vars(thing).items() if isinstance(thing, type) else ():
            if not part.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
                assert getattr(thing, part, member).__doc__ or getattr(member, "__doc__", None), f"{name}.{part}"
