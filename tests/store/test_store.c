/*
 * Saved factors: every kind, number and index type comes back from its file as it was, by loading and by mapping, on every
 * backend, with the same bits in a solve; the file is the same whatever handle wrote it, and whatever gaps and z the arrays had.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "store_cases.h"

#include "cholmod_helpers.h"
#include "supernodal/store/export.h"
#include "supernodal/store/store.h"

/* Solves, refreshes and refusals of a factor from a file. */
static void check_loaded(gpusolve_handle *handle, gpusolve_factor *factor, const gpusolve_factor_data *data,
                         const store_answer *expected) {
    REQUIRE(factor != NULL);
    CHECK(store_answers(handle, factor, expected));
    gpusolve_factor_data again = *data;
    again.in_place = 0;
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &again), GPUSOLVE_OK);
    CHECK(store_answers(handle, factor, expected));
    gpusolve_factor_destroy(factor);
}

/* Save the factor itself: its numbers come back to rounding, and with the old data the old bits, where the plan is the same. */
static void round_trip_of_factor(gpusolve_handle *handle, const gpusolve_factor *from,
                                 const gpusolve_factor_data *data, const store_answer *expected) {
    enum { ROUNDINGS = 4000 };
    const char *path = store_path("read back");
    gpusolve_factor *factor = NULL;
    REQUIRE(testing_check(gpusolve_factor_save(handle, from, path) == GPUSOLVE_OK, __FILE__, __LINE__, "%s",
                          gpusolve_last_error(handle)));
    CHECK(store_answers(handle, from, expected)); /* it is as it was */
    CHECK_STATUS(gpusolve_factor_load(handle, path, &factor), GPUSOLVE_OK);
    REQUIRE(factor != NULL);
    CHECK(store_is_near(handle, factor, expected, ROUNDINGS));
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, data), GPUSOLVE_OK);
    CHECK(data->kind == GPUSOLVE_SIMPLICIAL_LDL ? store_is_near(handle, factor, expected, ROUNDINGS)
                                                : store_answers(handle, factor, expected));
    gpusolve_factor_destroy(factor);
    CHECK(unlink(path) == 0);
}

/* Save the data and get it back in each way. */
static void round_trip(gpusolve_handle *handle, const gpusolve_factor_data *data) {
    const char *path = store_path("factor");
    const int64_t live = gsv_live_allocations(), on_device = gsv_live_on_device();
    gpusolve_factor *factor = NULL;
    gpusolve_factor_data copied = *data;
    copied.in_place = 0;
    REQUIRE(testing_check(gpusolve_factor_create(handle, &copied, &factor) == GPUSOLVE_OK, __FILE__, __LINE__,
                          "%s", gpusolve_last_error(handle)));
    store_answer expected = store_ask(handle, factor, data->n, data->dtype);
    round_trip_of_factor(handle, factor, &copied, &expected);
    gpusolve_factor_destroy(factor);

    CHECK_STATUS(gpusolve_factor_data_save(handle, data, path), GPUSOLVE_OK);
    CHECK(store_count() == 1);
    CHECK_STATUS(gpusolve_factor_load(handle, path, &factor), GPUSOLVE_OK);
    check_loaded(handle, factor, data, &expected);
    for (int verify = -1; verify <= 1; verify++) {
        gpusolve_map_options options = GPUSOLVE_MAP_OPTIONS_INIT;
        options.verify = verify;
        CHECK_STATUS(gpusolve_factor_map(handle, path, verify < 0 ? NULL : &options, &factor), GPUSOLVE_OK);
        check_loaded(handle, factor, data, &expected);
    }
    store_forget(&expected);
    gpusolve_destroy(handle);
    CHECK(gsv_live_allocations() <= live && gsv_live_on_device() <= on_device);
}

/* The files of the same factor, written through another handle or from arrays with gaps, are the same. */
static void same_file(gpusolve_handle *handle, const gpusolve_factor_data *data,
                      const store_bytes *expected) {
    const char *path = store_path("other");
    CHECK_STATUS(gpusolve_factor_data_save(handle, data, path), GPUSOLVE_OK);
    store_bytes got = store_read(path);
    CHECK(got.count == expected->count && memcmp(got.bytes, expected->bytes, got.count) == 0);
    free(got.bytes);
    CHECK(unlink(path) == 0);
}

static void test_small(gpusolve_backend backend) {
    for (int kind = 0; kind < 3; kind++)
        for (int dtype = 0; dtype < 4; dtype++)
            for (int form = 0; form < 16; form++) {
                const int split = form & 1, itype = form >> 1 & 1, with_nz = form >> 2 & 1,
                          no_perm = form >> 3;
                if (split && !testing_is_complex((gpusolve_dtype)dtype))
                    continue;
                testing_in("%s, kind %d, dtype %d, itype %d, split %d, nz %d, perm %d",
                           testing_backend_name(backend), kind, dtype, itype, split, with_nz, !no_perm);
                gpusolve_factor_data data = small_factor((gpusolve_factor_kind)kind, (gpusolve_itype)itype,
                                                         (gpusolve_dtype)dtype, split, with_nz);
                gpusolve_factor_data saved = data;
                saved.perm = no_perm ? NULL : data.perm;
                saved.in_place = kind == GPUSOLVE_SUPERNODAL_LL && !split;
                round_trip(testing_handle(backend, 2), &saved);
                store_bytes file = store_read(store_path("factor"));
                gpusolve_factor_data merged = small_factor((gpusolve_factor_kind)kind, (gpusolve_itype)itype,
                                                           (gpusolve_dtype)dtype, 0, !with_nz);
                gpusolve_factor_data other = merged;
                other.perm = no_perm ? NULL : merged.perm;
                gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
                same_file(handle, &other, &file);
                gpusolve_destroy(handle);
                free(file.bytes);
                free_factor(&data);
                free_factor(&merged);
            }
    CHECK(unlink(store_path("factor")) == 0);
}

/* The same factor with gaps between panels or columns, which hold NaNs. */
static gpusolve_factor_data with_gaps(const gpusolve_factor_data *from, int64_t gap) {
    const int panels = from->kind == GPUSOLVE_SUPERNODAL_LL;
    const int64_t items = panels ? from->nsuper : from->n;
    gpusolve_factor_data to = *from;
    to.xsize = from->xsize + gap * (items + 1);
    int32_t *starts = malloc((size_t)(items + 1) * sizeof *starts),
            *counts = malloc((size_t)items * sizeof *counts);
    int32_t *rows = malloc((size_t)to.xsize * sizeof *rows);
    void *numbers = malloc((size_t)to.xsize * testing_bytes(from->dtype));
    REQUIRE(starts && counts && rows && numbers);
    memset(numbers, 0xff, (size_t)to.xsize * testing_bytes(from->dtype));
    memset(rows, 0xff, (size_t)to.xsize * sizeof *rows);
    const int32_t *old = panels ? from->px : from->p;
    for (int64_t k = 0; k <= items; k++)
        starts[k] = old[k] + (int32_t)(gap * (k + 1));
    for (int64_t k = 0; k < items; k++) {
        const int64_t count = panels || !from->nz ? old[k + 1] - old[k] : ((const int32_t *)from->nz)[k];
        for (int64_t t = 0; t < count; t++) {
            testing_store(from->dtype, numbers, starts[k] + t,
                          testing_fetch(from->dtype, from->x, old[k] + t));
            if (!panels)
                rows[starts[k] + t] = ((const int32_t *)from->i)[old[k] + t];
        }
        counts[k] = (int32_t)count;
    }
    to.x = numbers;
    to.px = panels ? starts : NULL;
    to.p = panels ? NULL : starts;
    to.i = panels ? NULL : rows;
    to.nz = panels ? NULL : counts;
    if (panels) {
        free(rows);
        free(counts);
    }
    return to;
}

static void free_gaps(gpusolve_factor_data *data) {
    free((void *)(uintptr_t)data->x);
    free((void *)(uintptr_t)data->px);
    free((void *)(uintptr_t)data->p);
    free((void *)(uintptr_t)data->i);
    free((void *)(uintptr_t)data->nz);
}

/* Factors of CHOLMOD's, some of many blocks. */
static void test_large(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind,
                       cholmod_common *common) {
    testing_in("%s, %s, kind %d", testing_backend_name(backend), spec, (int)kind);
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, kind, common);
    REQUIRE(l != NULL);
    gpusolve_factor_data data = testing_factor_data(l);
    round_trip(testing_handle(backend, 3), &data);
    store_bytes file = store_read(store_path("factor"));
    gpusolve_factor_data gaps = with_gaps(&data, 3);
    for (int threads = 1; threads <= 4; threads += 3) {
        gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, threads);
        same_file(handle, &data, &file);
        same_file(handle, &gaps, &file);
        gpusolve_destroy(handle);
    }
    free(file.bytes);
    free_gaps(&gaps);
    CHECK(unlink(store_path("factor")) == 0);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

/* What was saved beside one backend is loaded on the other. */
static void test_between(const gpusolve_backend *backends, int count) {
    for (int from = 0; from < count; from++)
        for (int to = 0; to < count; to++) {
            testing_in("from %s to %s", testing_backend_name(backends[from]),
                       testing_backend_name(backends[to]));
            gpusolve_factor_data data =
                small_factor(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_INT32, GPUSOLVE_DOUBLE, 0, 0);
            gpusolve_handle *writer = testing_handle(backends[from], 2),
                            *reader = testing_handle(backends[to], 2);
            gpusolve_factor *factor = NULL;
            REQUIRE(gpusolve_factor_create(reader, &data, &factor) == GPUSOLVE_OK);
            store_answer expected = store_ask(reader, factor, data.n, data.dtype);
            gpusolve_factor_destroy(factor);
            CHECK_STATUS(gpusolve_factor_data_save(writer, &data, store_path("factor")), GPUSOLVE_OK);
            CHECK_STATUS(gpusolve_factor_load(reader, store_path("factor"), &factor), GPUSOLVE_OK);
            check_loaded(reader, factor, &data, &expected);
            store_forget(&expected);
            gpusolve_destroy(writer);
            gpusolve_destroy(reader);
            free_factor(&data);
            CHECK(unlink(store_path("factor")) == 0);
        }
}

static void test_empty(gpusolve_backend backend) {
    for (int kind = 0; kind < 3; kind++) {
        testing_in("%s, n = 0, kind %d", testing_backend_name(backend), kind);
        gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
        data.kind = (gpusolve_factor_kind)kind;
        round_trip(testing_handle(backend, 1), &data);
        CHECK(unlink(store_path("factor")) == 0);
    }
}

/* The arrays in the file are those that were saved, number by number; values begin on a page. */
static void test_arrays(void) {
    testing_in("arrays");
    gpusolve_factor_data data =
        small_factor(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_INT64, GPUSOLVE_COMPLEX_DOUBLE, 1, 0);
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    CHECK_STATUS(gpusolve_factor_data_save(handle, &data, store_path("factor")), GPUSOLVE_OK);
    for (int map = 0; map <= GSV_STORED_MAP; map++) {
        gsv_stored stored;
        gsv_message message = {""};
        REQUIRE(gsv_store_open(store_path("factor"), map | GSV_STORED_VERIFY, NULL, &stored, &message) ==
                GPUSOLVE_OK);
        REQUIRE(stored.numbers.bring_all(stored.numbers.context, NULL, &message) == GPUSOLVE_OK);
        CHECK(!map || (uintptr_t)stored.data.x % 4096 == 0);
        CHECK(stored.data.kind == data.kind && stored.data.dtype == data.dtype && !stored.data.z);
        CHECK(stored.data.n == N && stored.data.minor == N && stored.data.xsize == XSIZE);
        for (int64_t k = 0; k < N; k++)
            CHECK(get_index(stored.data.perm, GPUSOLVE_INT64, k) == perm[k]);
        for (int64_t k = 0; k <= NSUPER; k++)
            CHECK(get_index(stored.data.px, GPUSOLVE_INT64, k) == px[k]);
        for (int64_t k = 0; k < XSIZE; k++) {
            const double complex got = get_number(&stored.data, k), saved = get_number(&data, k);
            CHECK(isnan(x[k]) ? got == 0 : got == saved);
        }
        gsv_stored_free(&stored);
    }
    gpusolve_destroy(handle);
    free_factor(&data);
    CHECK(unlink(store_path("factor")) == 0);
}

/* ------------------------------------------------------------------------------- numbers, read back --- */

/* The largest difference between what was given and what came back, in roundings of the number itself on the host, of the
 * column's diagonal on a device. */
static double worst_number(const gpusolve_factor_data *given, const gpusolve_factor_data *back,
                           int of_number) {
    const double epsilon = testing_epsilon(given->dtype);
    double worst = 0;
    for (int64_t k = 0; k < given->nsuper; k++) {
        const int64_t nr = get_index(given->pi, given->itype, k + 1) - get_index(given->pi, given->itype, k);
        const int64_t nc =
            get_index(given->super, given->itype, k + 1) - get_index(given->super, given->itype, k);
        const int64_t a = get_index(given->px, given->itype, k), b = get_index(back->px, back->itype, k);
        for (int64_t c = 0; c < nc; c++)
            for (int64_t r = c; r < nr; r++) {
                const double complex wanted = get_number(given, a + c * nr + r);
                const double size = cabs(of_number ? wanted : get_number(given, a + c * nr + c));
                const double difference = cabs(get_number(back, b + c * nr + r) - wanted);
                worst = testing_worse(worst, difference == 0 ? 0 : difference / (size * epsilon));
            }
    }
    return worst;
}

/* Numbers of every type in panels of many blocks; in_place: the very numbers. */
static void test_read_back(gpusolve_backend backend, cholmod_common *common) {
    enum { ROUNDINGS = 3000 };
    const int host = backend == GPUSOLVE_BACKEND_HOST;
    cholmod_sparse *a = grid_matrix(12, 12, 11, CHOLMOD_REAL, common);
    cholmod_factor *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(l != NULL);
    const gpusolve_factor_data real = describe(l);
    REQUIRE(real.kind == GPUSOLVE_SUPERNODAL_LL && real.nsuper > 1);
    for (int dtype = 0; dtype < 4; dtype++)
        for (int in_place = 0; in_place <= host; in_place++) {
            testing_in("%s, dtype %d read back, in_place %d", testing_backend_name(backend), dtype, in_place);
            gpusolve_factor_data given = copy_factor(&real, GPUSOLVE_INT32, (gpusolve_dtype)dtype, 0);
            for (int64_t k = 0; k < given.xsize && testing_is_complex((gpusolve_dtype)dtype); k++)
                if (creal(get_number(&given, k)) < 0.5) /* no diagonal is */
                    set_number(&given, k, CMPLX(creal(get_number(&given, k)), 1e-3 * (double)(k % 17)));
            given.in_place = in_place;
            gpusolve_handle *handle = testing_handle(backend, 3);
            gpusolve_factor *factor = NULL;
            gsv_exported back;
            REQUIRE(gpusolve_factor_create(handle, &given, &factor) == GPUSOLVE_OK);
            REQUIRE(gsv_export(handle, factor, &back) == GPUSOLVE_OK);
            CHECK(back.data.kind == GPUSOLVE_SUPERNODAL_LL && back.data.nsuper == given.nsuper);
            CHECK_BELOW(worst_number(&given, &back.data, host), in_place ? 1e-30 : host ? 2.5 : ROUNDINGS);
            gsv_exported_free(&back);
            gpusolve_factor_destroy(factor);
            gpusolve_destroy(handle);
            free_factor(&given);
        }
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

static void test_refused(gpusolve_backend backend) {
    testing_in("%s, arguments", testing_backend_name(backend));
    gpusolve_factor_data data = small_factor(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_INT32, GPUSOLVE_DOUBLE, 0, 0);
    gpusolve_handle *handle = testing_handle(backend, 1);
    gpusolve_factor *factor = NULL;
    REQUIRE(gpusolve_factor_create(handle, &data, &factor) == GPUSOLVE_OK);
    CHECK_REFUSED(handle, gpusolve_factor_save(handle, NULL, "x"), GPUSOLVE_INVALID_ARGUMENT,
                  "factor: is NULL");
    CHECK_REFUSED(handle, gpusolve_factor_save(handle, factor, NULL), GPUSOLVE_INVALID_ARGUMENT,
                  "path: is NULL");
    CHECK_REFUSED(handle, gpusolve_factor_save(handle, factor, store_path("no/folder")), GPUSOLVE_FILE_ERROR,
                  "no/folder");
    CHECK_STATUS(gpusolve_factor_save(NULL, factor, "x"), GPUSOLVE_INVALID_ARGUMENT);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    free_factor(&data);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    cholmod_common common;
    REQUIRE(cholmod_start(&common));
    store_begin();
    const int open_files = store_open_files();
    test_arrays();
    for (int b = 0; b < count; b++) {
        test_small(backends[b]);
        test_empty(backends[b]);
        test_refused(backends[b]);
        test_read_back(backends[b], &common);
        for (int kind = 0; kind < 3; kind++) {
            test_large(backends[b], "grid2d:30", (gpusolve_factor_kind)kind, &common);
            test_large(backends[b], "grid3d:14", (gpusolve_factor_kind)kind, &common);
        }
    }
    test_between(backends, count);
    store_end();
    CHECK(count > 1 || store_open_files() == open_files); /* the driver has files of its own */
    cholmod_finish(&common);
    return testing_done();
}
