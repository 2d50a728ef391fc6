/* Grids and graphs with other conductances. A is read as that of a network: an entry a(i,j) off the diagonal is an edge
 * of conductance -a(i,j), and what is left of row i's sum joins node i to the ground. Each of these conductances is
 * multiplied by a factor of its own.
 *
 * Conductances are whole multiples of 2^-25, at least one, and rows are summed as integers; where a sum needs more
 * than 53 bits it is rounded up. So rows never sum to less than nothing, A stays positive definite, and it is the same
 * on every machine. */
#include "../internal.h"

#include <math.h>
#include <stdlib.h>

enum { FRACTION_BITS = 25 };

/* 10^decades for |decades| <= 8, up to 6 %: 2^w between whole w is taken as linear, because pow need not give the same
 * bits on every machine. */
static double power_of_ten(double decades) {
    const double w = decades * 3.321928094887362, whole = floor(w);
    return ldexp(1.0 + (w - whole), (int)whole);
}

/* Spread evenly over [0, 1): 32 bits of a hash of the edge. */
static double chance(int64_t i, int64_t j, uint64_t salt) {
    return (double)(gsm_mix(gsm_mix((uint64_t)i << 32 | (uint64_t)j) ^ salt) >> 32) * 0x1p-32;
}

static double random_factor(int64_t i, int64_t j, int decades) {
    return power_of_ten((double)decades * (2.0 * chance(i, j, 1) - 1.0));
}

/* Step K of an interior-point run on a network: the conductance is x / z, where x z = mu falls from 1 to 10^-7. Two
 * edges of five end with a positive flow x, and x / z grows as 1 / mu; the others with a positive price z, and x / z
 * falls as mu. Each has a size of its own, within half a decade, and some lag behind: they move half as fast. From one
 * step to the next all move by a little more or less than their share. */
static double step_factor(int64_t i, int64_t j, int step) {
    const double decades = (double)GSM_MOST_DECADES * (double)step / (double)(GSM_STEPS - 1);
    const double side = chance(i, j, 2) < 0.4 ? 1.0 : -1.0, speed = 0.5 + 0.5 * chance(i, j, 3);
    const double size = chance(i, j, 4) - 0.5, shake = 0.1 * (chance(i, j, 5 + (uint64_t)step) - 0.5);
    return power_of_ten(side * speed * decades + size + shake);
}

static int64_t quantum(double conductance) {
    int64_t multiple = (int64_t)ldexp(conductance, FRACTION_BITS);
    return multiple < 1 ? 1 : multiple;
}

/* Adds to the conductances that meet in a node; false where they are more than 2^62. */
static bool add(int64_t *sum, int64_t conductance) {
    if (*sum > INT64_MAX / 2 - conductance) { /* round_up adds less than as much again */
        return false;
    }
    *sum += conductance;
    return true;
}

/* The least double that is at least sum 2^-25. */
static double round_up(int64_t sum) {
    int64_t unit = 1;
    while ((sum + unit - 1) / unit > INT64_C(1) << 53) {
        unit *= 2;
    }
    return ldexp((double)((sum + unit - 1) / unit), -FRACTION_BITS) * (double)unit;
}

/* What is left of each row's sum, in excess; false where the matrix is no network's. */
static bool find_excess(const gsm_matrix *a, double *excess) {
    bool good = true;
    for (int64_t j = 0; j < a->n; j++) {
        for (int64_t p = a->colptr[j]; p < a->colptr[j + 1]; p++) {
            int64_t i = a->rowidx[p];
            excess[j] += a->values[p];
            excess[i] += i == j ? 0.0 : a->values[p];
            good = good && (i == j || a->values[p] <= 0.0);
        }
    }
    for (int64_t j = 0; j < a->n; j++) {
        good = good && excess[j] >= 0.0;
    }
    return good;
}

static int set_conductances(const char *spec, double (*factor)(int64_t i, int64_t j, int number), int number,
                            gsm_matrix *a, gsm_report *report) {
    double *excess = calloc((size_t)a->n + 1, sizeof *excess);
    int64_t *sum = calloc((size_t)a->n + 1, sizeof *sum);
    int status = GSM_SUCCESS;
    if (excess == NULL || sum == NULL) {
        status = gsm_fail_memory(report);
    } else if (!find_excess(a, excess)) {
        status = gsm_fail(report, GSM_INVALID_ARGUMENT,
                          "'%s': conductances are for grids and graphs, whose entries off the diagonal are "
                          "not positive and whose rows do not sum to less than nothing",
                          spec);
    }
    for (int64_t j = 0; j < a->n && status == GSM_SUCCESS; j++) {
        bool fits = excess[j] == 0.0 || add(&sum[j], quantum(excess[j] * factor(j, j, number)));
        for (int64_t p = a->colptr[j]; p < a->colptr[j + 1]; p++) {
            int64_t i = a->rowidx[p];
            if (i != j && a->values[p] < 0.0) {
                int64_t conductance = quantum(-a->values[p] * factor(i, j, number));
                a->values[p] = -ldexp((double)conductance, -FRACTION_BITS);
                fits = fits && add(&sum[i], conductance) && add(&sum[j], conductance);
            }
        }
        if (!fits) {
            status = gsm_fail(report, GSM_INVALID_ARGUMENT, "'%s': too many edges meet in one node", spec);
        } else if (a->colptr[j] < a->colptr[j + 1]) { /* every generator stores its diagonal first */
            a->values[a->colptr[j]] = round_up(sum[j]);
        }
    }
    free(excess);
    free(sum);
    return status;
}

int gsm_set_contrast(const char *spec, int decades, gsm_matrix *matrix, gsm_report *report) {
    return set_conductances(spec, random_factor, decades, matrix, report);
}

int gsm_set_step(const char *spec, int step, gsm_matrix *matrix, gsm_report *report) {
    return set_conductances(spec, step_factor, step, matrix, report);
}
