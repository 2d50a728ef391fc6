/* Reading and factorising. CHOLMOD's long interface is used: int's ends at factors of 2^31 numbers. */
#define _POSIX_C_SOURCE 200809L

#include "problem.h"

#include "progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *problem_name(const command_options *options) {
    return strcmp(options->matrix, "-") ? options->matrix : "standard input";
}

/* ------------------------------------------------------------------------------------------- reading --- */

/* The exit status that goes with a gsm_status. */
static int reading_status(int status) {
    return status == GSM_SUCCESS         ? COMMAND_DONE
           : status == GSM_OUT_OF_MEMORY ? COMMAND_FAILED
                                         : COMMAND_BAD_FILE;
}

/* A file; or what a generator makes, where there is no file of this name. */
static int read_matrix(const char *spec, gsm_matrix *a) {
    char message[512];
    const int is_spec = strchr(spec, ':') && access(spec, F_OK);
    const int status = is_spec ? gsm_load(spec, a, message, sizeof message)
                               : gsm_load_file(spec, a, message, sizeof message);
    if (is_spec && status == GSM_NOT_FOUND)
        return command_complain(COMMAND_BAD_FILE, "%s: no such file, and no such generator", spec);
    return status == GSM_SUCCESS ? COMMAND_DONE : command_complain(reading_status(status), "%s", message);
}

/* b as it is to be solved with: complex where it is or A is. */
static int read_right_sides(const command_options *options, command_problem *p) {
    gsm_block block = {.rows = p->a.n, .cols = 1};
    char message[512];
    if (options->right_sides) {
        const int status = gsm_load_block(options->right_sides, p->a.n, &block, message, sizeof message);
        if (status != GSM_SUCCESS)
            return command_complain(reading_status(status), "%s", message);
    }
    p->cols = block.cols;
    p->is_complex = p->a.is_complex || block.is_complex;
    const size_t count = (size_t)(block.rows * block.cols), parts = p->is_complex ? 2 : 1;
    p->x = malloc((count * parts + 1) * sizeof *p->x);
    if (block.values && block.is_complex == p->is_complex) {
        p->b = block.values;
        return p->x ? COMMAND_DONE : command_complain(COMMAND_FAILED, "out of memory");
    }
    p->b = calloc(count * parts + 1, sizeof *p->b);
    for (size_t k = 0; p->b && k < count; k++)
        p->b[parts * k] = block.values ? block.values[k] : 1;
    gsm_free_block(&block);
    return p->b && p->x ? COMMAND_DONE : command_complain(COMMAND_FAILED, "out of memory");
}

int problem_read(const command_options *options, command_problem *p) {
    const double begin = command_now_ms();
    int status;
    progress_stage("reading %s", problem_name(options));
    status = read_matrix(options->matrix, &p->a);
    if (status != COMMAND_DONE)
        return status;
    if (options->right_sides)
        progress_stage("reading %s",
                       strcmp(options->right_sides, "-") ? options->right_sides : "standard input");
    status = read_right_sides(options, p);
    p->norm_a = gsm_norm(&p->a);
    if (status == COMMAND_DONE && p->norm_a < 0)
        status = command_complain(COMMAND_FAILED, "out of memory");
    p->read_ms = command_now_ms() - begin;
    return status;
}

void problem_start(command_problem *p) {
    memset(p, 0, sizeof *p);
    cholmod_l_start(&p->common);
    p->common.print = 0;
}

void problem_release(command_problem *p) {
    cholmod_l_free_factor(&p->factor, &p->common);
    cholmod_l_finish(&p->common);
    gsm_free(&p->a);
    free(p->b);
    free(p->x);
}

/* --------------------------------------------------------------------------------------- factorising --- */

/* CHOLMOD's view of A; its row indices are new memory, freed with *rows. */
static int view(const gsm_matrix *a, cholmod_sparse *matrix, int64_t **rows) {
    *rows = malloc(((size_t)a->nnz + 1) * sizeof **rows);
    if (!*rows)
        return -1;
    for (int64_t k = 0; k < a->nnz; k++)
        (*rows)[k] = a->rowidx[k];
    *matrix = (cholmod_sparse){.nrow = (size_t)a->n,
                               .ncol = (size_t)a->n,
                               .nzmax = (size_t)a->nnz,
                               .p = a->colptr,
                               .i = *rows,
                               .x = a->values,
                               .stype = -1,
                               .itype = CHOLMOD_LONG,
                               .xtype = a->is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL,
                               .dtype = CHOLMOD_DOUBLE,
                               .sorted = 1,
                               .packed = 1};
    return 0;
}

static void choose(command_ordering ordering, cholmod_common *c) {
    static const int orderings[] = {CHOLMOD_METIS, CHOLMOD_NESDIS, CHOLMOD_AMD, CHOLMOD_NATURAL};
    c->supernodal = CHOLMOD_SUPERNODAL;
    if (ordering == ORDERING_BEST) { /* AMD, and METIS if AMD fills much */
        c->nmethods = 0;
        return;
    }
    c->nmethods = 1;
    c->method[0].ordering = orderings[ordering];
    c->postorder = 1;
}

/* CHOLMOD's status as an exit status; what says what was tried. */
static int complain(const command_options *options, const command_problem *p, const char *what) {
    const char *name = problem_name(options);
    switch (p->common.status) {
    case CHOLMOD_OUT_OF_MEMORY:
        return command_complain(COMMAND_FAILED, "%s: %s: out of memory", name, what);
    case CHOLMOD_TOO_LARGE:
        return command_complain(COMMAND_FAILED, "%s: %s: too large for CHOLMOD", name, what);
    case CHOLMOD_NOT_INSTALLED:
        return command_complain(COMMAND_FAILED, "%s: %s: this CHOLMOD was built without %s", name, what,
                                command_ordering_name(options->ordering));
    default:
        return command_complain(COMMAND_FAILED, "%s: %s: CHOLMOD failed, with status %d", name, what,
                                p->common.status);
    }
}

int problem_blame(const command_options *options, const command_problem *p, int64_t column_of_factor,
                  const char *what) {
    const int64_t *perm = p->factor->Perm;
    const int64_t column = perm && column_of_factor < p->a.n ? perm[column_of_factor] : column_of_factor;
    return command_complain(COMMAND_NOT_POSITIVE_DEFINITE,
                            "%s: %s at column %" PRId64 " of %" PRId64 ", counted from 1 as in the file",
                            problem_name(options), what, column + 1, p->a.n);
}

/* Without METIS, which a CHOLMOD may lack, CHOLMOD chooses. */
static void analyse(const command_options *options, cholmod_sparse *matrix, command_problem *p) {
    choose(options->ordering, &p->common);
    p->ordering = command_ordering_name(options->ordering);
    p->factor = cholmod_l_analyze(matrix, &p->common);
    if (!p->factor && p->common.status == CHOLMOD_NOT_INSTALLED && options->ordering == ORDERING_METIS) {
        choose(ORDERING_BEST, &p->common);
        p->ordering = "CHOLMOD's choice, for it was built without METIS";
        p->factor = cholmod_l_analyze(matrix, &p->common);
    }
}

int problem_factorise(const command_options *options, command_problem *p) {
    const double begin = command_now_ms();
    cholmod_sparse matrix;
    int64_t *rows;
    int status = COMMAND_DONE;
    if (view(&p->a, &matrix, &rows))
        return command_complain(COMMAND_FAILED, "out of memory");
    progress_stage("ordering %s", problem_name(options));
    analyse(options, &matrix, p);
    if (!p->factor) {
        status = complain(options, p, "ordering");
    } else {
        progress_stage("factorising %s: %.2g numbers in L, %.2g flops", problem_name(options), p->common.lnz,
                       p->common.fl);
        cholmod_l_factorize(&matrix, p->factor, &p->common);
        if (p->common.status < CHOLMOD_OK)
            status = complain(options, p, "factorising");
        else if (p->factor->minor < p->factor->n)
            status = problem_blame(options, p, (int64_t)p->factor->minor,
                                   "is not positive definite: the factorisation stops");
    }
    free(rows);
    p->factorise_ms = command_now_ms() - begin;
    return status;
}
