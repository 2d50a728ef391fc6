/*
 * gpusolve-tile-bench [ROWS TERMS [COLUMNS]]: the inner loop of src/supernodal/cuda/tasks/tile.cuh by itself, C
 * = A V, A ROWS x TERMS in block rows of sixteen (panel_layout.h), V TERMS x COLUMNS row-major, without the
 * tree: nobody waits, nothing is gathered, no edge. What a loop of its kind can do, and what its order of
 * sums costs:
 *
 *      dgemm     cuBLAS, which also checks the others' answers
 *      chain     all terms of a sum are one chain
 *      runs      sixteen terms are summed by themselves, their sum is added to the total: as the library does
 *      fetched   runs, of what the first stages brought: multiplications without copies (no answer)
 *
 * each with 32 x 32 or 64 x 32 sums a warp, tiles of 128 x 64 (two blocks an SM) or 128 x 128 (one), stages of
 * 16 terms or of 32. Default: 8448 2048 256, one tile of 128 x 64 for each of two blocks on 132 SMs. One JSON
 * record a line.
 */
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

#include "measure.h"
#include "revision.h"

namespace {

enum { TILE = 16, TILE_ROWS = 128 };
enum order { CHAIN, RUNS, FETCHED };

int failures;

/* WARP_ROWS x 32 sums a warp, tiles of 128 x WIDTH, STAGES stages of DEPTH terms. */
template <int WARP_ROWS_, int WIDTH_, int DEPTH_, int STAGES_> struct shape {
    static const int WARP_ROWS = WARP_ROWS_, WIDTH = WIDTH_, DEPTH = DEPTH_, STAGES = STAGES_;
    static const int WARPS_DOWN = TILE_ROWS / WARP_ROWS,
                     THREADS = WARPS_DOWN * WIDTH;                            /* a warp: 32 columns */
    static const int A = TILE_ROWS * DEPTH, V = DEPTH * WIDTH, STAGE = A + V; /* numbers */
    static const int BYTES = STAGES * STAGE * int(sizeof(double));
    static const int RESIDENT = WIDTH == 64 ? 2 : 1;
};

/* c += v a over eight terms, c = v a over sixteen: v 16 right-hand sides, a 8 rows. */
__device__ __forceinline__ void add_eight_warp(double (&c)[4], const double (&v)[2][2],
                                               const double (&a)[2]) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(v[0][0]), "d"(v[0][1]), "d"(v[1][0]), "d"(v[1][1]), "d"(a[0]), "d"(a[1]));
#endif
}

__device__ __forceinline__ void sixteen_warp(double (&c)[4], const double (&v)[4][2], const double (&a)[4]) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, "
        "%11}, {%12, %13, %14, %15}, {%16, %16, %16, %16};"
        : "=d"(c[0]), "=d"(c[1]), "=d"(c[2]), "=d"(c[3])
        : "d"(v[0][0]), "d"(v[0][1]), "d"(v[1][0]), "d"(v[1][1]), "d"(v[2][0]), "d"(v[2][1]), "d"(v[3][0]),
          "d"(v[3][1]), "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(0.0));
#endif
}

__device__ __forceinline__ void begin_copy(unsigned to, const double *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

/*
 * A tile a block. The sixteen numbers of a run of A, and so each sixteen of a row of V, are permuted in shared
 * memory, number p of run k at p ^ 4 (k mod 4), against bank conflicts. Lane (g, q) has right-hand sides 16 i +
 * 2 g and the one behind it, rows 8 j + 2 q and the one below. A barrier a stage.
 */
template <typename S, order ORDER>
__global__ void __launch_bounds__(S::THREADS, S::RESIDENT)
    tile_kernel(const double *a, const double *v, double *c, int terms, int columns) {
    constexpr int T = S::THREADS, J = S::WARP_ROWS / 8, RUNS_APART = T / 8, ROWS_APART = T / (S::WIDTH / 2);
    constexpr int COPIES = S::A / 2 / T, V_COPIES = S::V / 2 / T;
    constexpr int OF_BLOCK_ROW = RUNS_APART >= S::DEPTH ? 1 : S::DEPTH / RUNS_APART; /* copies */
    extern __shared__ double shared[];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, g = lane / 4, q = lane % 4;
    const int down = warp % S::WARPS_DOWN, right = warp / S::WARPS_DOWN * 32, tiles = columns / S::WIDTH;
    const int first_row = blockIdx.x / tiles * TILE_ROWS, first_column = blockIdx.x % tiles * S::WIDTH;
    const int steps = terms / S::DEPTH, run = thread / 8, k = run % S::DEPTH, p = thread % 8 * 2;
    const int row = thread / (S::WIDTH / 2), column = thread % (S::WIDTH / 2) * 2;
    const double *panel = a + (int64_t(first_row / TILE + run / S::DEPTH) * terms + k) * TILE + p;
    const double *vectors = v + int64_t(row) * columns + first_column + column;
    const unsigned base = unsigned(__cvta_generic_to_shared(shared));
    const unsigned a_to = base + 8 * (run * TILE + (p ^ 4 * (k & 3)));
    const unsigned v_to = base + 8 * (S::A + row * S::WIDTH + (column ^ 4 * (row & 3)));
    const int64_t block_rows = int64_t(terms) * TILE * (RUNS_APART >= S::DEPTH ? RUNS_APART / S::DEPTH : 1);
    auto bring = [&](int slot) {
        const unsigned at = slot * (S::STAGE * 8);
        const double *from = panel;
#pragma unroll
        for (int e = 0; e < COPIES; e++) {
            begin_copy(a_to + at + e * RUNS_APART * TILE * 8, from + e % OF_BLOCK_ROW * RUNS_APART * TILE);
            if (e % OF_BLOCK_ROW == OF_BLOCK_ROW - 1)
                from += block_rows;
        }
        panel += S::DEPTH * TILE;
#pragma unroll
        for (int e = 0; e < V_COPIES; e++) {
            begin_copy(v_to + at + e * ROWS_APART * S::WIDTH * 8, vectors);
            vectors += int64_t(columns) * ROWS_APART;
        }
    };
    double sum[2][J][4];
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < J; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[i][j][e] = 0;
    for (int s = 0; s < S::STAGES - 1; s++) {
        if (s < steps)
            bring(s);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    const int a_at = (down * (S::WARP_ROWS / TILE) * S::DEPTH + q) * TILE + (g ^ 4 * q);
    const int v_at = S::A + q * S::WIDTH + right + (2 * g ^ 4 * q);
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(S::STAGES - 2) : "memory");
        __syncthreads(); /* the stage is there; the one that is brought next has been read by all */
        if (ORDER != FETCHED && step + S::STAGES - 1 < steps)
            bring((step + S::STAGES - 1) % S::STAGES);
        asm volatile("cp.async.commit_group;" ::: "memory");
        const double *stage = shared + step % S::STAGES * S::STAGE;
        /* row 8 j + g, and right-hand sides 16 i + 2 g and on, of term 4 s + q */
        auto a_of = [&](int j, int s) {
            return stage[(j & 1 ? a_at ^ 8 : a_at) + (j / 2 * S::DEPTH + 4 * s) * TILE];
        };
        auto v_of = [&](int i, int s) {
            return *reinterpret_cast<const double2 *>(stage + v_at + 4 * s * S::WIDTH + TILE * i);
        };
        if constexpr (ORDER == CHAIN) {
#pragma unroll
            for (int s0 = 0; s0 < S::DEPTH / 4; s0 += 2) {
                double two[2][2][2], x[J][2];
#pragma unroll
                for (int s = 0; s < 2; s++) {
#pragma unroll
                    for (int i = 0; i < 2; i++) {
                        const double2 pair = v_of(i, s0 + s);
                        two[i][s][0] = pair.x;
                        two[i][s][1] = pair.y;
                    }
#pragma unroll
                    for (int j = 0; j < J; j++)
                        x[j][s] = a_of(j, s0 + s);
                }
#pragma unroll
                for (int j = 0; j < J; j++)
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        add_eight_warp(sum[i][j], two[i], x[j]);
            }
        } else {
#pragma unroll
            for (int s0 = 0; s0 < S::DEPTH / 4; s0 += 4) {
                double two[2][4][2];
#pragma unroll
                for (int s = 0; s < 4; s++)
#pragma unroll
                    for (int i = 0; i < 2; i++) {
                        const double2 pair = v_of(i, s0 + s);
                        two[i][s][0] = pair.x;
                        two[i][s][1] = pair.y;
                    }
#pragma unroll
                for (int j = 0; j < J; j++) {
                    double x[4], sums[2][4];
#pragma unroll
                    for (int s = 0; s < 4; s++)
                        x[s] = a_of(j, s0 + s);
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        sixteen_warp(sums[i], two[i], x);
#pragma unroll
                    for (int i = 0; i < 2; i++)
#pragma unroll
                        for (int e = 0; e < 4; e++)
                            sum[i][j][e] += sums[i][e];
                }
            }
        }
    }
#pragma unroll
    for (int j = 0; j < J; j++)
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                *reinterpret_cast<double2 *>(
                    c + int64_t(first_row + down * S::WARP_ROWS + 8 * j + 2 * q + r) * columns +
                    first_column + right + TILE * i + 2 * g) = make_double2(sum[i][j][r], sum[i][j][r + 2]);
}

struct problem {
    int rows, terms, columns;
    double *a, *v, *c, *matrix; /* matrix: A, column-major */
    std::vector<double> expected;
};

void report(const problem &p, const char *kernel, double us) {
    printf("{\"git\": \"%s\", \"operation\": \"tiles\", \"kernel\": \"%s\", \"rows\": %d, \"terms\": %d, "
           "\"nrhs\": %d, \"us\": %.2f, \"tflops\": %.2f}\n",
           BENCH_REVISION, kernel, p.rows, p.terms, p.columns, us,
           2.0 * p.rows * p.terms * p.columns / us * 1e-6);
    fflush(stdout);
}

template <typename S, order ORDER> void measure(const problem &p, const char *name) {
    auto kernel = tile_kernel<S, ORDER>;
    TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES));
    auto launch = [&] {
        kernel<<<p.rows / TILE_ROWS *(p.columns / S::WIDTH), S::THREADS, S::BYTES>>>(p.a, p.v, p.c, p.terms,
                                                                                     p.columns);
    };
    TRY(cudaMemset(p.c, 0xff, p.expected.size() * 8));
    launch();
    TRY(cudaGetLastError());
    std::vector<double> got(p.expected.size());
    TRY(cudaMemcpy(got.data(), p.c, got.size() * 8, cudaMemcpyDeviceToHost));
    double worst = 0;
    for (size_t e = 0; e < got.size(); e++)
        if (const double off = fabs(got[e] - p.expected[e]); off > worst || std::isnan(off)) /* NaN stays */
            worst = off;
    if ((ORDER == CHAIN || ORDER == RUNS) && !(worst < 1e-12 * sqrt(double(p.terms)))) {
        fprintf(stderr, "%s: differs by %g\n", name, worst);
        failures++;
    }
    report(p, name, time_of(launch));
}

problem make_problem(int rows, int terms, int columns) {
    problem p = {rows, terms, columns, nullptr, nullptr, nullptr, nullptr, {}};
    uint64_t state = 7;
    std::vector<double> a(size_t(rows) * size_t(terms)), matrix(a.size()), v(size_t(terms) * size_t(columns));
    for (int k = 0; k < terms; k++)
        for (int i = 0; i < rows; i++)
            matrix[size_t(k) * size_t(rows) + size_t(i)] =
                a[(size_t(i / TILE) * size_t(terms) + size_t(k)) * TILE + size_t(i % TILE)] =
                    random_number(&state);
    for (double &value : v)
        value = random_number(&state);
    p.expected.resize(size_t(rows) * size_t(columns));
    TRY(cudaMalloc(&p.a, a.size() * 8));
    TRY(cudaMalloc(&p.matrix, a.size() * 8));
    TRY(cudaMalloc(&p.v, v.size() * 8));
    TRY(cudaMalloc(&p.c, p.expected.size() * 8));
    TRY(cudaMemcpy(p.a, a.data(), a.size() * 8, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(p.matrix, matrix.data(), a.size() * 8, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(p.v, v.data(), v.size() * 8, cudaMemcpyHostToDevice));
    return p;
}

} // namespace

int main(int argc, char **argv) {
    const int rows = argc > 2 ? atoi(argv[1]) : 8448, terms = argc > 2 ? atoi(argv[2]) : 2048;
    const int columns = argc > 3 ? atoi(argv[3]) : 256;
    if (argc == 2 || argc > 4 || rows < TILE_ROWS || rows % TILE_ROWS || terms < 32 || terms % 32 ||
        columns < 128 || columns % 128) {
        fprintf(stderr, "usage: gpusolve-tile-bench [ROWS TERMS [COLUMNS]], multiples of 128, 32, 128\n");
        return 2;
    }
    int device, major;
    TRY(cudaGetDevice(&device));
    TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    if (major < 9) {
        fprintf(stderr, "gpusolve-tile-bench: its products are those of compute capability 9.0 and later\n");
        return 1;
    }
    problem p = make_problem(rows, terms, columns);
    cublasHandle_t blas;
    TRY(cublasCreate(&blas));
    auto dgemm = [&] { /* c' = v' A' */
                       const double one = 1, zero = 0;
                       TRY(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, columns, rows, terms, &one, p.v,
                                       columns, p.matrix, rows, &zero, p.c, columns));
    };
    dgemm();
    TRY(cudaMemcpy(p.expected.data(), p.c, p.expected.size() * 8, cudaMemcpyDeviceToHost));
    report(p, "dgemm", time_of(dgemm));
    measure<shape<32, 64, 16, 3>, CHAIN>(p, "chain, 32 x 32, tiles of 64, stages of 16");
    measure<shape<32, 64, 16, 3>, RUNS>(p, "runs, 32 x 32, tiles of 64, stages of 16");
    measure<shape<32, 64, 32, 2>, RUNS>(p, "runs, 32 x 32, tiles of 64, stages of 32");
    measure<shape<64, 64, 16, 4>, CHAIN>(p, "chain, 64 x 32, tiles of 64, stages of 16");
    measure<shape<64, 64, 16, 4>, RUNS>(p, "runs, 64 x 32, tiles of 64, stages of 16");
    measure<shape<64, 64, 32, 2>, RUNS>(p, "runs, 64 x 32, tiles of 64, stages of 32");
    measure<shape<64, 128, 16, 6>, CHAIN>(p, "chain, 64 x 32, tiles of 128, stages of 16");
    measure<shape<64, 128, 16, 6>, RUNS>(p, "runs, 64 x 32, tiles of 128, stages of 16");
    measure<shape<64, 64, 16, 4>, FETCHED>(p, "fetched, 64 x 32, tiles of 64, stages of 16");
    return failures > 0;
}
