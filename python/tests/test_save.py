"""Factors in files: F.save and gpusolve.load."""

import pathlib

import numpy as np
import pytest
import scipy.sparse as sp

import gpusolve
from conftest import grid, random

DTYPES = ("float32", "float64", "complex64", "complex128")
WAYS = ({}, {"mmap": True}, {"mmap": True, "verify": False})


@pytest.mark.parametrize("mode", ["simplicial", "supernodal"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip(device, tmp_path, dtype, mode):
    A = grid(9, dtype)
    F = gpusolve.cholesky(A, mode=mode, device=device)
    b = random((81, 3)).astype(dtype)
    path = tmp_path / "factor"
    F.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["factor"]
    tolerance = 1e-4 if np.finfo(dtype).bits == 32 else 1e-12
    for way in WAYS:
        G = gpusolve.load(path, device=device, **way)
        assert G.dtype == F.dtype and G.shape == F.shape and G.device == F.device
        assert np.array_equal(G.perm, F.perm) and not G.perm.flags.writeable
        assert np.allclose(G.solve(b), F.solve(b), rtol=tolerance, atol=tolerance)
        assert np.isclose(G.logdet(), F.logdet(), rtol=tolerance)
        for system in ("L", "Lt", "P", "Pt"):
            assert np.allclose(G.solve(b, system=system), F.solve(b, system=system), rtol=tolerance, atol=tolerance)
        assert np.linalg.norm(A @ G.solve(b) - b) <= 100 * tolerance * np.linalg.norm(b)


def test_ldl(device, tmp_path):
    # L = [1 0; 0.5 1], D = [4, -3]: indefinite
    F = gpusolve.Factor.from_arrays("ldl", [4.0, 0.5, -3.0], p=[0, 2, 3], i=[0, 1, 1], device=device)
    F.save(tmp_path / "ldl")
    G = gpusolve.load(tmp_path / "ldl", device=device)
    b = np.array([6.0, -1.0])
    assert np.allclose(G.solve(b), F.solve(b), rtol=1e-14)
    assert G.slogdet()[0] == -1 and np.isclose(G.slogdet()[1], np.log(12), rtol=1e-14)


def test_permutation(device, tmp_path):
    n = 70000  # the permutation is found in halves of sixteen bits
    perm = np.random.default_rng(1).permutation(n)
    for dtype in ("float32", "complex128"):
        F = gpusolve.Factor.from_arrays("ll", np.full(n, 2, dtype), p=np.arange(n + 1), i=np.arange(n), perm=perm, device=device)
        F.save(tmp_path / "permuted")
        assert np.array_equal(gpusolve.load(tmp_path / "permuted", device=device).perm, perm)


def test_empty(device, tmp_path):
    F = gpusolve.Factor.from_arrays("ll", np.empty(0), n=0, p=[0], i=[], device=device)
    F.save(tmp_path / "empty")
    G = gpusolve.load(tmp_path / "empty", device=device)
    assert G.shape == (0, 0) and len(G.perm) == 0 and G.solve(np.empty(0)).shape == (0,)


def test_paths(device, tmp_path):
    F = gpusolve.cholesky(grid(3), device=device)
    b = random((9,))
    for path in (tmp_path / "päth", str(tmp_path / "string"), bytes(tmp_path / "bytes"), pathlib.PurePath(tmp_path / "pure")):
        F.save(path)
        assert np.allclose(gpusolve.load(path, device=device).solve(b), F.solve(b), rtol=1e-14)
    F.save(tmp_path / "string")  # it is replaced
    for path in ("a\0b", b"a\0b"):
        with pytest.raises(ValueError, match="null"):
            F.save(path)
        with pytest.raises(ValueError, match="null"):
            gpusolve.load(path)
    for path in (None, 7, 1.5):
        with pytest.raises(TypeError):
            F.save(path)
        with pytest.raises(TypeError):
            gpusolve.load(path)


def test_refresh_of_a_loaded_factor(device, tmp_path):
    F = gpusolve.Factor.from_arrays("ll", [2.0, 1.0, 3.0], p=[0, 2, 3], i=[0, 1, 1], device=device)
    F.save(tmp_path / "factor")
    G = gpusolve.load(tmp_path / "factor", device=device)
    with pytest.raises(TypeError, match="arrays"):
        G.refresh(sp.eye(2))


def test_faults(device, tmp_path):
    F = gpusolve.cholesky(grid(5), device=device)
    path = tmp_path / "factor"
    with pytest.raises(OSError, match="missing"):
        F.save(tmp_path / "missing" / "factor")
    with pytest.raises(OSError, match="nowhere"):
        gpusolve.load(tmp_path / "nowhere", device=device)
    F.save(path)
    whole = path.read_bytes()
    for what, content in (
        ("truncated", whole[:-1]),
        ("damaged", whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]),
        ("is not a factor", b"%%MatrixMarket matrix" + whole[21:]),
        ("is not a factor|truncated", b""),
    ):
        path.write_bytes(content)
        for way in WAYS[:2]:
            with pytest.raises(ValueError, match=what):
                gpusolve.load(path, device=device, **way)
    with pytest.raises(ValueError, match="device"):
        gpusolve.load(path, device="gpu")
    F.close()
    with pytest.raises(ValueError, match="closed"):
        F.save(path)
