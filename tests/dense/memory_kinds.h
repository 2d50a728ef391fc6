/*
 * Memory of every kind that a CUDA program has, for tests of what a call takes: made on the current device,
 * filled, read back and freed. A program includes this once, after testing.h.
 */
#ifndef GPUSOLVE_MEMORY_KINDS_H
#define GPUSOLVE_MEMORY_KINDS_H

#include <cuda.h>
#include <cuda_runtime_api.h>

typedef enum kind { PAGEABLE, PINNED, MAPPED, REGISTERED, MANAGED, DEVICE, POOL, VIRTUAL, KINDS } kind;

static const char *const kind_names[] = {"pageable", "pinned", "mapped", "registered",
                                         "managed",  "device", "pool",   "virtual"};

typedef struct memory {
    kind kind;
    int device; /* that was current */
    char *values;
    size_t bytes, reserved; /* reserved: of virtual memory */
    CUmemGenericAllocationHandle handle;
} memory;

/* The driver's functions, without linking to it. */
static struct {
    CUresult (*granularity)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags);
    CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                       unsigned long long);
    CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    CUresult (*access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
    CUresult (*unmap)(CUdeviceptr, size_t);
    CUresult (*release)(CUmemGenericAllocationHandle);
    CUresult (*free)(CUdeviceptr, size_t);
} driver;

static inline int driver_function(const char *name, void *function) {
#if CUDART_VERSION >= 12050
    enum cudaDriverEntryPointQueryResult result;
    void *address = NULL;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &address, 11000, cudaEnableDefault, &result);
    memcpy(function, &address, sizeof address);
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess && address;
#else
    (void)name;
    (void)function;
    return 0;
#endif
}

static inline int open_driver(void) {
    return driver_function("cuMemGetAllocationGranularity", &driver.granularity) &&
           driver_function("cuMemCreate", &driver.create) &&
           driver_function("cuMemAddressReserve", &driver.reserve) &&
           driver_function("cuMemMap", &driver.map) && driver_function("cuMemSetAccess", &driver.access) &&
           driver_function("cuMemUnmap", &driver.unmap) && driver_function("cuMemRelease", &driver.release) &&
           driver_function("cuMemAddressFree", &driver.free);
}

static inline int new_virtual(memory *m) {
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = m->device}};
    const CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    size_t unit = 0;
    CUdeviceptr address = 0;
    if (driver.granularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
        return 0;
    m->reserved = (m->bytes + unit - 1) / unit * unit;
    if (driver.create(&m->handle, m->reserved, &prop, 0) != CUDA_SUCCESS ||
        driver.reserve(&address, m->reserved, 0, 0, 0) != CUDA_SUCCESS ||
        driver.map(address, m->reserved, 0, m->handle, 0) != CUDA_SUCCESS ||
        driver.access(address, m->reserved, &access, 1) != CUDA_SUCCESS)
        return 0;
    m->values = (char *)(uintptr_t)address;
    return 1;
}

/* Memory of that kind, on the current device, filled from the host. */
static inline memory new_memory(kind which, const void *host, size_t bytes) {
    memory m = {.kind = which, .bytes = bytes};
    void *values = NULL;
    cudaError_t error = cudaSuccess;
    int made = 1;
    REQUIRE(cudaGetDevice(&m.device) == cudaSuccess);
    switch (which) {
    case PAGEABLE:
        values = malloc(bytes);
        break;
    case PINNED:
        error = cudaHostAlloc(&values, bytes, cudaHostAllocDefault);
        break;
    case MAPPED:
        error = cudaHostAlloc(&values, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
        break;
    case REGISTERED:
        values = malloc(bytes);
        error = cudaHostRegister(values, bytes, cudaHostRegisterDefault);
        break;
    case MANAGED:
        error = cudaMallocManaged(&values, bytes, cudaMemAttachGlobal);
        break;
    case DEVICE:
        error = cudaMalloc(&values, bytes);
        break;
    case POOL:
        error = cudaMallocAsync(&values, bytes, NULL);
        break;
    default:
        made = new_virtual(&m);
        values = m.values;
    }
    m.values = values;
    REQUIRE(made && error == cudaSuccess && m.values);
    REQUIRE(cudaMemcpy(m.values, host, bytes, cudaMemcpyDefault) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    return m;
}

/* Make a device current, after everything that runs on this one and on that one; the one that was. */
static inline int memory_enter(int device) {
    int current = 0;
    CHECK(cudaGetDevice(&current) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaSetDevice(device) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    return current;
}

static inline void read_memory(void *host, const memory *m) {
    const int current = memory_enter(m->device);
    CHECK(cudaMemcpy(host, m->values, m->bytes, cudaMemcpyDefault) == cudaSuccess);
    CHECK(cudaSetDevice(current) == cudaSuccess);
}

static inline void delete_memory(memory *m) {
    const int current = memory_enter(m->device);
    switch (m->kind) {
    case PAGEABLE:
        free(m->values);
        break;
    case PINNED:
    case MAPPED:
        CHECK(cudaFreeHost(m->values) == cudaSuccess);
        break;
    case REGISTERED:
        CHECK(cudaHostUnregister(m->values) == cudaSuccess);
        free(m->values);
        break;
    case POOL:
        CHECK(cudaFreeAsync(m->values, NULL) == cudaSuccess);
        break;
    case VIRTUAL:
        CHECK(driver.unmap((CUdeviceptr)(uintptr_t)m->values, m->reserved) == CUDA_SUCCESS);
        CHECK(driver.release(m->handle) == CUDA_SUCCESS);
        CHECK(driver.free((CUdeviceptr)(uintptr_t)m->values, m->reserved) == CUDA_SUCCESS);
        break;
    default:
        CHECK(cudaFree(m->values) == cudaSuccess);
    }
    CHECK(cudaSetDevice(current) == cudaSuccess);
}

static inline int is_host(kind which) {
    return which <= REGISTERED;
}

#endif
