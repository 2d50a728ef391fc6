"""Opens the C library, with the CUDA backend if CUDA's libraries are found; finds CHOLMOD.

The package carries no library of NVIDIA's and none of SuiteSparse's. Environment variables:

GPUSOLVE_LIBRARY
    Path of a libgpusolve.so.0 to use in place of the package's own.
GPUSOLVE_CHOLMOD
    Path of the libcholmod to use.
"""

import ctypes
import ctypes.util
import glob
import os
import sys

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
_SONAME = "libgpusolve.so.0"
_reasons: list[str] = []


def _nvidia_folders():
    """Folders of PyPI's nvidia packages, in the order of sys.path."""
    for path in sys.path:
        for pattern in ("nvidia/cu*/lib", "nvidia/cublas/lib"):
            yield from sorted(glob.glob(os.path.join(path, pattern)), reverse=True)


def _open_with_cuda(path):
    """Open the library with the CUDA backend; cuBLAS may have to be opened first. Returns whether it went well."""
    try:
        ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
        return True
    except OSError as error:
        _reasons.append(str(error))
        needed = str(error).split(":")[0]
    for folder in _nvidia_folders():
        cublas = os.path.join(folder, needed)
        if not os.path.exists(cublas):
            continue
        try:
            ctypes.CDLL(cublas, mode=ctypes.RTLD_LOCAL)
            ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
            return True
        except OSError as error:
            _reasons.append(str(error))
    return False


def load():
    """Open libgpusolve, so that _core finds it loaded. Returns its path."""
    named = os.environ.get("GPUSOLVE_LIBRARY")
    if named:
        if not _open_with_cuda(named):
            raise ImportError("GPUSOLVE_LIBRARY: " + "; ".join(_reasons))
        return named
    path = os.path.join(_FOLDER, "cuda", _SONAME)
    if not os.path.exists(path):
        _reasons.append("this build of gpusolve has no CUDA backend")
    elif _open_with_cuda(path):
        return path
    path = os.path.join(_FOLDER, "host", _SONAME)
    try:
        ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        raise ImportError("; ".join([*_reasons, str(error)])) from None
    return path


def why_no_cuda():
    """The reasons why the CUDA backend was not opened, as the end of a sentence; "" if it was."""
    return " (" + "; ".join(_reasons) + ")" if _reasons else ""


def cholmod_candidates():
    """Names and paths under which CHOLMOD may be found, the best first."""
    named = os.environ.get("GPUSOLVE_CHOLMOD")
    if named:
        return [named]
    names = ["libcholmod.so.5", "libcholmod.so.4", "libcholmod.so.3"]
    paths = [os.path.join(sys.prefix, "lib", name) for name in names]
    paths = [path for path in paths if os.path.exists(path)]  # conda's
    found = ctypes.util.find_library("cholmod")
    return paths + names + ([found] if found and found not in names else [])


_cholmod_version = None


def open_cholmod():
    """Open CHOLMOD if it is not open yet. Returns its version, such as "5.3.0"."""
    global _cholmod_version
    if _cholmod_version is None:
        from . import _core

        try:
            _cholmod_version = _core.open_cholmod(cholmod_candidates())
        except NotImplementedError as error:
            raise ImportError(
                "gpusolve.cholesky needs CHOLMOD, version 3, 4 or 5, to factorise, and finds none. Install it "
                "(Debian and Ubuntu: apt-get install libsuitesparse-dev; Fedora: dnf install suitesparse; "
                "conda: conda install -c conda-forge suitesparse) or name it in GPUSOLVE_CHOLMOD. "
                f"Tried:{error}"
            ) from None
    return _cholmod_version
