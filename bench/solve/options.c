#define _POSIX_C_SOURCE 200809L
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../peers/batch.h"
#include "../peers/peers.h"
#include "refine.h"

void bench_options_usage(void) {
    fputs(
        "usage: gpusolve-bench [options] MATRIX...\n"
        "Factorise with CHOLMOD, solve with gpusolve, check every answer, then time it.\n"
        "MATRIX is a file, the name of a matrix on the search path, or a generator such as grid2d:1000 "
        "(--list).\n"
        "  --backend auto|cuda|host  where to solve (auto)\n"
        "  --threads N               host threads, for gpusolve and its peers alike (all)\n"
        "  --nrhs 1,8,32             numbers of right-hand sides (1)\n"
        "  --in-place                host: leave L in CHOLMOD's memory\n"
        "  --storage double|single   L as it is, or in single precision with b, x and sums in double "
        "(double)\n"
        "  --dtype s|d|c|z           type of the factor; s and c are rounded from d and z (d, or z where A "
        "is complex)\n"
        "  --refine[=METHOD]         also time iterative refinement, and one residual alone: richardson (the "
        "default), cg,\n"
        "                            fgmres, automatic; with --storage single a solve with L as it is, too\n"
        "  --refine-steps N          corrections that a column may get (10)\n"
        "  --peers cholmod,cudss     also time other solvers: cholmod, pardiso, "
        "pardiso:one-level,\n"
        "                            cusparse, cudss, cudss:fp32, cudss:deterministic, cudss:refine2; beside "
        "--refine\n"
        "                            cholmod:refine, cudss:refine, cudss:fp32:refine, which take as many "
        "steps as\n"
        "                            they need for gpusolve's backward error\n"
        "  --untimed cholmod         check these peers' answers, too, without timing them\n"
        "  --prepare                 make the factor twice: how long the second took, and what device "
        "memory\n"
        "  --bandwidth GB/S          of the memory, known: it is not measured\n"
        "  --blas-threads N          threads of CHOLMOD's BLAS (as --threads)\n"
        "  --gate FILE               of several runs on one device with the same FILE, one at a time times\n"
        "  --explain                 also say what the plan is made of, and what a solve should take\n"
        "  --select N                also time solves for N rows of x, and of b: the others are zero\n"
        "  --batch N                 also time a batch of N members, each this factor\n"
        "  --batch-peers cholmod,cudss:uniform,cudss  also time other solvers of such a batch\n"
        "  --determinant             also time the log-determinant, and the condition number's estimate\n"
        "  --sample                  also time samples of the field with that precision matrix, beside half "
        "a solve\n"
        "  --saved FOLDER            also time a factor that is saved to a file there, and loaded again\n"
        "  --inverse                 also time the diagonal of the inverse, and check some of it\n"
        "  --multiply                also time L x, L' x, P' L x and A x by the factor, and check them\n"
        "  --repeat N                timed samples, after a warm-up (15)\n"
        "  --relax 4,16,48,0.8,0.1,0.05  CHOLMOD's nrelax and zrelax: how readily it merges supernodes "
        "(these)\n"
        "  --json FILE               append one JSON record a line\n"
        "  --list                    list matrices and generators\n",
        stderr);
}

/* The integer that text is, if it lies in [least, most] and ends with one of the characters in ends. */
static int parse_integer(const char *text, long least, long most, const char *ends, long *value,
                         const char **rest) {
    char *end;

    errno = 0;
    *value = strtol(text, &end, 10);
    if (end == text || errno || *value < least || *value > most || (*end && !strchr(ends, *end)))
        return -1;
    *rest = end;
    return 0;
}

static int parse_nrhs(const char *text, bench_options *options) {
    options->nrhs_count = 0;
    for (;;) {
        long value;

        if (options->nrhs_count == BENCH_MAX_NRHS || parse_integer(text, 1, 1 << 20, ",", &value, &text))
            return -1;
        options->nrhs[options->nrhs_count++] = value;
        if (!*text)
            return 0;
        text++;
    }
}

/* The place of text in a NULL-terminated list of words, or -1. */
static int find_word(const char *text, const char *const *words) {
    for (int i = 0; words[i]; i++)
        if (!strcmp(text, words[i]))
            return i;
    return -1;
}

/* A set of words, separated by commas. */
static int parse_words(const char *text, const char *const *words, unsigned *set) {
    *set = 0;
    for (;;) {
        const size_t length = strcspn(text, ",");
        int i = 0;

        while (words[i] && (strlen(words[i]) != length || strncmp(words[i], text, length)))
            i++;
        if (!words[i])
            return -1;
        *set |= 1u << i;
        if (!text[length])
            return 0;
        text += length + 1;
    }
}

/* What does not go together. */
static int check(const bench_options *options, const char *storage) {
    if (storage && (options->dtype == GPUSOLVE_FLOAT || options->dtype == GPUSOLVE_COMPLEX_FLOAT)) {
        fprintf(stderr,
                "gpusolve-bench: --storage goes with --dtype d and z: L of s and c is in single precision\n");
        return -1;
    }
    if (options->multiply && options->storage == GPUSOLVE_STORAGE_SINGLE) {
        fprintf(stderr, "gpusolve-bench: --multiply goes with --storage double: there are no products with a "
                        "factor that is stored in another precision\n");
        return -1;
    }
    if (options->batch_peers && !options->batch) {
        fprintf(stderr, "gpusolve-bench: --batch-peers goes with --batch\n");
        return -1;
    }
    if (options->peers & bench_peers_that_refine() && !options->refine) {
        fprintf(stderr, "gpusolve-bench: peers that refine go with --refine\n");
        return -1;
    }
    return 0;
}

/* Options with a value. Others are switches, for which getopt_long sets a flag. */
enum {
    BACKEND = 1,
    THREADS,
    NRHS,
    DTYPE,
    STORAGE,
    REFINE,
    REFINE_STEPS,
    RELAX,
    BLAS_THREADS,
    MEASUREMENTS, /* what follows says what to measure, what precedes how to solve */
    SELECT,
    BATCH,
    BATCH_PEERS,
    SAVED,
    PEERS,
    REPEAT,
    JSON,
    UNTIMED,
    BANDWIDTH,
    GATE
};

static int take_int(const char *text, long least, long most, int *to) {
    const char *rest;
    long value = 0;
    const int bad = parse_integer(text, least, most, "", &value, &rest);

    *to = (int)value;
    return bad;
}

static int take_word(const char *text, const char *const *words, int *to) {
    *to = find_word(text, words);
    return *to < 0;
}

/* --refine may be without a value. */
static int take_refine(const char *method, bench_options *options) {
    int word = GPUSOLVE_REFINE_RICHARDSON;

    options->refine = 1;
    if (method && take_word(method, bench_refine_methods, &word))
        return 1;
    options->refine_method = (gpusolve_refine_method)word;
    return 0;
}

/* An option that says how to solve. Nonzero: it does not take the text. */
static int take_solve(int option, const char *text, bench_options *options) {
    static const char *const backends[] = {"auto", "host", "cuda", NULL}; /* in the order of the enums */
    static const char *const dtypes[] = {"s", "d", "c", "z", NULL};
    static const char *const storages[] = {"double", "single", NULL};
    int bad = 0, word = 0;

    switch (option) {
    case BACKEND:
        bad = take_word(text, backends, &word);
        options->backend = bad ? GPUSOLVE_BACKEND_AUTO : (gpusolve_backend)word;
        return bad;
    case THREADS:
        return take_int(text, 1, 4096, &options->threads);
    case BLAS_THREADS:
        return take_int(text, 1, 4096, &options->blas_threads);
    case NRHS:
        return parse_nrhs(text, options);
    case DTYPE:
        return take_word(text, dtypes, &options->dtype);
    case STORAGE:
        bad = take_word(text, storages, &word);
        options->storage = word == 1 ? GPUSOLVE_STORAGE_SINGLE : GPUSOLVE_STORAGE_SAME;
        return bad;
    case REFINE:
        return take_refine(text, options);
    case REFINE_STEPS:
        return take_int(text, 0, 1000, &options->refine_steps);
    default: /* RELAX */
        return bench_relax_parse(text, &options->relax);
    }
}

/* One that says what to measure, and how. */
static int take_measurement(int option, const char *text, bench_options *options) {
    int value = 0, bad = 0;

    switch (option) {
    case SELECT:
        bad = take_int(text, 1, 1 << 30, &value);
        options->select = value;
        return bad;
    case BATCH:
        bad = take_int(text, 1, 1 << 30, &value);
        options->batch = value;
        return bad;
    case BATCH_PEERS:
        return parse_words(text, bench_batch_peer_names, &options->batch_peers);
    case PEERS:
        return parse_words(text, bench_peer_names, &options->peers);
    case UNTIMED:
        return parse_words(text, bench_peer_names, &options->untimed);
    case REPEAT:
        return take_int(text, 1, 1000000, &options->repeat);
    case BANDWIDTH:
        bad = take_int(text, 1, 1000000, &value);
        options->bandwidth = 1e9 * (double)value;
        return bad;
    case SAVED:
        options->saved = text;
        return 0;
    case GATE:
        options->gate = text;
        return 0;
    default: /* JSON */
        options->json = text;
        return 0;
    }
}

int bench_options_parse(int argc, char **argv, bench_options *options) {
    const struct option known[] = {{"backend", required_argument, NULL, BACKEND},
                                   {"threads", required_argument, NULL, THREADS},
                                   {"in-place", no_argument, &options->in_place, 1},
                                   {"nrhs", required_argument, NULL, NRHS},
                                   {"dtype", required_argument, NULL, DTYPE},
                                   {"storage", required_argument, NULL, STORAGE},
                                   {"refine", optional_argument, NULL, REFINE},
                                   {"refine-steps", required_argument, NULL, REFINE_STEPS},
                                   {"explain", no_argument, &options->explain, 1},
                                   {"select", required_argument, NULL, SELECT},
                                   {"batch", required_argument, NULL, BATCH},
                                   {"batch-peers", required_argument, NULL, BATCH_PEERS},
                                   {"determinant", no_argument, &options->determinant, 1},
                                   {"sample", no_argument, &options->sample, 1},
                                   {"inverse", no_argument, &options->inverse, 1},
                                   {"multiply", no_argument, &options->multiply, 1},
                                   {"saved", required_argument, NULL, SAVED},
                                   {"peers", required_argument, NULL, PEERS},
                                   {"repeat", required_argument, NULL, REPEAT},
                                   {"relax", required_argument, NULL, RELAX},
                                   {"json", required_argument, NULL, JSON},
                                   {"untimed", required_argument, NULL, UNTIMED},
                                   {"prepare", no_argument, &options->prepare, 1},
                                   {"bandwidth", required_argument, NULL, BANDWIDTH},
                                   {"blas-threads", required_argument, NULL, BLAS_THREADS},
                                   {"gate", required_argument, NULL, GATE},
                                   {"list", no_argument, &options->list, 1},
                                   {"help", no_argument, &options->help, 1},
                                   {NULL, 0, NULL, 0}};
    const char *storage = NULL;
    int option, index = 0;

    *options = (bench_options){.backend = GPUSOLVE_BACKEND_AUTO,
                               .nrhs = {1},
                               .nrhs_count = 1,
                               .dtype = -1,
                               .refine_steps = 10,
                               .repeat = 15};
    while ((option = getopt_long(argc, argv, "", known, &index)) != -1) {
        if (option == '?') /* getopt has complained */
            return -1;
        if (option == STORAGE)
            storage = optarg;
        if (option && (option < MEASUREMENTS ? take_solve(option, optarg, options)
                                             : take_measurement(option, optarg, options))) {
            fprintf(stderr, "gpusolve-bench: --%s does not take \"%s\"\n", known[index].name, optarg);
            return -1;
        }
    }
    options->peers |= options->untimed;
    options->matrices = argv + optind;
    options->matrix_count = argc - optind;
    if (!options->matrix_count && !options->list && !options->help) {
        fprintf(stderr, "gpusolve-bench: no matrix given\n");
        return -1;
    }
    return check(options, storage);
}
