/* The command line. */
#define _POSIX_C_SOURCE 200809L

#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const backends[] = {"auto", "host", "cuda", NULL};
static const char *const systems[] = {"A", "LDLt", "LD", "DLt", "L", "Lt", "D", "P", "Pt", NULL};
static const char *const storages[] = {"double", "single", NULL};
static const char *const methods[] = {"richardson", "cg", "fgmres", "automatic", NULL};
static const char *const orderings[] = {"metis", "nesdis", "amd", "natural", "best", NULL};

const char *command_ordering_name(command_ordering ordering) {
    static const char *const names[] = {"METIS", "NESDIS", "AMD", "the given order",
                                        "the best of AMD and METIS"};
    return names[ordering];
}

const char *command_method_name(gpusolve_refine_method method) {
    return methods[method];
}

const char *command_usage(void) {
    return "usage: gpusolve-solve [options] A.mtx [b.mtx]\n"
           "Solve A x = b: CHOLMOD factorises A, gpusolve solves.\n"
           "A is symmetric or Hermitian and positive definite, b has one or many columns (without b: ones). "
           "Both are\n"
           "files in the Matrix Market format, plain or packed by gzip; - is standard input. A may also be "
           "a\n"
           "generator, such as grid2d:1000.\n"
           "  -o, --output FILE       where x goes, in the same format; - is standard output (the default)\n"
           "      --system SYSTEM     A, LDLt, LD, DLt, L, Lt, D, P or Pt (A): which system, as in "
           "cholmod_solve\n"
           "      --refine[=METHOD]   iterative refinement: richardson (without a word), cg, fgmres or "
           "automatic\n"
           "      --storage PRECISION double or single (double): how L is kept; b, x and sums are in double\n"
           "      --repeat N          time N more solves: median, least and spread\n"
           "      --explain           what the factor's plan is made of, and what a solve should take\n"
           "      --save-residuals FILE  write b - A x, in the same format\n"
           "      --plot              show how large the residuals are, in powers of ten\n"
           "      --backend BACKEND   auto, host or cuda (auto: the GPU if there is one)\n"
           "      --threads N         host threads (as many as there are processors)\n"
           "      --ordering ORDERING metis, nesdis, amd, natural or best (metis)\n"
           "  -q, --quiet             no report\n"
           "  -h, --help              this text\n"
           "      --version           versions\n"
           "The report goes to standard output, or to standard error if x or the residuals go to standard "
           "output.\n"
           "Exit status: 0 x is written, 1 the solve failed, 2 wrong command line, 3 a file cannot be read "
           "or is not\n"
           "what it should be, 4 A is not positive definite, 5 a file cannot be written.\n";
}

/* The place of text in a list of words, or -1. */
static int find_word(const char *text, const char *const *words) {
    for (int i = 0; words[i]; i++)
        if (!strcmp(text, words[i]))
            return i;
    return -1;
}

static int parse_count(const char *text, long most, int *count) {
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < 1 || value > most)
        return -1;
    *count = (int)value;
    return 0;
}

enum { SYSTEM = 256, REFINE, STORAGE, REPEAT, EXPLAIN, RESIDUALS, PLOT, BACKEND, THREADS, ORDERING, VERSION };

static const struct option known[] = {{"output", required_argument, NULL, 'o'},
                                      {"system", required_argument, NULL, SYSTEM},
                                      {"refine", optional_argument, NULL, REFINE},
                                      {"storage", required_argument, NULL, STORAGE},
                                      {"repeat", required_argument, NULL, REPEAT},
                                      {"explain", no_argument, NULL, EXPLAIN},
                                      {"save-residuals", required_argument, NULL, RESIDUALS},
                                      {"plot", no_argument, NULL, PLOT},
                                      {"backend", required_argument, NULL, BACKEND},
                                      {"threads", required_argument, NULL, THREADS},
                                      {"ordering", required_argument, NULL, ORDERING},
                                      {"quiet", no_argument, NULL, 'q'},
                                      {"help", no_argument, NULL, 'h'},
                                      {"version", no_argument, NULL, VERSION},
                                      {NULL, 0, NULL, 0}};

/* An option that takes one of several words; says which where it is none. */
static int parse_word(const char *name, const char *text, const char *const *words, int *place) {
    char list[128] = "";
    *place = find_word(text, words);
    if (*place >= 0)
        return 0;
    for (int i = 0; words[i]; i++) {
        strncat(list, words[i], sizeof list - strlen(list) - 1);
        if (words[i + 1])
            strncat(list, words[i + 2] ? ", " : " or ", sizeof list - strlen(list) - 1);
    }
    return command_complain(-1, "--%s: takes %s, not '%s'", name, list, text);
}

static int parse_number(const char *name, const char *text, int most, int *count) {
    return parse_count(text, most, count)
               ? command_complain(-1, "--%s: takes a whole number from 1 to %d, not '%s'", name, most, text)
               : 0;
}

static int take(int option, const char *argument, command_options *options) {
    int place = 0, failed = 0;
    switch (option) {
    case 'o':
        options->output = argument;
        break;
    case SYSTEM:
        failed = parse_word("system", argument, systems, &place);
        options->system = (gpusolve_system)place;
        break;
    case REFINE:
        options->refine = 1;
        failed = argument ? parse_word("refine", argument, methods, &place) : 0;
        options->method = (gpusolve_refine_method)(failed ? 0 : place);
        break;
    case STORAGE:
        failed = parse_word("storage", argument, storages, &place);
        options->storage = place == 1 ? GPUSOLVE_STORAGE_SINGLE : GPUSOLVE_STORAGE_SAME;
        break;
    case REPEAT:
        failed = parse_number("repeat", argument, 1000000, &options->repeat);
        break;
    case EXPLAIN:
        options->explain = 1;
        break;
    case RESIDUALS:
        options->residuals = argument;
        break;
    case PLOT:
        options->plot = 1;
        break;
    case BACKEND:
        failed = parse_word("backend", argument, backends, &place);
        options->backend = (gpusolve_backend)(failed ? 0 : place);
        break;
    case THREADS:
        failed = parse_number("threads", argument, 1024, &options->threads);
        break;
    case ORDERING:
        failed = parse_word("ordering", argument, orderings, &place);
        options->ordering = (command_ordering)(failed ? 0 : place);
        break;
    case 'q':
        options->quiet = 1;
        break;
    case 'h':
        options->help = 1;
        break;
    case VERSION:
        options->version = 1;
        break;
    default: /* getopt has complained */
        failed = -1;
    }
    return failed;
}

static int is_dash(const char *path) {
    return path && !strcmp(path, "-");
}

/* What does not go together. */
static int check(const command_options *options) {
    if (is_dash(options->matrix) && is_dash(options->right_sides))
        return command_complain(-1, "A and b cannot both be standard input");
    if (is_dash(options->output) && is_dash(options->residuals))
        return command_complain(-1, "x and the residuals cannot both go to standard output");
    if (options->residuals && !is_dash(options->residuals) && !strcmp(options->residuals, options->output))
        return command_complain(-1, "x and the residuals cannot both go to %s", options->output);
    if (options->system != GPUSOLVE_A && (options->refine || options->residuals || options->plot))
        return command_complain(-1, "--refine, --save-residuals and --plot go with --system A alone");
    if (options->quiet && (options->repeat || options->explain || options->plot))
        return command_complain(-1,
                                "--quiet leaves out the report, to which --repeat, --explain and --plot add");
    return 0;
}

int command_parse(int argc, char **argv, command_options *options) {
    int option;
    *options = (command_options){.output = "-", .system = GPUSOLVE_A, .backend = GPUSOLVE_BACKEND_AUTO};
    while ((option = getopt_long(argc, argv, "o:qh", known, NULL)) != -1)
        if (take(option, optarg, options))
            return -1;
    if (options->help || options->version)
        return 0;
    if (optind == argc)
        return command_complain(-1, "no matrix is given");
    if (argc - optind > 2)
        return command_complain(-1, "'%s' is one argument too many: at most A and b are given",
                                argv[optind + 2]);
    options->matrix = argv[optind];
    options->right_sides = argc - optind > 1 ? argv[optind + 1] : NULL;
    return check(options);
}
