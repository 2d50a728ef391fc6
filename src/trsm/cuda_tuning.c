#include "cuda_tuning.h"

#include <stdatomic.h>

static _Atomic int64_t forced;

void gsv_cuda_force_stop(int64_t rows) {
    atomic_store(&forced, rows);
}

int64_t gsv_cuda_stop(const gsv_triangular *p) {
    const int64_t rows = atomic_load(&forced);
    if (rows > 0)
        return rows;
    return p->vectors <= 64 ? 8192 : 512;
}
