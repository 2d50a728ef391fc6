"""Arrays of CuPy, PyTorch and JAX: package, dtype, device, layout, streams, graphs, gradients."""

import numpy as np
import pytest
from conftest import TOLERANCE, backward_error, grid, need_device, package, random

import gpusolve

DTYPES = ("float32", "float64", "complex64", "complex128")


# ------------------------------------------------------------------------------------------------- CuPy


@pytest.fixture
def cupy():
    need_device()
    return package("cupy")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [None, 1, 3, 40])
def test_cupy(cupy, dtype, columns):
    A = grid(9, dtype)
    F = gpusolve.cholesky(A, device="cuda")
    host = random((81,) if columns is None else (81, columns), dtype)
    for order in "CF":
        b = cupy.array(host, order=order)
        x = F.solve(b)
        assert isinstance(x, cupy.ndarray) and x.dtype == b.dtype and x.shape == b.shape
        assert columns == 1 or x.strides == b.strides  # a single column has no distance to the next
        assert x.flags.c_contiguous == b.flags.c_contiguous and x.flags.f_contiguous == b.flags.f_contiguous
        assert backward_error(A, x.get(), host) < TOLERANCE
        assert np.array_equal(b.get(), host)
        out = cupy.full_like(b, np.nan)
        assert F.solve(b, out=out) is out
        assert cupy.array_equal(out, x)
        assert F.solve(b, out=b) is b
        assert cupy.array_equal(b, x)


def test_cupy_layouts_and_dtypes(cupy):
    A = grid(4)
    F = gpusolve.cholesky(A, device="cuda")
    host = random((16, 5))
    for b in (cupy.asarray(np.repeat(host, 2, axis=0))[::2], cupy.asarray(host[::-1].copy())[::-1],
              cupy.asarray(np.repeat(host, 2, axis=1))[:, ::2]):
        assert backward_error(A, F.solve(b).get(), host) < TOLERANCE
        assert F.solve(b, out=b) is b
        assert backward_error(A, b.get(), host) < TOLERANCE
    for name in ("int32", "float16", "float32", "complex64", "bool"):
        b = cupy.asarray(host).astype(name) if name != "complex64" else cupy.asarray(host + 1j).astype(name)
        x = F.solve(b)
        assert x.dtype == np.result_type(name, "float64")
        assert np.allclose(A @ x.get(), b.get())
    with pytest.raises(ValueError, match="b: has the shape"):
        F.solve(cupy.zeros(15))
    with pytest.raises(TypeError):
        F.solve(cupy.zeros(16), out=cupy.zeros(16, int))


def test_cupy_arrays_and_factors_on_the_host(cupy):
    F = gpusolve.cholesky(grid(4), device="cpu")
    with pytest.raises(ValueError, match="on the host"):
        F.solve(cupy.ones(16))
    with pytest.raises(ValueError, match="on the host"):
        F.solve(np.ones(16), out=cupy.ones(16))


def test_cupy_mixed_with_numpy(cupy):
    A = grid(4)
    F = gpusolve.cholesky(A, device="cuda")
    out = np.empty(16)
    assert F.solve(cupy.ones(16), out=out) is out and np.allclose(A @ out, 1)
    out = cupy.empty(16)
    assert F.solve(np.ones(16), out=out) is out and np.allclose(A @ out.get(), 1)


def test_cupy_matrices(cupy):
    import cupyx.scipy.sparse as csp

    A = grid(5)
    F = gpusolve.cholesky(csp.csr_matrix(A))
    assert np.allclose(A @ F.solve(np.ones(25)), 1)
    F.refresh(csp.csc_matrix(2 * A))
    assert np.allclose(2 * A @ F.solve(np.ones(25)), 1)


def test_cupy_streams(cupy):
    A = grid(20)
    F = gpusolve.cholesky(A, device="cuda")
    host = random((400, 6))
    expected = F.solve(host)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(20)]
    results = []
    for k in range(60):
        with streams[k % 20]:
            b = cupy.asarray(host) * (k + 1)
            results.append(F.solve(b))
    for stream in streams:
        stream.synchronize()
    for k, x in enumerate(results):
        assert np.allclose(x.get(), (k + 1) * expected)
    b = cupy.asarray(host)
    for stream in (streams[0], streams[0].ptr):
        x = F.solve(b, stream=stream)
        streams[0].synchronize()
        assert np.array_equal(x.get(), F.solve(b).get())
    with pytest.raises(TypeError, match="stream"):
        F.solve(b, stream="0")


def test_cupy_graph(cupy):
    A = grid(10)
    F = gpusolve.cholesky(A, device="cuda")
    stream = cupy.cuda.Stream(non_blocking=True)
    b, x = cupy.ones((100, 3)), cupy.zeros((100, 3))
    with stream:
        F.solve(b, out=x)  # so that the workspace is there
        stream.begin_capture()
        F.solve(b, out=x)
        F.solve(x, out=x)
        graph = stream.end_capture()
        for k in range(3):
            b[...] = k + 1
            graph.launch(stream)
            stream.synchronize()
            assert np.allclose(A @ (A @ x.get()), k + 1)
            assert np.allclose(A @ F.solve(b).get(), k + 1)  # in a workspace of its own


def test_cupy_solvers(cupy):
    import cupyx.scipy.sparse as csp
    import cupyx.scipy.sparse.linalg as cspla

    A = grid(12)
    F = gpusolve.cholesky(A, device="cuda")
    b = cupy.asarray(random(144))
    x, flag = cspla.cg(csp.csr_matrix(A), b, M=F.as_linear_operator(package="cupy"), maxiter=3)
    assert flag == 0 and np.allclose(A @ x.get(), b.get())


# ----------------------------------------------------------------------------------------------- PyTorch


@pytest.fixture
def torch():
    return package("torch")


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch(torch, device, dtype):
    A = grid(9, dtype)
    F = gpusolve.cholesky(A, device=device)
    for shape in ((81,), (81, 3), (81, 40)):
        host = random(shape, dtype)
        b = torch.tensor(host, device=device)
        for b in (b, b.t().contiguous().t()) if len(shape) == 2 else (b,):
            x = F.solve(b)
            assert isinstance(x, torch.Tensor) and x.dtype == b.dtype and x.device == b.device
            assert x.stride() == b.stride()
            assert backward_error(A, x.cpu().numpy(), host) < TOLERANCE
            out = torch.full_like(b, float("nan"))
            assert F.solve(b, out=out) is out and torch.equal(out, x)
        conjugate = b.conj()
        assert backward_error(A, F.solve(conjugate).cpu().numpy(), host.conj()) < TOLERANCE
        out = torch.full_like(b, float("nan")).conj()  # a complex tensor that is conjugated when it is read
        assert F.solve(b, out=out) is out and torch.equal(out.resolve_conj(), x)


def test_torch_layouts_and_dtypes(torch, device):
    A = grid(4)
    F = gpusolve.cholesky(A, device=device)
    host = random((16, 6))
    wide = torch.tensor(host, device=device)
    for b in (wide[:, ::2], wide[:, 1], wide.flip(1), wide[:, :1].expand(16, 4)):
        x = F.solve(b)
        assert x.shape == b.shape and backward_error(A, x.cpu().numpy(), b.cpu().numpy()) < TOLERANCE
    for name in ("int32", "float16", "bfloat16", "float32", "complex64", "bool"):
        b = wide.to(getattr(torch, name))
        x = F.solve(b)
        assert x.dtype == (torch.complex128 if name == "complex64" else torch.float64)
        assert np.allclose(A @ x.cpu().numpy(), b.to(x.dtype).cpu().numpy())
    with pytest.raises(ValueError, match="b: has the shape"):
        F.solve(wide[1:])
    with pytest.raises(TypeError, match="sparse"):
        F.solve(torch.eye(16).to_sparse())
    with pytest.raises(TypeError, match="out"):
        F.solve(wide, out=wide.to(torch.int32))


def test_torch_gradients(torch, device):
    for dtype in ("float64", "complex128"):
        F = gpusolve.cholesky(grid(3, dtype), device=device)
        b = torch.tensor(random((9, 2), dtype), device=device, requires_grad=True)
        for system in ("A", "LDLt", "LD", "DLt", "L", "Lt", "D", "P", "Pt"):
            assert torch.autograd.gradcheck(lambda b, s=system: F.solve(b, system=s), (b,)), system
        assert torch.autograd.gradgradcheck(F.solve, (b,))
        with pytest.raises(TypeError, match="out"):
            F.solve(b, out=torch.empty_like(b))
        with torch.no_grad():
            assert not F.solve(b).requires_grad
    real = torch.tensor(random(9), device=device, requires_grad=True)
    F.solve(real).abs().sum().backward()
    assert real.grad.dtype == torch.float64


def test_torch_gradients_of_a(torch, device):
    import scipy.sparse as sp

    from gpusolve.autograd import Pattern

    L = sp.coo_matrix(sp.tril(grid(3)))
    shuffled = np.random.default_rng(3).permutation(L.nnz)
    rows, cols = L.row[shuffled], L.col[shuffled]
    pattern = Pattern(rows, cols, 9, device=device)
    values = torch.tensor(L.data[shuffled], device=device, requires_grad=True)
    b = torch.tensor(random((9, 2)), device=device, requires_grad=True)
    dense = torch.zeros((9, 9), dtype=torch.float64, device=device)
    dense = dense.index_put((torch.as_tensor(rows, device=device).long(), torch.as_tensor(cols, device=device).long()), values)
    dense = dense + torch.tril(dense, -1).t()
    assert torch.allclose(dense @ pattern.solve(values, b), b)
    assert torch.allclose(pattern.logdet(values), torch.logdet(dense))
    assert torch.autograd.gradcheck(pattern.solve, (values, b))
    assert torch.autograd.gradcheck(lambda values: pattern.solve(values, b[:, 0].detach()), (values,))
    assert torch.autograd.gradcheck(pattern.logdet, (values,))
    (expected,) = torch.autograd.grad(torch.logdet(dense) + torch.linalg.solve(dense, b).sum(), values)
    (found,) = torch.autograd.grad(pattern.logdet(values) + pattern.solve(values, b).sum(), values)
    assert torch.allclose(found, expected)
    # Values that change between forward and backward.
    one, two = pattern.logdet(values), pattern.logdet(2 * values)
    assert torch.allclose(torch.autograd.grad(one, values)[0], torch.autograd.grad(two, values)[0])
    with pytest.raises(gpusolve.NotPositiveDefiniteError):
        pattern.logdet(-values)
    assert torch.allclose(pattern.logdet(values), one)
    with pytest.raises(ValueError, match="values"):
        pattern.solve(values[1:], b)
    for wrong in (([0], [1]), ([0, 0], [0, 0]), ([9], [0]), ([0, 1], [0])):
        with pytest.raises(ValueError, match="rows"):
            Pattern(*wrong, 9)


def test_torch_graph(torch):
    need_device()
    A = grid(10)
    F = gpusolve.cholesky(A, device="cuda")
    b = torch.ones((100, 3), device="cuda", dtype=torch.float64)
    x = torch.zeros_like(b)
    F.solve(b, out=x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        F.solve(b, out=x)
        y = F.solve(x)
    for k in range(3):
        b.fill_(k + 1.0)
        graph.replay()
        torch.cuda.synchronize()
        assert np.allclose(A @ x.cpu().numpy(), k + 1)
        assert np.allclose(A @ y.cpu().numpy(), x.cpu().numpy())
        assert np.allclose(A @ F.solve(b).cpu().numpy(), k + 1)


def test_torch_streams(torch):
    need_device()
    A = grid(20)
    F = gpusolve.cholesky(A, device="cuda")
    b = torch.tensor(random((400, 6)), device="cuda")
    expected = F.solve(b)
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(4)]
    results = []
    for k in range(40):
        with torch.cuda.stream(streams[k % 4]):
            results.append(F.solve(b * (k + 1)))
    torch.cuda.synchronize()
    for k, x in enumerate(results):
        assert torch.allclose(x, (k + 1) * expected)
    x = F.solve(b, stream=streams[0])
    streams[0].synchronize()
    assert torch.equal(x, expected)


# --------------------------------------------------------------------------------------------------- JAX


@pytest.fixture
def jax():
    jax = package("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


@pytest.mark.parametrize("dtype", DTYPES)
def test_jax(jax, device, dtype):
    A = grid(9, dtype)
    F = gpusolve.cholesky(A, device=device)
    place = jax.devices(device)[0]
    for shape in ((81,), (81, 3), (81, 40)):
        host = random(shape, dtype)
        b = jax.device_put(host, place)
        x = F.solve(b)
        assert isinstance(x, jax.Array) and x.dtype == b.dtype and x.devices() == b.devices()
        assert backward_error(A, np.asarray(x), host) < TOLERANCE
        assert np.array_equal(np.asarray(b), host)
    part = F.selection([2], [3, 4, 5]).solve(jax.device_put(np.ones(1, dtype), place))
    assert isinstance(part, jax.Array) and part.shape == (3,)


def test_jax_dtypes(jax, device):
    A = grid(4)
    F = gpusolve.cholesky(A, device=device)
    place = jax.devices(device)[0]
    for name in ("int32", "float32", "complex64", "bfloat16"):
        b = jax.device_put(jax.numpy.arange(16).astype(name), place)
        x = F.solve(b)
        assert x.dtype == (np.complex128 if name == "complex64" else np.float64)
        assert np.allclose(A @ np.asarray(x), np.arange(16))
    with pytest.raises(TypeError, match="immutable"):
        F.solve(b, out=b)
    with pytest.raises(ValueError, match="b: has the shape"):
        F.solve(b[1:])
    with pytest.raises(TypeError, match="traced"):
        jax.jit(F.solve)(b)
