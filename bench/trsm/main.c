/*
 * gpusolve-trsm-bench: the dense triangular calls on the device beside cuBLAS and cuSOLVER, in one run.
 *
 *      gpusolve-trsm-bench [--operation trsm|trmm|potrs|potri] [--dtype sdcz] [--n N,N,...] [--nrhs R,R,...]
 *          [--variant LLNN,...] [--stop ROWS,...] [--no-peers] [--json FILE]
 *          [--group N] [--serial R] [--cluster C] [--few R]        trsm/cuda/tuning.h's hooks
 *
 * A variant is side, uplo, trans, diag as the BLAS writes them. nrhs 0 stands for n. Every time is that of
 * one call inside a CUDA graph that is replayed, in microseconds: the median of the replays. The result of
 * each call, the peer's too, is checked on random columns before it is timed; the program fails if one is
 * wrong.
 *
 * The wall is max(bytes / bandwidth, flops / GEMM rate), both measured in this run: bytes are those of the
 * triangle, once, and of B, in and out.
 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "revision.h"
#include "trsm/cuda/tuning.h"

enum { MOST = 32 };

typedef struct list {
    int64_t value[MOST];
    int count;
} list;

typedef struct options {
    const char *operation, *dtypes, *variants;
    list n, nrhs, stop;
    int peers;
    FILE *json;
} options;

static void parse_list(const char *text, list *to) {
    to->count = 0;
    for (char *end; *text && to->count < MOST; text = *end ? end + 1 : end) {
        to->value[to->count++] = strtoll(text, &end, 10);
        if (end == text)
            exit(2);
    }
}

static options parse(int argc, char **argv) {
    options o = {"trsm",   "d", "LLNN", {{512, 1024, 2048, 4096, 8192}, 5}, {{16, 128, 1024, 0}, 4},
                 {{0}, 1}, 1,   NULL};
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (!strcmp(argv[k], "--no-peers")) {
            o.peers = 0;
            continue;
        }
        if (!strcmp(argv[k], "--operation"))
            o.operation = value;
        else if (!strcmp(argv[k], "--dtype"))
            o.dtypes = value;
        else if (!strcmp(argv[k], "--variant"))
            o.variants = value;
        else if (!strcmp(argv[k], "--n"))
            parse_list(value, &o.n);
        else if (!strcmp(argv[k], "--nrhs"))
            parse_list(value, &o.nrhs);
        else if (!strcmp(argv[k], "--stop"))
            parse_list(value, &o.stop);
        else if (!strcmp(argv[k], "--group"))
            gsv_cuda_force_group(atoi(value));
        else if (!strcmp(argv[k], "--serial"))
            gsv_cuda_force_serial(atoll(value));
        else if (!strcmp(argv[k], "--cluster"))
            gsv_cuda_force_cluster(atoi(value));
        else if (!strcmp(argv[k], "--few"))
            gsv_cuda_force_few(atoll(value));
        else if (!strcmp(argv[k], "--json"))
            o.json = fopen(value, "a");
        else {
            fprintf(stderr, "gpusolve-trsm-bench: unknown option %s\n", argv[k]);
            exit(2);
        }
        k++;
    }
    return o;
}

static void report(const options *o, const bench_call *call, const bench_machine *machine, int64_t stop,
                   const bench_result *r) {
    const double wall = bench_wall(call, machine);
    printf("%-5s %c %s n %6lld nrhs %6lld stop %5lld  %10.1f us", call->operation, call->dtype, call->variant,
           (long long)call->n, (long long)call->nrhs, (long long)stop, r->own_us);
    if (r->peer_us > 0)
        printf("  %s %10.1f us, %5.2f times", r->peer, r->peer_us, r->peer_us / r->own_us);
    printf("  wall %9.1f us %3.0f %%  error %.1f%s\n", wall, 100 * wall / r->own_us, r->own_error,
           r->wrong ? "  WRONG" : "");
    fflush(stdout);
    if (!o->json)
        return;
    fprintf(o->json,
            "{\"git\": \"%s\", \"operation\": \"%s\", \"dtype\": \"%c\", \"variant\": \"%s\", \"n\": %lld, "
            "\"nrhs\": "
            "%lld, \"stop\": %lld, \"device\": \"%s\", \"driver\": %d, \"us\": %.3f, \"us_min\": %.3f, "
            "\"spread\": "
            "%.5f, \"peer\": \"%s\", \"peer_us\": %.3f, \"wall_us\": %.3f, \"bandwidth_gb_per_s\": %.1f, "
            "\"gemm_gflops\": %.1f, \"error\": %.3f}\n",
            BENCH_REVISION, call->operation, call->dtype, call->variant, (long long)call->n,
            (long long)call->nrhs, (long long)stop, machine->name, machine->driver, r->own_us, r->own_min_us,
            r->own_spread, r->peer, r->peer_us, wall, machine->bandwidth,
            machine->gflops[bench_dtype_index(call->dtype)], r->own_error);
    fflush(o->json);
}

int main(int argc, char **argv) {
    const options o = parse(argc, argv);
    bench_machine machine;
    if (bench_open(&machine, o.dtypes) != 0)
        return 1;
    printf("%s: %.0f GB/s read", machine.name, machine.bandwidth);
    for (const char *d = o.dtypes; *d; d++)
        printf(", %cgemm %.1f Tflop/s", *d, machine.gflops[bench_dtype_index(*d)] / 1000);
    printf("\n");
    int failed = 0;
    for (const char *d = o.dtypes; *d; d++)
        for (const char *v = o.variants; strlen(v) >= 4; v = v[4] ? v + 5 : v + 4)
            for (int i = 0; i < o.n.count; i++)
                for (int j = 0; j < o.nrhs.count; j++)
                    for (int s = 0; s < o.stop.count; s++) {
                        bench_call call = {o.operation,
                                           *d,
                                           {v[0], v[1], v[2], v[3], 0},
                                           o.n.value[i],
                                           o.nrhs.value[j] ? o.nrhs.value[j] : o.n.value[i]};
                        bench_result result;
                        gsv_cuda_force_stop(o.stop.value[s]);
                        if (bench_run(&machine, &call, o.peers && s == 0, &result) != 0)
                            return 1;
                        failed |= result.wrong;
                        report(&o, &call, &machine, o.stop.value[s], &result);
                    }
    bench_close(&machine);
    if (o.json)
        fclose(o.json);
    return failed;
}
