/*
 * What is tuned for the device and what tests vary, in one table: a plan reaches it by gsv_machine_of(), a handle hands it to the plans
 * that are made with it. Today there is one table, of an H200 (lessons/ says what was measured); an H100 is served by it as well. Only
 * what kernels are compiled with stands elsewhere.
 */
#ifndef GSV_SCHEDULE_MACHINE_H
#define GSV_SCHEDULE_MACHINE_H

#include <limits.h>

#include "../tree/plan.h"
#include "stream/stream.h"

/* From what `columns` right-hand sides side by side are predicted to take (cuda/cost.c): microseconds a level, and times of the
 * panels' bytes and of a vector's, both in double precision, the vector's of real numbers, at the memory's bandwidth; single: of
 * the panels' times, what they take in single precision. */
typedef struct gsv_solve_times {
    int32_t columns;
    double level_us, upper, vectors, single;
} gsv_solve_times;

typedef struct gsv_machine {
    /* what the device may do, beyond what it says: for tests of other devices */
    int streams;      /* 0: no streams, as on devices before compute capability 9.0 */
    int shared_limit; /* a block of threads has no more bytes of shared memory than this */

    /* routes (schedule/route.h) */
    int ones;   /* groups of one column that are solved side by side, at most */
    int groups; /* groups of GSV_SIDE_COLUMNS columns that are solved side by side, at most; and */
    /* how many of them, as long as that is faster than all together: 8, 4 or 3 up to these sizes of the factor, which are its panels'
     * numbers and side_column for each column of L */
    int64_t side_8, side_4, side_3, side_column;
    /* panels' bytes up to which 2, 3 and 4 columns are solved side by side, each as one; all that `ones` allows, with ones_column
     * bytes for each column of L, up to real_4 */
    int64_t real_2, real_3, real_4, ones_column;
    int64_t complex_2, complex_3, complex_4,
        complex_all; /* the same of complex columns; all: without ones_column */

    /* streams (schedule/stream/stream.h). Numbers of the upper tree from which there is one for blocks of columns; and from which it is
     * large: then its forward levels count from the root */
    int64_t block_least, large_stream;
    /* Tasks of a level from which it is a crowd: several for every block of the device; about one in a large stream, where the levels
     * beside it keep blocks busy; and in the forward stream for blocks of columns, whose tasks are longer */
    int64_t crowd_tasks, large_crowd_tasks, block_crowd_tasks;
    /* Tasks of a level below which a block takes one at a time, if fewer than alone_upward are in it and between it and the root */
    int64_t alone_tasks, alone_upward;
    /* For blocks of columns a level has as many tasks, of the larger kind: forward enough_tasks if the stream has enough_large numbers, else
     * one for each enough_numbers, from enough_least to enough_small; and backward */
    int64_t enough_tasks, enough_large, enough_numbers, enough_least, enough_small, enough_backward;
    /* Tasks that must be left in a level if one has several block rows together; and the same for blocks of columns */
    int64_t together_tasks, block_together_tasks;
    int64_t block_tasks,
        block_task; /* forward tasks of a level that share block rows, about; and numbers of one, at least */
    /* Tasks of a level backward below which one has half of GSV_COLUMNS, and below which two have the same columns */
    int64_t half_tasks, halved_tasks;
    /* Tasks of a level forward below which they share the block rows of supernodes of more columns than shared_columns */
    int64_t shared_tasks;
    int32_t shared_columns;

    /* What a limb costs at most (schedule/walk/limbs.h): `least` and one part of `share` of what the upper tree costs, and never more
     * than `most` */
    int64_t limb_least, limb_share, limb_most;

    /* cost (cuda/cost.c): the machine; solves; microseconds that a group of 8 columns adds beside others for each number of the
     * panels and each column of L; and a group of one, in double and in single precision, and of complex numbers */
    double bytes_per_s, flops_per_s, hop_us;
    gsv_solve_times real_times[6], complex_times[5];
    double side_panels, side_columns;
    double ones_double, ones_single, ones_columns, ones_complex, ones_complex_columns;
} gsv_machine;

/*
 * Measured on an H200 with CUDA 13.0: 4656 GB/s are a read-only stream of 8 GB; 57.5 TFLOP/s cuBLAS's DGEMM of order 8192, used for the
 * other precisions, too; 0.45 us a hop: 0.42 from block to block, one way, where the data is the flag, 0.50 from one node of a graph
 * to the next. Numbers of tasks go with its 132 SMs, which run 396 blocks of a stream of one column and 264 of a block stream.
 *
 * Times of solves: by bench/fit of bench/results/h200-cudss.jsonl --single h200-single.jsonl. Most predictions for its
 * fifteen cases are within 15 %, the worst are 12, 18, 12, 16, 36 and 20 % off; without the cases that groups side by side solve.
 * An H100's constants (h100-cudss.jsonl) are 0.84 to 1.00 of these for levels, 0.80 to 0.97 for panels, and 0.73 to 0.85
 * for vectors, and 0.78 to 0.96 in single precision. For complex numbers: one column and those that are tasks, by --dtype z of
 * h200-complex.jsonl; for its seven cases the worst are 7, 12, 11, 16 and 9 % off. Groups of 8: from solves on an H100, of 29
 * factors that have 8 groups, 4 or 3; groups of one: on an H200, of a dozen factors, of five in complex numbers.
 */
#define GSV_MACHINE_DEFAULT                                                                                \
    {                                                                                                      \
        .streams = 1, .shared_limit = INT_MAX, .ones = GSV_ONES, .groups = GSV_SIDE, .side_8 = 2000000,    \
        .side_4 = 6400000, .side_3 = 12800000, .side_column = 100, .real_2 = 68500000, .real_3 = 28000000, \
        .real_4 = 16000000, .ones_column = 800, .complex_2 = 256000000, .complex_3 = 64000000,             \
        .complex_4 = 32000000, .complex_all = 28000000, .block_least = 0, .large_stream = 16 << 20,        \
        .crowd_tasks = 1536, .large_crowd_tasks = 384, .block_crowd_tasks = 384, .alone_tasks = 396,       \
        .alone_upward = 1188, .enough_tasks = 99, .enough_large = 3 << 20, .enough_numbers = 1 << 14,      \
        .enough_least = 33, .enough_small = 66, .enough_backward = 264, .together_tasks = 792,             \
        .block_together_tasks = 396, .block_tasks = 198, .block_task = 6144, .half_tasks = 264,            \
        .halved_tasks = 66, .shared_tasks = 264, .shared_columns = 256, .limb_least = 16384,               \
        .limb_share = 1024, .limb_most = 131072, .bytes_per_s = 4656e9, .flops_per_s = 57.5e12,            \
        .hop_us = 0.45, .real_times = {{1, 3.06, 1.08, 73.5, 0.69},  {8, 4.60, 1.18, 26.0, 0.88},          \
                                       {16, 7.31, 1.17, 21.5, 0.84}, {32, 8.27, 1.42, 17.9, 0.90},         \
                                       {64, 8.27, 2.38, 15.5, 0.97}, {256, 9.27, 8.81, 15.8, 0.96}},       \
        .complex_times = {{1, 3.81, 1.79, 144.0, 1},                                                       \
                          {16, 9.61, 2.79, 55.5, 1},                                                       \
                          {32, 11.16, 4.20, 48.8, 1},                                                      \
                          {64, 11.16, 8.19, 44.6, 1},                                                      \
                          {256, 11.16, 32.17, 44.1, 1}},                                                   \
        .side_panels = 3.1e-6, .side_columns = 370e-6, .ones_double = 3.3e-6, .ones_single = 1.7e-6,       \
        .ones_columns = 100e-6, .ones_complex = 16e-6, .ones_complex_columns = 150e-6                      \
    }
extern const gsv_machine gsv_machine_default;

static inline const gsv_machine *gsv_machine_of(const gsv_plan *plan) {
    return plan->machine ? plan->machine : &gsv_machine_default;
}

#endif
