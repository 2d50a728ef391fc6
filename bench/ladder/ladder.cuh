/* What the ladder's kernels share: their arguments, waits that end, and the assembly of a front. */
#ifndef LADDER_CUH
#define LADDER_CUH

#include "ladder.h"

enum { BLOCK = 256, WARPS = BLOCK / 32, UNIT = LADDER_UNIT, SLICES = BLOCK / UNIT };

struct ladder_view { /* device memory; see ladder_tree and ladder_branches */
    const int32_t *rows, *gather_ptr, *gather, *place;
    const double *panels; /* [L1; L2], from step 2 on [W; -M] */
    double *b, *x, *z;    /* [n] right-hand side; between the sweeps; solution */
    double *u;            /* all update vectors */
};

/* All waits end, and the kernels say why. Should one not, it is given up after about two seconds: then a NaN fails the check. */
enum { PATIENCE = 1 << 22 }; /* polls */
__device__ int ladder_gave_up;

__device__ inline bool gives_up(int polls) {
    if (polls < PATIENCE)
        return polls % 1024 == 1023 && *(volatile int *)&ladder_gave_up; /* nobody waits for what is lost */
    *(volatile int *)&ladder_gave_up = 1;
    return true;
}

/* The data is the flag: memory is filled with bytes of 0xff, a NaN that arithmetic does not give, and a reader polls the
 * number until it is another. Nothing but the number is ordered, and it is one word, so relaxed loads and stores suffice. */
__device__ inline double await(const double *at) {
    for (int polls = 0;; polls++) {
        double v;
        asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(v) : "l"(at) : "memory");
        if (__double2hiint(v) != -1)
            return v;
        if (gives_up(polls))
            return __longlong_as_double(0x7ff8000000000000);
    }
}

__device__ inline void publish(double *to, double v) {
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(to), "d"(v) : "memory");
}

__device__ inline double sum_warp(double sum) {
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(~0u, sum, lanes);
    return sum;
}

/* front(0 .. columns - 1) = f1 of a unit's supernode. Behind it the UNIT rows of the unit itself: what the children owe
 * those below the triangle, else 0. A row a thread, by three reads that depend on each other: list, place, number. */
template <bool POLL>
__device__ void assemble_block(const ladder_view &v, const ladder_unit &unit, int columns, double *front) {
    const ladder_node &s = unit.node;
    for (int e = threadIdx.x; e < columns + UNIT; e += BLOCK) {
        const bool own = e < columns;
        const int i = own ? e : unit.first + e - columns;
        double sum = own ? v.b[s.column + i] : 0;
        if (own || (i >= s.nc && i < s.nr))
            for (int g = v.gather_ptr[s.row + i]; g < v.gather_ptr[s.row + i + 1]; g++) {
                const double *u = v.u + v.gather[g];
                sum += POLL ? await(u) : *u;
            }
        front[e] = sum;
    }
}

/* The end of a forward unit. Thread r + UNIT q has the sum over columns q, q + SLICES, ... of row r. */
__device__ inline void store_rows_block(const ladder_view &v, const ladder_unit &unit, const double *owed,
                                        double sum) {
    __shared__ double partial[BLOCK];
    const ladder_node &s = unit.node;
    const int r = threadIdx.x, i = unit.first + r;
    partial[r] = sum;
    __syncthreads(); /* all sums are there */
    if (r < UNIT && i < s.nr) {
        double total = owed[r];
        for (int q = 0; q < SLICES; q++)
            total += partial[r + UNIT * q];
        if (i < s.nc)
            v.x[s.column + i] = total;
        else
            publish(&v.u[s.update + i - s.nc], total);
    }
    __syncthreads(); /* front and partial may be written again */
}

/* vector(i - first) = row i of [x1; z(rows below)] for a backward unit, rows first .. nr - 1. */
template <bool POLL>
__device__ void vector_block(const ladder_view &v, const ladder_unit &unit, double *vector) {
    const ladder_node &s = unit.node;
    for (int i = unit.first + threadIdx.x; i < s.nr; i += BLOCK) {
        const double *z = v.z + v.rows[s.row + i];
        vector[i - unit.first] = i < s.nc ? v.x[s.column + i] : POLL ? await(z) : *z;
    }
}

/* The end of a backward unit: a warp has the sums of columns j and j + 1, over all of its lanes. */
__device__ inline void store_columns_warp(const ladder_view &v, const ladder_node &s, int j,
                                          const double (&sum)[2]) {
    for (int q = 0; q < 2; q++) {
        const double total = sum_warp(sum[q]);
        if (threadIdx.x % 32 == 0 && j + q < s.nc)
            publish(&v.z[s.column + j + q], total);
    }
}

#endif
