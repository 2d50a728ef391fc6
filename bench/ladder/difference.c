#include <math.h>
#include <stdlib.h>

#include "ladder.h"

/* norm(v, inf), NaN if an entry is one. */
static double norm(int64_t n, const double *v) {
    double most = 0;

    for (int64_t i = 0; i < n && !isnan(most); i++)
        if (!(fabs(v[i]) <= most))
            most = fabs(v[i]);
    return most;
}

double ladder_difference(const gpusolve_matrix_data *a, double norm_a, int32_t nrhs, const double *x,
                         const double *reference) {
    const int32_t *ptr = a->ptr, *index = a->index;
    const double *value = a->x;
    double *r = malloc(((size_t)a->n + 1) * sizeof *r), worst = r ? 0 : -1;

    for (int32_t j = 0; j < nrhs && worst >= 0;
         j++, x += a->n, reference += a->n) { /* a NaN ends it as well */
        for (int64_t i = 0; i < a->n; i++)
            r[i] = 0;
        for (int64_t k = 0; k < a->n; k++)
            for (int32_t e = ptr[k]; e < ptr[k + 1]; e++) {
                const int32_t i = index[e];

                r[i] += value[e] * (x[k] - reference[k]);
                if (i != k)
                    r[k] += value[e] * (x[i] - reference[i]);
            }
        const double difference = norm(a->n, r) / (norm_a * norm(a->n, reference));

        if (!(difference <= worst))
            worst = difference;
    }
    free(r);
    return worst;
}
