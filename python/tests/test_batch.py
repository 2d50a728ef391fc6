"""Batches: each member is solved as it is alone, for stacks and lists, in every dtype and layout."""

import gc
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import gpusolve
from conftest import TOLERANCE, backward_error, grid, need_device, package, random

DTYPES = ("float32", "float64", "complex64", "complex128")


def turned(k, dtype=np.float64, side=7):
    """Member k's matrix; all have one pattern."""
    A = grid(side, dtype)
    return (A + sp.diags(np.full(A.shape[0], 0.1 * k))).tocsc().astype(dtype)


def of_other_orders(dtype=np.float64):
    return [grid(side, dtype) for side in (5, 1, 8, 3)]


def check(A, x, b):
    assert backward_error(A, x, b) < TOLERANCE


@pytest.mark.parametrize("mode", ["simplicial", "supernodal"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_stack(device, dtype, mode):
    matrices = [turned(k, dtype) for k in range(6)]
    B = gpusolve.cholesky_batch(matrices, device=device, mode=mode)
    assert len(B) == 6 and B.dtype == dtype and B.info["patterns"] == 1 and B.info["count"] == 6
    assert np.array_equal(B.orders, [49] * 6) and np.array_equal(B.offsets, 49 * np.arange(7))
    for shape in ((6, 49), (6, 49, 3), (6, 49, 0)):
        b = random(shape, dtype)
        x = B.solve(b)
        assert x.shape == shape and x.dtype == dtype
        for A, own_x, own_b in zip(matrices, x, b):
            check(A, own_x, own_b)
        kept = b.copy()
        assert B.solve(b, out=b) is b and np.array_equal(b, x) and (kept.size == 0 or not np.array_equal(b, kept))


def test_layouts_of_a_stack(device):
    matrices = [turned(k) for k in range(4)]
    B = gpusolve.cholesky_batch(matrices, device=device)
    b = random((4, 49, 5))
    x = B.solve(b)
    for A, own_x, own_b in zip(matrices, x, b):
        check(A, own_x, own_b)
    other = np.empty((9, 60, 12))
    for view in (np.asfortranarray(b), other[2:6, 5:54, 3:8], other[::2][:4, :49, ::2][:, :, :5], other[7:3:-1, 48::-1, 4::-1],
                 other.transpose(2, 1, 0)[:4, :49, :5], b.swapaxes(1, 2).copy().swapaxes(1, 2)):
        view[...] = b
        assert np.allclose(B.solve(view), x, rtol=1e-12, atol=1e-12)
        kept = view.copy()
        out = np.full_like(view, 7)
        assert B.solve(view, out=out) is out and np.allclose(out, x, rtol=1e-12, atol=1e-12)
        assert B.solve(b, out=view) is view and np.allclose(view, x, rtol=1e-12, atol=1e-12)
        view[...] = kept
    same = np.broadcast_to(b[0], b.shape)
    assert np.allclose(B.solve(same), [gpusolve.cholesky(A, device=device).solve(b[0]) for A in matrices], rtol=1e-12, atol=1e-12)


def test_other_dtypes(device):
    matrices = [turned(k) for k in range(3)]
    B = gpusolve.cholesky_batch(matrices, device=device)
    b = random((3, 49, 2))
    x = B.solve(b)
    assert np.allclose(B.solve(b + 2j * b), x + 2j * x)
    whole = np.arange(3 * 49).reshape(3, 49)
    assert np.allclose(B.solve(whole), B.solve(whole.astype(float)))
    half = b.astype(np.float16)
    assert B.solve(half).dtype == np.float64 and np.allclose(B.solve(half), B.solve(half.astype(float)))
    out = np.zeros(b.shape, complex)
    assert B.solve(b, out=out) is out and np.allclose(out, x)
    with pytest.raises(TypeError):
        B.solve(b + 1j * b, out=np.zeros(b.shape))
    with pytest.raises(TypeError):
        B.solve(np.full((3, 49), "one"))
    mixed = [b[0], b[1].astype(np.float32), b[2] + 0j]
    got = B.solve(mixed)
    assert [g.dtype for g in got] == [np.float64, np.float64, np.complex128] and np.allclose(got, B.solve(np.array(mixed)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_list(device, dtype):
    matrices = of_other_orders(dtype)
    B = gpusolve.cholesky_batch(matrices, device=device)
    blocks = [random((A.shape[0], k), dtype) if k != 1 else random(A.shape[0], dtype) for k, A in enumerate(matrices)]
    x = B.solve(blocks)
    assert isinstance(x, list) and [own.shape for own in x] == [own.shape for own in blocks]
    for A, own_x, own_b in zip(matrices, x, blocks):
        check(A, own_x, own_b)
    outs = tuple(np.empty((*own.shape, 2), dtype)[..., 0] for own in blocks)
    assert B.solve(tuple(blocks), out=outs) is not None
    for own, wanted in zip(outs, x):
        assert np.allclose(own, wanted, rtol=1e-4 if np.finfo(dtype).bits == 32 else 1e-12, atol=1e-6)


def test_systems(device):
    matrices = [turned(k) for k in range(3)]
    B, b = gpusolve.cholesky_batch(matrices, device=device), random((3, 49, 2))
    members = [gpusolve.cholesky(A, device=device) for A in matrices]
    for system in ("A", "LDLt", "LD", "DLt", "L", "Lt", "D", "P", "Pt"):
        wanted = [F.solve(own, system=system) for F, own in zip(members, b)]
        assert np.allclose(B.solve(b, system=system), wanted, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="system"):
        B.solve(b, system="B")


def test_active(device):
    B, b = gpusolve.cholesky_batch([turned(k) for k in range(5)], device=device), random((5, 49, 2))
    x, active = B.solve(b), np.array([True, False, True, True, False])
    for order in "CF":
        out = np.full(b.shape, 7.0, order=order)
        assert B.solve(b, out=out, active=active) is out
        assert np.allclose(out[active], x[active], rtol=1e-12, atol=1e-12) and (out[~active] == 7).all()
    out = np.full(b.shape, 7 + 3j)
    B.solve(b, out=out, active=[0, 1, 0, 0, 0])
    assert np.allclose(out[1], x[1]) and (np.delete(out, 1, 0) == 7 + 3j).all()
    blocks = [np.full((49, 2), 5.0) for _ in range(5)]
    B.solve(list(b), out=blocks, active=active)
    assert all(np.allclose(own, wanted) if on else (own == 5).all() for own, wanted, on in zip(blocks, x, active))
    with pytest.raises(ValueError, match="out"):
        B.solve(b, active=active)
    with pytest.raises(ValueError, match="active"):
        B.solve(b, out=out, active=[True])


def test_precision_and_storage(device):
    matrices = [turned(k) for k in range(4)]
    b = random((4, 49))
    double = gpusolve.cholesky_batch(matrices, device=device)
    for arguments, dtype in (({"precision": "single"}, np.float32), ({"storage": "single"}, np.float64)):
        B = gpusolve.cholesky_batch(matrices, device=device, **arguments)
        x = B.solve(b.astype(dtype))
        error = abs(x - double.solve(b)).max() / abs(x).max()
        assert B.dtype == dtype and x.dtype == dtype and 0 < error < 1e-4
        assert B.info["factor_bytes"] < double.info["factor_bytes"]
        B.refresh([2 * matrices[1]], first=1)
        assert np.allclose(B.solve(b.astype(dtype))[1], x[1] / 2, rtol=1e-4)
    assert gpusolve.cholesky_batch([turned(1, "float32"), turned(2)], device=device).dtype == np.float64
    both = gpusolve.cholesky_batch([turned(1), turned(2, "complex128")], device=device)
    assert both.dtype == np.complex128
    check(turned(1), both.solve(b[:2])[0], b[0])


def test_refresh(device):
    matrices = [turned(k) for k in range(6)]
    B, b = gpusolve.cholesky_batch(matrices, device=device), random((6, 49))
    B.solve(b)
    assert B.refresh([3 * matrices[2], 4 * matrices[3]], first=2) is B
    matrices[2], matrices[3] = 3 * matrices[2], 4 * matrices[3]
    B.refresh([])
    for A, own_x, own_b in zip(matrices, B.solve(b), b):
        check(A, own_x, own_b)
    assert np.allclose(B.logdet(), [np.linalg.slogdet(A.toarray())[1] for A in matrices], rtol=1e-12)
    with pytest.raises(gpusolve.NotPositiveDefiniteError, match=r"matrices\[1\]") as caught:
        B.refresh([matrices[0], -matrices[1]])
    assert caught.value.column is not None
    with pytest.raises(ValueError, match="pattern"):
        B.refresh([sp.eye(49)])
    with pytest.raises(ValueError, match="first"):
        B.refresh(matrices, first=1)
    with pytest.raises(TypeError, match="complex"):
        B.refresh([turned(0, "complex128")])
    for A, own_x, own_b in zip(matrices, B.solve(b), b):
        check(A, own_x, own_b)


def test_wrong_arguments(device):
    B = gpusolve.cholesky_batch(of_other_orders(), device=device)
    with pytest.raises(ValueError, match="list"):
        B.solve(np.zeros((4, 25)))
    with pytest.raises(ValueError, match=r"b: has 1 blocks"):
        B.solve([np.zeros(25)])
    with pytest.raises(ValueError, match=r"b\[1\]"):
        B.solve([np.zeros(25), np.zeros(2), np.zeros(64), np.zeros(9)])
    one = gpusolve.cholesky_batch([turned(0), turned(1)], device=device)
    for shape in ((2, 48), (3, 49), (49,), (2, 49, 1, 1)):
        with pytest.raises(ValueError, match="shape"):
            one.solve(np.zeros(shape))
    with pytest.raises(ValueError, match="out"):
        one.solve(np.zeros((2, 49)), out=np.zeros((2, 48)))
    with pytest.raises(TypeError, match="list"):
        one.solve([np.zeros(49)] * 2, out=np.zeros((2, 49)))
    with pytest.raises(TypeError, match="one array"):
        one.solve(np.zeros((2, 49)), out=[np.zeros(49)] * 2)
    with pytest.raises(gpusolve.NotPositiveDefiniteError, match=r"matrices\[1\]"):
        gpusolve.cholesky_batch([turned(0), -turned(1)], device=device)
    with pytest.raises(ValueError, match=r"matrices\[1\].*NaN"):
        gpusolve.cholesky_batch([turned(0), turned(0) * np.nan], device=device, triangle="lower")
    with pytest.raises(ValueError, match=r"matrices\[0\].*square"):
        gpusolve.cholesky_batch([sp.eye(2, 3)], device=device)
    with pytest.raises(ValueError, match="storage"):
        gpusolve.cholesky_batch([turned(0)], device=device, storage="half")
    with pytest.raises(TypeError):
        gpusolve.Batch()


def test_few_members(device):
    none = gpusolve.cholesky_batch([], device=device)
    assert len(none) == 0 and none.solve([]) == [] and none.solve(np.zeros((0, 3))).shape == (0, 3) and none.logdet().size == 0
    one = gpusolve.cholesky_batch([turned(0)], device=device)
    for b in (random((1, 49)), random((1, 49, 4))):
        check(turned(0), one.solve(b)[0], b[0])


def test_lifetime(device):
    with gpusolve.cholesky_batch([turned(0)], device=device) as B:
        assert "1 members" in repr(B) and B.device == ("cpu" if device == "cpu" else B.device)
    assert B.closed and "closed" in repr(B)
    for call in (lambda: B.solve(np.zeros((1, 49))), lambda: B.refresh([]), B.logdet, lambda: B.info, lambda: B.device):
        with pytest.raises(ValueError, match="closed"):
            call()
    B.close()
    gc.collect()


def test_threads_share_a_batch(device):
    matrices = [turned(k) for k in range(8)]
    B, wrong = gpusolve.cholesky_batch(matrices, device=device, threads=1), []
    right = B.solve(np.ones((8, 49)))

    def work(k):
        for j in range(20):
            columns = 1 + (j + k) % 3
            x = B.solve(np.full((8, 49, columns), k + 1.0))
            if not np.allclose(x, (k + 1) * right[:, :, None], rtol=1e-10):
                wrong.append(k)
            if k == 0 and j % 5 == 0:
                B.refresh(matrices)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ----------------------------------------------------------------------------------------- other packages


def test_torch(device):
    torch = package("torch") if device == "cuda" else pytest.importorskip("torch")
    matrices = [turned(k) for k in range(3)]
    B, host = gpusolve.cholesky_batch(matrices, device=device), random((3, 49, 4))
    wanted = B.solve(host)
    b = torch.tensor(host, device=device)
    for stack in (b, b.transpose(0, 2).contiguous().transpose(0, 2), b.flip(1).flip(1), b.to(torch.float32), b + 1j * b):
        x = B.solve(stack)
        assert isinstance(x, torch.Tensor) and x.device == stack.device and x.shape == stack.shape
        tolerance = 1e-5 if stack.dtype == torch.float32 else 1e-11
        assert np.allclose(x.cpu().numpy(), wanted * (1 + 1j) if stack.is_complex() else wanted, rtol=tolerance, atol=tolerance)
    out = torch.full_like(b, 7.0)
    active = torch.tensor([True, False, True], device=device)
    assert B.solve(b, out=out, active=active) is out
    assert np.allclose(out[[0, 2]].cpu().numpy(), wanted[[0, 2]]) and (out[1] == 7).all()
    blocks = B.solve(list(b))
    assert all(np.allclose(x.cpu().numpy(), own, rtol=1e-11, atol=1e-11) for x, own in zip(blocks, wanted))
    with pytest.raises(TypeError, match="package"):
        B.solve([b[0], host[1], b[2]])


def test_torch_gradients(device):
    torch = package("torch") if device == "cuda" else pytest.importorskip("torch")
    B = gpusolve.cholesky_batch([turned(k, side=2) for k in range(3)], device=device)
    b = torch.tensor(random((3, 4, 2)), device=device, requires_grad=True)
    for system in ("A", "L", "Lt", "P"):
        assert torch.autograd.gradcheck(lambda b, s=system: B.solve(b, system=s), (b,)), system
    with pytest.raises(TypeError, match="out"):
        B.solve(b, out=torch.empty_like(b))
    with pytest.raises(TypeError, match="stacks"):
        B.solve(list(b))


def test_jax(device):
    jax = package("jax") if device == "cuda" else pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    B, host = gpusolve.cholesky_batch([turned(k) for k in range(3)], device=device), random((3, 49))
    b = jax.numpy.asarray(host)
    x = B.solve(b)
    assert isinstance(x, jax.Array) and x.devices() == b.devices() and np.allclose(np.asarray(x), B.solve(host))
    assert all(isinstance(own, jax.Array) for own in B.solve([b[0], b[1], b[2]]))
    out = np.full(host.shape, 7.0)
    assert B.solve(b, out=out, active=[1, 0, 1]) is out and np.allclose(out[[0, 2]], np.asarray(x)[[0, 2]]) and (out[1] == 7).all()
    with pytest.raises(TypeError, match="immutable"):
        B.solve(b, out=b)


def test_cupy():
    need_device()
    cupy = package("cupy")
    matrices = [turned(k) for k in range(5)]
    B, host = gpusolve.cholesky_batch(matrices, device="cuda"), random((5, 49, 3))
    wanted = B.solve(host)
    for order in "CF":
        b = cupy.array(host, order=order)
        x = B.solve(b)
        assert isinstance(x, cupy.ndarray) and np.allclose(x.get(), wanted, rtol=1e-11, atol=1e-11)
        assert B.solve(b, out=b) is b and cupy.array_equal(b, x)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        b = cupy.asarray(host)
        active = cupy.array([1, 0, 1, 1, 0], cupy.uint8)
        out = cupy.full_like(b, 7)
        B.solve(b, out=out, active=active)
        active[...] = 0  # later on the stream
        got = out.get()
    assert np.allclose(got[[0, 2, 3]], wanted[[0, 2, 3]]) and (got[[1, 4]] == 7).all()
    blocks = B.solve([cupy.asarray(own) for own in host])
    assert all(np.allclose(x.get(), own, rtol=1e-11, atol=1e-11) for x, own in zip(blocks, wanted))
    on_host = gpusolve.cholesky_batch(matrices, device="cpu")
    with pytest.raises(ValueError, match="on the host"):
        on_host.solve(cupy.asarray(host))
    with pytest.raises(ValueError, match="on the host"):
        on_host.solve(host, out=host.copy(), active=cupy.ones(5, bool))


def test_cupy_graph():
    need_device()
    cupy = package("cupy")
    matrices = [turned(k) for k in range(5)]
    B, host = gpusolve.cholesky_batch(matrices, device="cuda"), random((5, 49))
    b, x = cupy.asarray(host), cupy.empty((5, 49))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        B.solve(b, out=x)
        stream.begin_capture()
        B.solve(b, out=x)
        graph = stream.end_capture()
        b *= 2
        graph.launch(stream)
        stream.synchronize()
        assert np.allclose(x.get(), 2 * B.solve(host), rtol=1e-11, atol=1e-11)
