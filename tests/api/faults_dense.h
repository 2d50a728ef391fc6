/* The calls of gpusolve_dense.h, one function each: faults.h says how. */
#ifndef FAULTS_DENSE_H
#define FAULTS_DENSE_H

#include "faults.h"

/* ------------------------------------------------------------------------------------------- operands --- */

/* A copy where the backend's dense calls want it. */
static gpusolve_dense dense_copy(const world *w, const gpusolve_dense *from) {
    gpusolve_dense to = *from;
    const size_t bytes = testing_block_bytes(from);
    to.values = w->backend == GPUSOLVE_BACKEND_CUDA ? device_new(from->values, bytes) : malloc(bytes);
    REQUIRE(to.values != NULL);
    if (w->backend != GPUSOLVE_BACKEND_CUDA)
        memcpy(to.values, from->values, bytes);
    return to;
}

static void dense_delete(const world *w, gpusolve_dense *block) {
    if (w->backend == GPUSOLVE_BACKEND_CUDA)
        device_delete(block->values);
    else
        free(block->values);
    block->values = NULL;
}

static void open_dense(world *w) {
    static const float one_s[] = {1, 0};
    static const double one_d[] = {1, 0};
    for (int t = 0; t < 4; t++) {
        const gpusolve_dtype dtype = (gpusolve_dtype)t;
        dense_operands *d = &w->dense[t];
        d->alpha = dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT ? (const void *)one_s : one_d;
        d->a = testing_block(dtype, GPUSOLVE_COL_MAJOR, ORDER, ORDER, 0);
        d->b = testing_block(dtype, GPUSOLVE_COL_MAJOR, ORDER, VECTORS, 0);
        testing_fill(&d->a, 5);
        testing_fill(&d->b, 6);
        for (int64_t j = 0; j < ORDER; j++)
            for (int64_t i = 0; i < ORDER; i++) {
                const double complex number = testing_get(&d->a, i, j) / ORDER;
                testing_set(&d->a, i, j, i < j ? NAN : i == j ? 2 + creal(number) : number);
            }
    }
}

static void close_dense(world *w) {
    for (int t = 0; t < 4; t++) {
        free(w->dense[t].a.values);
        free(w->dense[t].b.values);
    }
}

/* Operands as they were at first. */
static dense_operands *dense_new(world *w, gpusolve_dtype dtype) {
    dense_operands *d = &w->dense[dtype];
    d->in_a = dense_copy(w, &d->a);
    d->in_b = dense_copy(w, &d->b);
    return d;
}

/* The result is the first one that was got; potri's is in a, the others' in b. */
static gpusolve_status dense_done(world *w, dense_operands *d, gpusolve_status status, int in_a) {
    gpusolve_dense *in = in_a ? &d->in_a : &d->in_b;
    gpusolve_dense got = testing_block(in->dtype, GPUSOLVE_COL_MAJOR, in->rows, in->cols, 0);
    gpusolve_dense *right = in_a ? &d->right_a : &d->right_b;
    if (status == GPUSOLVE_OK) {
        gpusolve_handle *handle = w->handle; /* its stream is the default one, which the copy waits for */
        CHECK(handle != NULL);
        if (w->backend == GPUSOLVE_BACKEND_CUDA)
            CHECK(device_read(got.values, in->values, testing_block_bytes(&got)) == 0);
        else
            memcpy(got.values, in->values, testing_block_bytes(&got));
        for (int64_t j = 0; in_a && j < in->cols; j++)
            for (int64_t i = 0; i < j; i++) /* the other triangle is not the call's */
                testing_set(&got, i, j, 0);
        if (right->values)
            CHECK(testing_near(&got, right));
    }
    if (status == GPUSOLVE_OK && !right->values)
        *right = got;
    else
        free(got.values);
    dense_delete(w, &d->in_a);
    dense_delete(w, &d->in_b);
    return status;
}

/* Before another call: its result is another one. */
static void forget_dense(world *w) {
    for (int t = 0; t < 4; t++) {
        free(w->dense[t].right_a.values);
        free(w->dense[t].right_b.values);
        w->dense[t].right_a.values = w->dense[t].right_b.values = NULL;
    }
}

/* ---------------------------------------------------------------------------------------------- calls --- */

#define TYPE_s GPUSOLVE_FLOAT
#define TYPE_d GPUSOLVE_DOUBLE
#define TYPE_c GPUSOLVE_COMPLEX_FLOAT
#define TYPE_z GPUSOLVE_COMPLEX_DOUBLE
#define ALPHA_s 1.0f
#define ALPHA_d 1.0
#define ALPHA_c d->alpha
#define ALPHA_z d->alpha

#define FOR_EACH_TYPE(X) X(s) X(d) X(c) X(z)

#define TRSV(t)                                                                                           \
    static gpusolve_status t##trsv(world *w) {                                                            \
        dense_operands *d = dense_new(w, TYPE_##t);                                                       \
        return dense_done(                                                                                \
            w, d,                                                                                         \
            FAULTY(w, gpusolve_##t##trsv(w->handle, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, \
                                         ORDER, d->in_a.values, ORDER, d->in_b.values, 1)),               \
            0);                                                                                           \
    }
FOR_EACH_TYPE(TRSV)

#define TRIANGULAR(t, name)                                                                            \
    static gpusolve_status t##name(world *w) {                                                         \
        dense_operands *d = dense_new(w, TYPE_##t);                                                    \
        return dense_done(                                                                             \
            w, d,                                                                                      \
            FAULTY(w, gpusolve_##t##name(w->handle, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS,  \
                                         GPUSOLVE_NON_UNIT, ORDER, VECTORS, ALPHA_##t, d->in_a.values, \
                                         ORDER, d->in_b.values, ORDER, NULL, 0)),                      \
            0);                                                                                        \
    }
#define TRSM(t) TRIANGULAR(t, trsm)
#define TRMM(t) TRIANGULAR(t, trmm)
FOR_EACH_TYPE(TRSM)
FOR_EACH_TYPE(TRMM)

#define POTRS(t)                                                                                            \
    static gpusolve_status t##potrs(world *w) {                                                             \
        dense_operands *d = dense_new(w, TYPE_##t);                                                         \
        return dense_done(                                                                                  \
            w, d,                                                                                           \
            FAULTY(w, gpusolve_##t##potrs(w->handle, GPUSOLVE_LOWER, ORDER, VECTORS, d->in_a.values, ORDER, \
                                          d->in_b.values, ORDER, NULL, 0)),                                 \
            0);                                                                                             \
    }
FOR_EACH_TYPE(POTRS)

#define POTRI(t)                                                                                          \
    static gpusolve_status t##potri(world *w) {                                                           \
        dense_operands *d = dense_new(w, TYPE_##t);                                                       \
        return dense_done(w, d,                                                                           \
                          FAULTY(w, gpusolve_##t##potri(w->handle, GPUSOLVE_LOWER, ORDER, d->in_a.values, \
                                                        ORDER, NULL, 0)),                                 \
                          1);                                                                             \
    }
FOR_EACH_TYPE(POTRI)

static gpusolve_status trsv_query(world *w) {
    size_t bytes;
    return FAULTY(w, gpusolve_trsv_query(w->handle, GPUSOLVE_DOUBLE, ORDER, &bytes));
}

static gpusolve_status trsv_prepare(world *w) {
    dense_operands *d = dense_new(w, GPUSOLVE_DOUBLE);
    gpusolve_trsv *prepared;
    gpusolve_status status =
        FAULTY(w, gpusolve_trsv_prepare(w->handle, GPUSOLVE_DOUBLE, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS,
                                        GPUSOLVE_NON_UNIT, ORDER, d->in_a.values, ORDER, &prepared));
    CHECK((status == GPUSOLVE_OK) == (prepared != NULL));
    if (status == GPUSOLVE_OK)
        CHECK_STATUS(gpusolve_trsv_solve(w->handle, prepared, d->in_b.values, 1), GPUSOLVE_OK);
    status = dense_done(w, d, status, 0);
    gpusolve_trsv_destroy(prepared);
    return status;
}

/* The form is made outside: what the first solve of a handle makes is made to fail. */
static gpusolve_status trsv_solve(world *w) {
    dense_operands *d = dense_new(w, GPUSOLVE_DOUBLE);
    gpusolve_trsv *prepared;
    CHECK_STATUS(gpusolve_trsv_prepare(w->handle, GPUSOLVE_DOUBLE, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS,
                                       GPUSOLVE_NON_UNIT, ORDER, d->in_a.values, ORDER, &prepared),
                 GPUSOLVE_OK);
    const gpusolve_status status =
        dense_done(w, d, FAULTY(w, gpusolve_trsv_solve(w->handle, prepared, d->in_b.values, 1)), 0);
    gpusolve_trsv_destroy(prepared);
    return status;
}

static gpusolve_status trsv_destroy(world *w) {
    dense_operands *d = dense_new(w, GPUSOLVE_DOUBLE);
    gpusolve_trsv *prepared;
    CHECK_STATUS(gpusolve_trsv_prepare(w->handle, GPUSOLVE_DOUBLE, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS,
                                       GPUSOLVE_NON_UNIT, ORDER, d->in_a.values, ORDER, &prepared),
                 GPUSOLVE_OK);
    FAULTY_VOID(w, gpusolve_trsv_destroy(prepared));
    dense_delete(w, &d->in_a);
    dense_delete(w, &d->in_b);
    return GPUSOLVE_OK;
}

#define WORKSPACE(name, ...)                                                                            \
    static gpusolve_status name##_workspace(world *w) {                                                 \
        size_t bytes;                                                                                   \
        return FAULTY(w, gpusolve_##name##_workspace(w->handle, GPUSOLVE_DOUBLE, __VA_ARGS__, &bytes)); \
    }
WORKSPACE(trsm, GPUSOLVE_LEFT, ORDER, VECTORS)
WORKSPACE(trmm, GPUSOLVE_LEFT, ORDER, VECTORS)
WORKSPACE(potrs, ORDER, VECTORS)
WORKSPACE(potri, ORDER)

/* -------------------------------------------------------------------------------------------- staging --- */

static gpusolve_staging *new_staging(world *w) {
    gpusolve_staging_options options = GPUSOLVE_STAGING_OPTIONS_INIT;
    gpusolve_staging *staging;
    options.device_bytes = 4 << 20;
    options.pinned_bytes = 1 << 20;
    CHECK_STATUS(gpusolve_staging_create(w->handle, &options, &staging), GPUSOLVE_OK);
    return staging;
}

static gpusolve_status staging_create(world *w) {
    gpusolve_staging_options options = GPUSOLVE_STAGING_OPTIONS_INIT;
    gpusolve_staging *staging;
    options.device_bytes = 4 << 20;
    options.pinned_bytes = 1 << 20;
    const gpusolve_status status = FAULTY(w, gpusolve_staging_create(w->handle, &options, &staging));
    CHECK((status == GPUSOLVE_OK) == (staging != NULL));
    gpusolve_staging_destroy(staging);
    return status;
}

static gpusolve_status staging_destroy(world *w) {
    gpusolve_staging *staging = new_staging(w);
    FAULTY_VOID(w, gpusolve_staging_destroy(staging));
    return GPUSOLVE_OK;
}

static gpusolve_status staging_is_done(world *w) {
    int done;
    FAULTY_VOID(w, done = gpusolve_staging_is_done(w->staging));
    CHECK(done);
    return GPUSOLVE_OK;
}

static gpusolve_status staging_last_error(world *w) {
    const char *text;
    FAULTY_VOID(w, text = gpusolve_staging_last_error(w->staging));
    CHECK(text != NULL);
    return GPUSOLVE_OK;
}

/* The call and the wait for it, in which the status may come: what it allocates it allocates meanwhile. */
#define STAGED(name)                                                                           \
    static gpusolve_status name##_staged(world *w) {                                           \
        dense_operands *d = &w->dense[GPUSOLVE_DOUBLE];                                        \
        gpusolve_dense b = d->b;                                                               \
        b.values = malloc(testing_block_bytes(&b));                                            \
        REQUIRE(b.values != NULL);                                                             \
        memcpy(b.values, d->b.values, testing_block_bytes(&b));                                \
        arm(w);                                                                                \
        gpusolve_status status = gpusolve_##name##_staged(                                     \
            w->staging, GPUSOLVE_DOUBLE, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS,     \
            GPUSOLVE_NON_UNIT, ORDER, VECTORS, d->alpha, d->a.values, ORDER, b.values, ORDER); \
        const gpusolve_status waited = gpusolve_staging_wait(w->staging);                      \
        status = disarm(w, status ? status : waited);                                          \
        if (status)                                                                            \
            snprintf(w->said, sizeof w->said, "%s", gpusolve_staging_last_error(w->staging));  \
        else if (d->right_b.values)                                                            \
            CHECK(testing_near(&b, &d->right_b));                                              \
        if (status || d->right_b.values)                                                       \
            free(b.values);                                                                    \
        else                                                                                   \
            d->right_b = b;                                                                    \
        return status;                                                                         \
    }
STAGED(trsm)
STAGED(trmm)

#endif
