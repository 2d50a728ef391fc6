/*
 * What is tuned for the device and what tests vary, in one table: a plan reaches it by gsv_machine_of(), a handle hands it to the plans
 * that are made with it. Today there is one table, of an H200; an H100 is served by it as well. Thresholds of one file alone, which
 * nobody varies, stand in that file.
 */
#ifndef GSV_SCHEDULE_MACHINE_H
#define GSV_SCHEDULE_MACHINE_H

#include <limits.h>

#include "../tree/plan.h"
#include "stream/stream.h"
#include "walk/limbs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsv_machine {
    /* what the device may do, beyond what it says: for tests of other devices */
    int streams;      /* 0: no streams, as on devices before compute capability 9.0 */
    int shared_limit; /* a block of threads has no more bytes of shared memory than this */
    /* routes */
    int ones;   /* groups of one column that are solved side by side, at most */
    int groups; /* groups of GSV_SIDE_COLUMNS columns that are solved side by side, at most */
    /* panels' bytes up to which 2, 3 and 4 columns are solved side by side, each as one; all that `ones` allows, with ones_column
     * bytes for each column of L, up to real_4 */
    int64_t real_2, real_3, real_4, ones_column;
    int64_t complex_2, complex_3, complex_4,
        complex_all; /* the same of complex columns; all: without ones_column */
    /* streams: numbers of the upper tree from which there is one for blocks of columns, and from which it is large */
    int64_t block_least, large_stream;
    int64_t together_tasks,
        block_together_tasks;      /* GSV_TOGETHER_TASKS, GSV_BLOCK_TOGETHER_TASKS in stream.h */
    int64_t limb_least, limb_most; /* GSV_LIMB_LEAST, GSV_LIMB_MOST in limbs.h */
} gsv_machine;

/* Measured on an H200: lessons/streams.md. */
#define GSV_MACHINE_DEFAULT                                                                              \
    {                                                                                                    \
        .streams = 1, .shared_limit = INT_MAX, .ones = GSV_ONES, .groups = GSV_SIDE, .real_2 = 68500000, \
        .real_3 = 28000000, .real_4 = 16000000, .ones_column = 800, .complex_2 = 256000000,              \
        .complex_3 = 64000000, .complex_4 = 32000000, .complex_all = 28000000,                           \
        .block_least = GSV_BLOCK_LEAST, .large_stream = GSV_LARGE_STREAM,                                \
        .together_tasks = GSV_TOGETHER_TASKS, .block_together_tasks = GSV_BLOCK_TOGETHER_TASKS,          \
        .limb_least = GSV_LIMB_LEAST, .limb_most = GSV_LIMB_MOST                                         \
    }
extern const gsv_machine gsv_machine_default;

static inline const gsv_machine *gsv_machine_of(const gsv_plan *plan) {
    return plan->machine ? plan->machine : &gsv_machine_default;
}

#ifdef __cplusplus
}
#endif
#endif
