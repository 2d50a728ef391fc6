/* The import: each number of a factor bad once, in each way, and of many bad ones the first is named. */
#include "small_factor.h"

static const int column_of[XSIZE] = {0, 0, 0, 0, -1, 1, 1, 1, 2, 2, 3, 3, -1, 4};
static const int simplicial_column_of[ENTRIES] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4};

static void expect_values(const gpusolve_factor_data *data, const gsv_plan *plan, gpusolve_status expected,
                          int column) {
    for (int threads = 1; threads <= 3; threads += 2) {
        gsv_message message = {""};
        char name[32];
        CHECK_STATUS(gsv_import_check_values(data, plan, testing_pool(threads), NULL, &message), expected);
        if (expected) {
            snprintf(name, sizeof name, strstr(message.text, "diagonal") ? "(%d,%d)" : "column %d ", column,
                     column);
            CHECK(strstr(message.text, name) != NULL);
        }
    }
}

/* Each number bad in each way: not finite, and on the diagonal zero, negative, not real. */
static void test_bad_numbers(gpusolve_factor_kind kind, gpusolve_dtype dtype, int split) {
    gpusolve_factor_data data = small_factor(kind, GPUSOLVE_INT32, dtype, split, 0);
    gsv_plan plan = plan_of(&data);
    const int *columns = kind == GPUSOLVE_SUPERNODAL_LL ? column_of : simplicial_column_of;
    const int two_parts = testing_is_complex(dtype);
    for (int k = 0; k < data.xsize; k++) {
        testing_in("number %d, kind %d, dtype %d, split %d", k, (int)kind, (int)dtype, split);
        const double complex good = get_number(&data, k);
        const int column = columns[k];
        const gpusolve_status not_finite = column < 0 ? GPUSOLVE_OK : GPUSOLVE_NOT_FINITE;
        const double bad[] = {NAN, INFINITY, -INFINITY};
        for (int b = 0; b < 3; b++) {
            set_number(&data, k, CMPLX(bad[b], cimag(good)));
            expect_values(&data, &plan, not_finite, column);
            set_number(&data, k, CMPLX(creal(good), bad[b]));
            expect_values(&data, &plan, two_parts ? not_finite : GPUSOLVE_OK, column);
        }
        if (creal(good) >= 2) {
            set_number(&data, k, 0);
            expect_values(&data, &plan, GPUSOLVE_SINGULAR, column);
            set_number(&data, k, -good);
            expect_values(&data, &plan,
                          kind == GPUSOLVE_SIMPLICIAL_LDL ? GPUSOLVE_OK : GPUSOLVE_NOT_POSITIVE_DEFINITE,
                          column);
            set_number(&data, k, CMPLX(creal(good), 1e-30));
            expect_values(&data, &plan, two_parts ? GPUSOLVE_INVALID_FACTOR : GPUSOLVE_OK, column);
        } else {
            set_number(&data, k, 0);
            expect_values(&data, &plan, GPUSOLVE_OK, column);
        }
        set_number(&data, k, good);
    }
    gsv_plan_free(&plan);
    free_factor(&data);
}

/* A diagonal entry whose reciprocal overflows, and one by which its column cannot be divided. D is divided by, so that
 * any D is good. The smallest good entries are good. */
static void test_small_diagonals(gpusolve_factor_kind kind, gpusolve_dtype dtype, int split) {
    gpusolve_factor_data data = small_factor(kind, GPUSOLVE_INT32, dtype, split, 0);
    gsv_plan plan = plan_of(&data);
    const int single = dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT;
    const int has_d = kind == GPUSOLVE_SIMPLICIAL_LDL,
              *columns = has_d || kind ? simplicial_column_of : column_of;
    const double least = single ? (double)FLT_MIN : DBL_MIN, most = single ? (double)FLT_MAX : DBL_MAX;
    for (int k = 0; k < data.xsize; k++) {
        testing_in("diagonal %d, kind %d, dtype %d, split %d", k, (int)kind, (int)dtype, split);
        const double complex good = get_number(&data, k);
        if (!(creal(good) >= 2)) /* not a diagonal entry, or above one */
            continue;
        const gpusolve_status too_small = has_d ? GPUSOLVE_OK : GPUSOLVE_SINGULAR;
        set_number(&data, k, least / 8);
        expect_values(&data, &plan, too_small, columns[k]);
        set_number(&data, k, has_d ? -least / 8 : good);
        expect_values(&data, &plan, GPUSOLVE_OK, columns[k]);
        set_number(&data, k, 8 * least); /* the other numbers of small_factor are up to 16 */
        expect_values(&data, &plan, GPUSOLVE_OK, columns[k]);
        if (k + 1 < data.xsize && columns[k + 1] == columns[k]) {
            const double complex below = get_number(&data, k + 1);
            set_number(&data, k, 4 * least);
            set_number(&data, k + 1, most);
            expect_values(&data, &plan, too_small, columns[k]);
            if (testing_is_complex(dtype)) {
                set_number(&data, k + 1, CMPLX(0, -most));
                expect_values(&data, &plan, too_small, columns[k]);
            }
            set_number(&data, k + 1, below);
        }
        set_number(&data, k, good);
        expect_values(&data, &plan, GPUSOLVE_OK, columns[k]);
    }
    gsv_plan_free(&plan);
    free_factor(&data);
}

/* Many columns at fault, many threads: the first is named, every time. */
static void test_first_fault(void) {
    enum { MANY = 5000 };
    testing_in("first of many faults");
    static int32_t count[MANY + 1], rows[MANY];
    static double numbers[MANY];
    for (int j = 0; j <= MANY; j++)
        count[j] = j;
    for (int j = 0; j < MANY; j++) {
        rows[j] = j;
        numbers[j] = j % 7 == 3 && j > 2000 ? (j % 2 ? NAN : -1) : 1;
    }
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.n = data.minor = data.nsuper = data.ssize = data.xsize = MANY;
    data.super = data.pi = data.px = count;
    data.s = rows;
    data.x = numbers;
    gsv_plan plan = plan_of(&data);
    for (int trial = 0; trial < 100; trial++) {
        gsv_message message = {""};
        CHECK_STATUS(gsv_import_check_values(&data, &plan, testing_pool(1 + trial % 8), NULL, &message),
                     GPUSOLVE_NOT_FINITE);
        CHECK(strstr(message.text, "column 2005 ") != NULL);
    }
    gsv_plan_free(&plan);
}

int main(void) {
    for (int kind = 0; kind < 3; kind++)
        for (int dtype = 0; dtype < 4; dtype++)
            for (int split = 0; split <= testing_is_complex((gpusolve_dtype)dtype); split++) {
                test_bad_numbers((gpusolve_factor_kind)kind, (gpusolve_dtype)dtype, split);
                test_small_diagonals((gpusolve_factor_kind)kind, (gpusolve_dtype)dtype, split);
            }
    test_first_fault();
    CHECK(gsv_live_allocations() == testing_pool_allocations);
    return testing_done();
}
