/* What is used of NVIDIA cuDSS 1.x, which is looked for at run time ($GPUSOLVE_CUDSS is the path of libcudss.so.1; else the loader's path) and
 * is no dependency. */
#ifndef BENCH_CUDSS_LIBRARY_H
#define BENCH_CUDSS_LIBRARY_H

#include "library.h"

enum { /* of its enumerations, version 1 */
       BENCH_CUDSS_IR_STEPS = 5,
       BENCH_CUDSS_UNIFORM_BATCH = 18, /* CUDSS_CONFIG_UBATCH_SIZE */
       BENCH_CUDSS_SAME_BITS = 24,     /* CUDSS_CONFIG_DETERMINISTIC_MODE */
       BENCH_CUDSS_DOWNCAST_FACTORS = 28,
       BENCH_CUDSS_KEEP_BLOCK_DIAGONAL = 1,
       BENCH_CUDSS_INFO = 0,
       BENCH_CUDSS_LU_NNZ = 1,
       BENCH_CUDSS_ANALYSIS = 1 | 2,
       BENCH_CUDSS_FACTORISATION = 4,
       BENCH_CUDSS_SOLVE = 16 | 32 | 64 | 128 | 256 | 512,
       BENCH_CUDSS_SPD = 3,
       BENCH_CUDSS_HPD = 4,
       BENCH_CUDSS_UPPER = 2,
       BENCH_CUDSS_COLUMN_MAJOR = 0,
       BENCH_CUDSS_REAL_DOUBLE = 1, /* of cudaDataType */
       BENCH_CUDSS_COMPLEX_DOUBLE = 5,
       BENCH_CUDSS_INT32 = 10
};

/* Handles are pointers; statuses and enumerations ints. */
typedef struct bench_cudss_functions {
    int (*get_property)(int property, int *value);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*config_create)(void **config);
    int (*config_destroy)(void *config);
    int (*config_set)(void *config, int parameter, const void *value, size_t bytes);
    int (*data_create)(void *handle, void **data);
    int (*data_destroy)(void *handle, void *data);
    int (*data_get)(void *handle, void *data, int parameter, void *value, size_t bytes, size_t *written);
    int (*create_csr)(void **matrix, int64_t rows, int64_t columns, int64_t nnz, const void *row_start,
                      const void *row_end, const void *column, const void *values, int offset_type,
                      int index_type, int value_type, int matrix_type, int view, int base);
    int (*create_dense)(void **matrix, int64_t rows, int64_t columns, int64_t ld, const void *values,
                        int value_type, int layout);
    int (*matrix_destroy)(void *matrix);
    int (*execute)(void *handle, int phase, void *config, void *data, void *a, void *x, void *b);
} bench_cudss_functions;

/* The library, the objects that every solver has, and the problem in its terms. */
typedef struct bench_cudss {
    bench_cudss_functions f;
    void *library; /* for functions that not every solver needs */
    const bench_device *device;
    int64_t n, nnz; /* of A's upper triangle */
    int value_type, matrix_type;
    void *handle, *config, *data;
    void *a, *b, *x; /* matrices, made by the solver; bench_cudss_close destroys them */
    void *memory[3]; /* on the device: row starts, columns, values of A */
} bench_cudss;

/* Find the library, and make the objects, on the device's stream. 0, or -1 with the reason in facts; close it in any case. */
int bench_cudss_open(bench_cudss *cudss, const bench_problem *problem, const bench_device *device,
                     bench_solver_facts *facts);
void bench_cudss_close(bench_cudss *cudss);

/* A's upper triangle to `memory`. Its values are there `copies` times, one copy after the other. */
int bench_cudss_upload(bench_cudss *cudss, const bench_problem *problem, int64_t copies,
                       bench_solver_facts *facts);

/* b and x are destroyed, so that others can be made. */
void bench_cudss_drop_blocks(bench_cudss *cudss);

int bench_cudss_execute(bench_cudss *cudss, int phase);

/* 0 if the status is success, else -1 with the reason in facts. */
int bench_cudss_check(int status, const char *what, bench_solver_facts *facts);

#endif
