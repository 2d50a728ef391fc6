/* Where the recursion stops on the device, and the hooks with which the benchmark sweeps that. */
#ifndef GSV_TRSM_CUDA_TUNING_H
#define GSV_TRSM_CUDA_TUNING_H

#include "../triangular.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_FULL_MACHINE = 264, /* tasks of a solve that keep an H200 busy */
    GSV_SMALL_STOP = 512,   /* rows of a solve's leaf where memory is short */
    GSV_SMALL_PANEL = 256,  /* vectors of a product through cuBLAS, there */
    GSV_COPY_STOP = 16384,  /* rows of a product through cuBLAS */
    GSV_LARGEST_CLUSTER = 16
};

/* Rows of the largest leaf: a multiple of 64. */
int64_t gsv_cuda_stop(const gsv_triangular *p);

/* A product with more vectors than this goes through cuBLAS. */
int64_t gsv_cuda_few(const gsv_triangular *p);

/* Number of groups of vectors from which a solve has one thread block for each group. */
int gsv_cuda_is_serial(const gsv_triangular *p);

/* Does a product go through clusters, in place, where there are any? */
int gsv_cuda_has_product(const gsv_triangular *p);

/* Tuning hooks: the values above, whatever the problem, and how many vectors are solved for side by side, at
 * most (below 0: leaves by cuBLAS, as on a device with too little shared memory); 0: as measured.
 * Process-wide. */
void gsv_cuda_force_stop(int64_t rows);
void gsv_cuda_force_few(int64_t vectors);
void gsv_cuda_force_serial(int64_t vectors);
void gsv_cuda_force_group(int vectors);
int gsv_cuda_forced_group(void);
/* Thread blocks of a cluster of a product; below 0: none, as on a device without clusters; 0: as measured. */
void gsv_cuda_force_cluster(int size);
int gsv_cuda_forced_cluster(void);

#ifdef __cplusplus
}
#endif
#endif
