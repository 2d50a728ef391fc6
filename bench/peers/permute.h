/* Rows of a block in another order, on a CUDA device. */
#ifndef BENCH_PERMUTE_H
#define BENCH_PERMUTE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For each of nrhs columns, n numbers of `parts` doubles each: to(i) = from(perm(i)), or with inverse
 * to(perm(i)) = from(i). perm NULL: a copy. Asynchronous on the stream; 0 on success. */
int bench_permute(int64_t n, int64_t nrhs, int parts, const void *perm, int inverse, const void *from,
                  void *to, void *stream);

#ifdef __cplusplus
}
#endif
#endif
