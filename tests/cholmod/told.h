/* What the error handler of CHOLMOD is told, and that a refusal leaves nothing behind. */
#ifndef CHOLMOD_TOLD_H
#define CHOLMOD_TOLD_H

#include "cholmod_operands.h"

static char last_message[256];
static int last_status, handled;

static inline void remember(int status, const char *file, int line, const char *message) {
    (void)file;
    (void)line;
    snprintf(last_message, sizeof last_message, "%s", message);
    last_status = status;
    handled++;
}

/* Before a call that must be refused. */
typedef struct refusal {
    size_t objects;
    int64_t live;
} refusal;

static inline refusal before_refusal(const cholmod_common *common) {
    handled = 0;
    return (refusal){common->malloc_count, gsv_live_allocations()};
}

/* The status, the sentence, and nothing left behind. */
static inline void check_refusal(gpusolve_handle *handle, refusal before, gpusolve_status got,
                                 gpusolve_status expected, const char *says, const cholmod_common *common) {
    const int told = expected == GPUSOLVE_NOT_POSITIVE_DEFINITE || expected == GPUSOLVE_SINGULAR
                         ? CHOLMOD_NOT_POSDEF
                     : expected == GPUSOLVE_TOO_LARGE ? CHOLMOD_TOO_LARGE
                                                      : CHOLMOD_INVALID;
    testing_in("%s", says);
    CHECK_STATUS(got, expected);
    CHECK(handled == 1 && common->status == told && last_status == told);
    testing_check(strstr(gpusolve_last_error(handle), says) != NULL, __FILE__, __LINE__,
                  "\"%s\" does not say so", gpusolve_last_error(handle));
    CHECK(strcmp(last_message, gpusolve_last_error(handle)) == 0);
    CHECK(common->malloc_count == before.objects && gsv_live_allocations() == before.live);
    handled = 0;
}

/* A factor of `form`: 0 supernodal, 1 simplicial L L', 2 simplicial L D L'. Of a, or of w, which is a with 64-bit indices. */
static inline cholmod_factor *factor_of_form(cholmod_sparse *a, cholmod_sparse *w, int form,
                                             cholmod_common *common) {
    cholmod_factor *l =
        is_wide(common) ? factorize_wide(w, form == 0, common) : factorize(a, form == 0, common);
    if (form > 0 && is_wide(common))
        REQUIRE(cholmod_l_change_factor(l->xtype, form == 1, 0, 1, 1, l, common));
    if (form > 0 && !is_wide(common))
        REQUIRE(cholmod_change_factor(l->xtype, form == 1, 0, 1, 1, l, common));
    return l;
}

static inline void free_factor_of(cholmod_factor **l, cholmod_common *common) {
    if (is_wide(common))
        cholmod_l_free_factor(l, common);
    else
        cholmod_free_factor(l, common);
}

#endif
