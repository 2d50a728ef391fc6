/* r = b - A x, column by column, and what is to be said about it. */
#include "residual.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* r = r - A x for one column, from A's lower triangle. A real A takes the parts of complex numbers one by one: width numbers
 * lie side by side. */
static void subtract_real(const gsm_matrix *a, int width, const double *x, long double *r) {
    for (int64_t j = 0; j < a->n; j++)
        for (int64_t k = a->colptr[j]; k < a->colptr[j + 1]; k++) {
            const int64_t i = a->rowidx[k];
            const long double value = a->values[k];
            for (int part = 0; part < width; part++) {
                r[i * width + part] -= value * x[j * width + part];
                if (i != j)
                    r[j * width + part] -= value * x[i * width + part];
            }
        }
}

/* The same for a Hermitian A: the upper triangle is the conjugate of the lower one. */
static void subtract_complex(const gsm_matrix *a, const double *x, long double *r) {
    for (int64_t j = 0; j < a->n; j++)
        for (int64_t k = a->colptr[j]; k < a->colptr[j + 1]; k++) {
            const int64_t i = a->rowidx[k];
            const long double re = a->values[2 * k], im = a->values[2 * k + 1];
            r[2 * i] -= re * x[2 * j] - im * x[2 * j + 1];
            r[2 * i + 1] -= re * x[2 * j + 1] + im * x[2 * j];
            if (i != j) {
                r[2 * j] -= re * x[2 * i] + im * x[2 * i + 1];
                r[2 * j + 1] -= re * x[2 * i + 1] - im * x[2 * i];
            }
        }
}

static double modulus(const double *x, int is_complex) {
    return is_complex ? hypot(x[0], x[1]) : fabs(x[0]);
}

/* The largest modulus; NaN if one is. */
static double norm_inf(const double *x, int64_t n, int is_complex) {
    double norm = 0;
    for (int64_t i = 0; i < n && !isnan(norm); i++) {
        const double value = modulus(x + (is_complex ? 2 * i : i), is_complex);
        if (!(value <= norm))
            norm = value;
    }
    return norm;
}

/* Counts a component of the size value. */
static void count(double value, command_residual *residual) {
    if (value == 0) {
        residual->zeros++;
        return;
    }
    const double power = ceil(-log10(value));
    if (power >= RESIDUAL_DECADES)
        residual->smaller++;
    else
        residual->decade[power > 0 ? (int)power : 0]++;
}

/* Column j, whose residual is in r. */
static void judge(const command_problem *p, int64_t j, const double *r, command_residual *residual,
                  double *largest) {
    const int width = p->is_complex ? 2 : 1;
    const int64_t n = p->a.n;
    const double scale = p->norm_a * norm_inf(p->x + j * n * width, n, p->is_complex) +
                         norm_inf(p->b + j * n * width, n, p->is_complex);
    const double norm = norm_inf(r, n, p->is_complex), error = norm == 0 ? 0 : norm / scale;
    if (!(error <= residual->worst) && !isnan(residual->worst)) {
        residual->worst = error;
        residual->worst_column = j + 1;
    }
    for (int64_t i = 0; i < n; i++) {
        const double value = modulus(r + i * width, p->is_complex);
        count(value == 0 ? 0 : value / scale, residual);
        if (value > 0 && value / scale > *largest) {
            *largest = value / scale;
            residual->largest_row = i + 1;
            residual->largest_column = j + 1;
        }
    }
}

int residual_compute(const command_problem *p, int keep, command_residual *residual) {
    const size_t width = p->is_complex ? 2 : 1, length = (size_t)p->a.n * width;
    long double *sums = malloc((length + 1) * sizeof *sums);
    double *r = malloc(((keep ? (size_t)p->cols : 1) * length + 1) * sizeof *r), largest = 0;
    memset(residual, 0, sizeof *residual);
    for (int64_t j = 0; sums && r && j < p->cols; j++) {
        const double *b = p->b + (size_t)j * length, *x = p->x + (size_t)j * length;
        double *column = keep ? r + (size_t)j * length : r;
        for (size_t k = 0; k < length; k++)
            sums[k] = b[k];
        if (p->a.is_complex)
            subtract_complex(&p->a, x, sums);
        else
            subtract_real(&p->a, (int)width, x, sums);
        for (size_t k = 0; k < length; k++)
            column[k] = (double)sums[k];
        judge(p, j, column, residual, &largest);
    }
    const int failed = !sums || !r;
    free(sums);
    if (keep && !failed)
        residual->values = r;
    else
        free(r);
    return failed ? -1 : 0;
}

void residual_release(command_residual *residual) {
    free(residual->values);
    residual->values = NULL;
}

static void plot_line(FILE *file, const char *from, int64_t numbers, int64_t most) {
    enum { WIDTH = 40 };
    const int length = numbers ? 1 + (int)((WIDTH - 1) * (double)numbers / (double)most) : 0;
    fprintf(file, "  %-16s %10" PRId64, from, numbers);
    if (length)
        fprintf(file, "  %.*s", length, "########################################");
    fputc('\n', file);
}

void residual_plot(const command_residual *residual, FILE *file) {
    int first = 0, last = RESIDUAL_DECADES - 1;
    int64_t most = residual->zeros > residual->smaller ? residual->zeros : residual->smaller;
    while (first <= last && !residual->decade[first])
        first++;
    while (last > first && !residual->decade[last])
        last--;
    for (int i = first; i <= last; i++)
        most = residual->decade[i] > most ? residual->decade[i] : most;
    fputs("residuals abs(b - A x) over norm(A) norm(x) + norm(b), and how many are as large:\n", file);
    for (int i = first; i <= last; i++) {
        char from[32];
        (void)snprintf(from, sizeof from, i ? "1e-%02d to 1e-%02d" : "1 and more", i, i - 1);
        plot_line(file, from, residual->decade[i], most);
    }
    if (residual->smaller)
        plot_line(file, "smaller", residual->smaller, most);
    if (residual->zeros)
        plot_line(file, "0", residual->zeros, most);
    if (residual->largest_row)
        fprintf(file, "  the largest is in row %" PRId64 ", column %" PRId64 "\n", residual->largest_row,
                residual->largest_column);
}
