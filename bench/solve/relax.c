#include "relax.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int bench_relax_parse(const char *text, bench_relax *relax) {
    const char *at = text;
    relax->text = text;
    for (int k = 0; k < 6; k++) {
        char *end;
        const double value = strtod(at, &end);
        if (end == at || *end != (k < 5 ? ',' : 0) || !(value >= 0))
            return -1;
        if (k < 3 && (value > 1e9 || value != floor(value)))
            return -1;
        if (k < 3)
            relax->columns[k] = (size_t)value;
        else
            relax->zeros[k - 3] = value;
        at = end + 1;
    }
    return 0;
}

void bench_relax_name(const bench_relax *relax, const char *matrix, char *name, size_t bytes) {
    snprintf(name, bytes, "%s%s%s", matrix, relax->text ? " relax " : "", relax->text ? relax->text : "");
}

void bench_relax_apply(const bench_relax *relax, cholmod_common *common) {
    for (int k = 0; k < 3 && relax->text; k++) {
        common->nrelax[k] = relax->columns[k];
        common->zrelax[k] = relax->zeros[k];
    }
}
