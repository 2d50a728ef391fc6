#include "tuning.h"

#include <stdatomic.h>

#include "leaf/leaf.h"

static _Atomic int64_t forced_stop, forced_few, forced_serial;
static _Atomic int forced_group, forced_cluster;

void gsv_cuda_force_stop(int64_t rows) {
    atomic_store(&forced_stop, rows);
}

void gsv_cuda_force_few(int64_t vectors) {
    atomic_store(&forced_few, vectors);
}

void gsv_cuda_force_serial(int64_t vectors) {
    atomic_store(&forced_serial, vectors);
}

void gsv_cuda_force_group(int vectors) {
    atomic_store(&forced_group, vectors);
}

void gsv_cuda_force_cluster(int size) {
    atomic_store(&forced_cluster, size);
}

int gsv_cuda_forced_cluster(void) {
    return atomic_load(&forced_cluster);
}

int gsv_cuda_forced_group(void) {
    return atomic_load(&forced_group);
}

int64_t gsv_cuda_few(const gsv_triangular *p) {
    const int64_t vectors = atomic_load(&forced_few);
    if (vectors > 0)
        return vectors;
    /* H200, double, microseconds here and through cuBLAS: n = 256 15 and 36, 512 16 and 31, 1024 19 and 13,
     * 4096 85 and 38, 8192 170 and 294, with 16 vectors; with 64, 15 and 36, 21 and 10, 8192 285 and 291 */
    return p->order <= 256 ? 1 << 10 : p->order <= 512 || p->order > 6000 ? 32 : 0;
}

int gsv_cuda_is_serial(const gsv_triangular *p) {
    const int64_t vectors = atomic_load(&forced_serial);
    return p->operation == GSV_SOLVE && p->vectors >= (vectors > 0 ? vectors : 768);
}

int gsv_cuda_has_product(const gsv_triangular *p) {
    const int size = atomic_load(&forced_cluster);
    return size > 0 || (size == 0 && p->vectors <= 32 && p->order <= (p->side == GPUSOLVE_LEFT ? 512 : 1024));
}

int64_t gsv_cuda_stop(const gsv_triangular *p) {
    const int64_t rows = atomic_load(&forced_stop);
    if (rows > 0)
        return rows;
    if (p->operation == GSV_MULTIPLY)
        return p->vectors <= gsv_cuda_few(p) ? 8192 : GSV_COPY_STOP;
    if (gsv_cuda_is_serial(p)) /* n = 512: 44 us in two launches, 41 in four */
        return p->order <= 512 && p->vectors <= 132 * 8 ? 512 : 256;
    /* As many rows as give 256 tasks with groups of 16, but 1024 at least. */
    const int64_t groups = (p->vectors + 15) / 16, even = 256 / groups * 64;
    int64_t stop = 1024;
    while (2 * stop <= even && stop < 8192)
        stop *= 2;
    return stop;
}
