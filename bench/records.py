"""What the scripts that read records of gpusolve-bench --json share."""

STORAGES = ("double", "single")

NAMES = {
    "cholmod": "CHOLMOD",
    "pardiso": "PARDISO",
    "pardiso:one-level": "PARDISO, one level of scheduling",
    "cusparse": "cuSPARSE",
    "cudss": "cuDSS",
    "cudss:fp32": "cuDSS, FP32 factor",
    "cudss:deterministic": "cuDSS, deterministic",
    "cudss:refine2": "cuDSS, 2 steps of refinement",
    "gpusolve:refine": "gpusolve, refined",
    "cholmod:refine": "CHOLMOD, refined",
    "cudss:refine": "cuDSS, refined",
    "cudss:fp32:refine": "cuDSS, FP32 factor, refined",
}


def storage(record):
    """The precision of L's numbers. Records of before it was said have that of their type."""
    return record.get("storage") or ("single" if record["dtype"] in "sc" else "double")


def of_one_storage(records, wanted, fail):
    """Those of the wanted storage; without one those that all have the same. fail(text) does not return."""
    found = sorted({(r["dtype"], storage(r)) for r in records if wanted in (None, storage(r))})
    types = [dtype for dtype, _ in found]
    if len(types) > len(set(types)):
        fail("there are records of L stored in double and in single precision: --storage says which")
    return [r for r in records if wanted in (None, storage(r))]


def refines(peer):
    """Whether it takes as many steps of refinement as gpusolve's accuracy needs."""
    return peer.endswith(":refine")


def own_us(record, peer):
    """gpusolve's time for what the peer has done, or None: the refined solve beside one that refines."""
    return record.get("refine_us") if refines(peer) else record["solve_us"]
