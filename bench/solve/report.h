/* What a measurement says, as a row of the table and as a line of JSON. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "../machine/device.h"
#include "../calls/batch.h"
#include "../calls/determinant.h"
#include "../calls/inverse.h"
#include "../calls/multiply.h"
#include "../calls/sample.h"
#include "../calls/saved.h"
#include "../calls/selection.h"
#include "options.h"
#include "../peers/batch.h"
#include "../peers/peers.h"
#include "problem.h"
#include "refine.h"

typedef struct bench_record {
    const bench_problem *problem;
    const bench_device *device;
    const gpusolve_info *info;
    const gpusolve_cost *cost; /* with the measured bandwidth */
    const char *device_name;
    int threads;
    int64_t nrhs;
    double created_ms;    /* --prepare: what making the factor once more took; else 0 */
    int64_t factor_taken; /* device memory that went away meanwhile, in the driver's pieces; -1: not known */
    int64_t workspace_taken;
    bench_times solve;
    double error;
    bench_refinement refinement; /* --refine */
    bench_selection selection;   /* --select */
    bench_batch batch;           /* --batch */
    bench_determinant determinant;
    bench_sample sample;
    bench_inverse inverse;   /* --inverse */
    bench_multiply multiply; /* --multiply */
    bench_saved saved;       /* --saved */
    const bench_peers *peers;
    const bench_batch_peers *batch_peers; /* --batch-peers; NULL: none */
    int ok;
} bench_record;

void bench_report_heading(const bench_device *device, const char *device_name, const bench_options *options);
void bench_report_row(const bench_record *record, const bench_options *options);
/* What the plan costs, beside what was measured. */
void bench_report_explanation(const bench_record *record);
void bench_report_json(FILE *file, const bench_record *record);

/* A line on stderr, if that is a terminal, which the next one replaces; NULL takes it away. */
void bench_report_progress(const char *name, const char *what);

#endif
