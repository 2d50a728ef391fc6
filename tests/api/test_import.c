/*
 * The import: each field wrong once, each combination of types. What is refused is refused with the right
 * status and a message that names the place, and leaves nothing allocated. test_import_values.c has the
 * numbers.
 */
#include "small_factor.h"

static void set_scalar(gpusolve_factor_data *data, const char *field, int64_t value) {
    if (!strcmp(field, "size"))
        data->size = (size_t)value;
    else if (!strcmp(field, "kind"))
        data->kind = (gpusolve_factor_kind)value;
    else if (!strcmp(field, "dtype"))
        data->dtype = (gpusolve_dtype)value;
    else if (!strcmp(field, "itype"))
        data->itype = (gpusolve_itype)value;
    else if (!strcmp(field, "n"))
        data->n = value;
    else if (!strcmp(field, "minor"))
        data->minor = value;
    else if (!strcmp(field, "nsuper"))
        data->nsuper = value;
    else if (!strcmp(field, "ssize"))
        data->ssize = value;
    else if (!strcmp(field, "xsize"))
        data->xsize = value;
    else
        REQUIRE(0 && "no field of that name");
}

static const void **array_named(gpusolve_factor_data *data, const char *field) {
    const struct {
        const char *name;
        const void **array;
    } arrays[] = {{"perm", &data->perm}, {"super", &data->super}, {"pi", &data->pi}, {"px", &data->px},
                  {"s", &data->s},       {"p", &data->p},         {"i", &data->i},   {"nz", &data->nz},
                  {"x", &data->x},       {"z", &data->z}};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        if (!strcmp(arrays[k].name, field))
            return arrays[k].array;
    return NULL;
}

enum { SCALAR = -1, TO_NULL = -2 };

typedef struct mangling {
    const char *field;
    int64_t k; /* which entry, or SCALAR, or TO_NULL */
    int64_t value;
    gpusolve_status status;
    const char *says;
} mangling;

#define BIG INT64_C(0x4000000000000000) /* what an int64 array can say and an int32 array cannot */

static const mangling scalars[] = {
    {"size", SCALAR, 0, GPUSOLVE_INVALID_ARGUMENT, "data->size: is 0"},
    {"size", SCALAR, 1000, GPUSOLVE_INVALID_ARGUMENT, "data->size: is 1000"},
    {"kind", SCALAR, 3, GPUSOLVE_INVALID_ARGUMENT, "data->kind: 3"},
    {"kind", SCALAR, -1, GPUSOLVE_INVALID_ARGUMENT, "data->kind: -1"},
    {"dtype", SCALAR, 4, GPUSOLVE_INVALID_ARGUMENT, "data->dtype: 4"},
    {"dtype", SCALAR, -7, GPUSOLVE_INVALID_ARGUMENT, "data->dtype: -7"},
    {"itype", SCALAR, 2, GPUSOLVE_INVALID_ARGUMENT, "data->itype: 2"},
    {"n", SCALAR, -1, GPUSOLVE_INVALID_ARGUMENT, "data->n: is -1"},
    {"n", SCALAR, INT32_MAX, GPUSOLVE_TOO_LARGE, "data->n: 2147483647"},
    {"n", SCALAR, INT64_MAX, GPUSOLVE_TOO_LARGE, "data->n: 9223372036854775807"},
    {"minor", SCALAR, 3, GPUSOLVE_NOT_POSITIVE_DEFINITE, "column 3"},
    {"minor", SCALAR, 6, GPUSOLVE_INVALID_FACTOR, "data->minor: 6"},
    {"minor", SCALAR, -1, GPUSOLVE_INVALID_FACTOR, "data->minor: -1"},
    {"x", TO_NULL, 0, GPUSOLVE_INVALID_ARGUMENT, "data->x: is NULL"},
    {"perm", 1, 5, GPUSOLVE_INVALID_FACTOR, "perm[1] = 5"},
    {"perm", 4, -1, GPUSOLVE_INVALID_FACTOR, "perm[4] = -1"},
    {"perm", 3, 0, GPUSOLVE_INVALID_FACTOR, "perm[3] = 0 appears twice"},
    {"perm", 3, BIG, GPUSOLVE_INVALID_FACTOR, "perm[3]"},
};

static const mangling supernodal[] = {
    {"super", TO_NULL, 0, GPUSOLVE_INVALID_ARGUMENT, "data->super: is NULL"},
    {"pi", TO_NULL, 0, GPUSOLVE_INVALID_ARGUMENT, "data->pi: is NULL"},
    {"px", TO_NULL, 0, GPUSOLVE_INVALID_ARGUMENT, "data->px: is NULL"},
    {"s", TO_NULL, 0, GPUSOLVE_INVALID_ARGUMENT, "data->s: is NULL"},
    {"nsuper", SCALAR, 0, GPUSOLVE_INVALID_FACTOR, "data->nsuper: 0"},
    {"nsuper", SCALAR, -3, GPUSOLVE_INVALID_FACTOR, "data->nsuper: -3"},
    {"nsuper", SCALAR, 6, GPUSOLVE_INVALID_FACTOR, "data->nsuper: 6"},
    {"nsuper", SCALAR, 2, GPUSOLVE_INVALID_FACTOR, "super[2] = 3 is not n = 5"},
    {"nsuper", SCALAR, INT64_MAX, GPUSOLVE_INVALID_FACTOR, "data->nsuper"},
    {"ssize", SCALAR, 7, GPUSOLVE_INVALID_FACTOR, "pi[3] = 8"},
    {"ssize", SCALAR, 9, GPUSOLVE_INVALID_FACTOR, "pi[3] = 8 is not ssize = 9"},
    {"ssize", SCALAR, -1, GPUSOLVE_INVALID_FACTOR, "ssize = -1"},
    {"xsize", SCALAR, 13, GPUSOLVE_INVALID_FACTOR, "px[3] = 14"},
    {"xsize", SCALAR, -1, GPUSOLVE_INVALID_FACTOR, "xsize = -1"},
    {"super", 0, 1, GPUSOLVE_INVALID_FACTOR, "super[0] = 1 is not 0"},
    {"super", 1, 0, GPUSOLVE_INVALID_FACTOR, "super[1] = 0 is not above super[0] = 0"},
    {"super", 1, 3, GPUSOLVE_INVALID_FACTOR, "super[2] = 3 is not above super[1] = 3"},
    {"super", 2, 4, GPUSOLVE_INVALID_FACTOR, "pi[3] = 8 gives supernode 2"},
    {"super", 2, 9, GPUSOLVE_INVALID_FACTOR, "super[3] = 5 is not above super[2] = 9"},
    {"super", 3, 6, GPUSOLVE_INVALID_FACTOR, "super[3] = 6 is not n = 5"},
    {"super", 2, -BIG, GPUSOLVE_INVALID_FACTOR, "super[2]"},
    {"pi", 0, 1, GPUSOLVE_INVALID_FACTOR, "pi[0] = 1 is not 0"},
    {"pi", 1, 1, GPUSOLVE_INVALID_FACTOR, "pi[1] = 1 gives supernode 0"},
    {"pi", 1, 6, GPUSOLVE_INVALID_FACTOR, "pi[1] = 6 gives supernode 0"},
    {"pi", 1, -1, GPUSOLVE_INVALID_FACTOR, "pi[1] = -1"},
    {"pi", 2, 3, GPUSOLVE_INVALID_FACTOR, "pi[2] = 3 is not between pi[1] = 4"},
    {"pi", 2, 4, GPUSOLVE_INVALID_FACTOR, "pi[2] = 4 gives supernode 1"},
    {"pi", 2, 9, GPUSOLVE_INVALID_FACTOR, "pi[2] = 9 is not between"},
    {"pi", 3, 7, GPUSOLVE_INVALID_FACTOR, "pi[3] = 7"},
    {"pi", 2, BIG, GPUSOLVE_INVALID_FACTOR, "pi[2]"},
    {"px", 0, -1, GPUSOLVE_INVALID_FACTOR, "px[0] = -1"},
    {"px", 0, 1, GPUSOLVE_INVALID_FACTOR, "px[1] = 8 leaves supernode 0"},
    {"px", 0, 123456, GPUSOLVE_INVALID_FACTOR, "px[0] = 123456"},
    {"px", 1, 7, GPUSOLVE_INVALID_FACTOR, "px[1] = 7 leaves supernode 0 less than its 4 x 2"},
    {"px", 1, -1, GPUSOLVE_INVALID_FACTOR, "px[1] = -1"},
    {"px", 2, 11, GPUSOLVE_INVALID_FACTOR, "px[3] = 14 leaves supernode 2"},
    {"px", 3, 15, GPUSOLVE_INVALID_FACTOR, "px[3] = 15"},
    {"px", 1, BIG, GPUSOLVE_INVALID_FACTOR, "px[1]"},
    {"px", 2, -BIG, GPUSOLVE_INVALID_FACTOR, "px[2]"},
    {"s", 0, 1, GPUSOLVE_INVALID_FACTOR, "s[0] = 1 is not column 0"},
    {"s", 1, 0, GPUSOLVE_INVALID_FACTOR, "s[1] = 0 is not column 1"},
    {"s", 2, 1, GPUSOLVE_INVALID_FACTOR, "s[2] = 1 is not above s[1] = 1"},
    {"s", 3, 3, GPUSOLVE_INVALID_FACTOR, "s[3] = 3 is not above s[2] = 3"},
    {"s", 3, 5, GPUSOLVE_INVALID_FACTOR, "s[3] = 5 is not below n = 5"},
    {"s", 5, -1, GPUSOLVE_INVALID_FACTOR, "s[5] = -1"},
    {"s", 7, 3, GPUSOLVE_INVALID_FACTOR, "s[7] = 3 is not column 4"},
    {"s", 3, BIG, GPUSOLVE_INVALID_FACTOR, "s[3]"},
};

static const mangling simplicial[] = {
    {"p", TO_NULL, 0, GPUSOLVE_INVALID_ARGUMENT, "data->p: is NULL"},
    {"i", TO_NULL, 0, GPUSOLVE_INVALID_ARGUMENT, "data->i: is NULL"},
    {"xsize", SCALAR, 11, GPUSOLVE_INVALID_FACTOR, "p[5] = 12 is not between 0 and xsize = 11"},
    {"xsize", SCALAR, -1, GPUSOLVE_INVALID_FACTOR, "xsize = -1"},
    {"p", 5, -1, GPUSOLVE_INVALID_FACTOR, "p[5] = -1"},
    {"p", 5, 13, GPUSOLVE_INVALID_FACTOR, "p[5] = 13"},
    {"p", 2, -1, GPUSOLVE_INVALID_FACTOR, "p[2] = -1"},
    {"p", 2, 13, GPUSOLVE_INVALID_FACTOR, "p[2] = 13"},
    {"p", 3, BIG, GPUSOLVE_INVALID_FACTOR, "p[3]"},
    {"i", 0, 1, GPUSOLVE_INVALID_FACTOR, "i[0] = 1, the first of column 0"},
    {"i", 0, -1, GPUSOLVE_INVALID_FACTOR, "i[0] = -1"},
    {"i", 2, 1, GPUSOLVE_INVALID_FACTOR, "i[2] = 1 is not above i[1] = 1: column 0 is not sorted"},
    {"i", 3, 2, GPUSOLVE_INVALID_FACTOR, "i[3] = 2 is not above i[2] = 3: column 0 is not sorted"},
    {"i", 3, 5, GPUSOLVE_INVALID_FACTOR, "i[3] = 5 is not below n = 5"},
    {"i", 11, 3, GPUSOLVE_INVALID_FACTOR, "i[11] = 3, the first of column 4"},
    {"i", 8, BIG, GPUSOLVE_INVALID_FACTOR, "i[8]"},
};

static const mangling with_nz[] = {
    {"nz", 1, 0, GPUSOLVE_INVALID_FACTOR, "column 1 has 0 entries"},
    {"nz", 1, -1, GPUSOLVE_INVALID_FACTOR, "column 1 has -1 entries"},
    {"nz", 2, 4, GPUSOLVE_INVALID_FACTOR, "column 2 has 4 entries"},
    {"nz", 4, 2, GPUSOLVE_INVALID_FACTOR, "column 4 has 2 entries"},
    {"nz", 3, BIG, GPUSOLVE_INVALID_FACTOR, "column 3 has"},
    {"p", 1, 11, GPUSOLVE_INVALID_FACTOR, "column 1 has 3 entries from p[1] = 11"},
    {"p", 2, 4, GPUSOLVE_INVALID_FACTOR, "i[4] = 1, the first of column 2"},
    {"p", 5, 11, GPUSOLVE_INVALID_FACTOR, "column 4"}, /* the last column no longer fits */
};

static const mangling without_nz[] = {
    {"p", 2, 3, GPUSOLVE_INVALID_FACTOR, "p[2] = 3 is not between p[1] = 4"},
    {"p", 3, 7, GPUSOLVE_INVALID_FACTOR, "column 2 has 0 entries"},
    {"p", 1, 6, GPUSOLVE_INVALID_FACTOR, "column 0 has 6 entries"},
};

/* The good factor is accepted, the mangled one refused, by the structure and by the comparison with a plan.
 */
static void mangle(const mangling *m, gpusolve_factor_kind kind, gpusolve_itype itype, int has_nz) {
    if (itype == GPUSOLVE_INT32 && (m->value == BIG || m->value == -BIG))
        return;
    testing_in("%s[%lld] = %lld, kind %d, itype %d", m->field, (long long)m->k, (long long)m->value,
               (int)kind, (int)itype);
    gpusolve_factor_data data = small_factor(kind, itype, GPUSOLVE_DOUBLE, 0, has_nz);
    const int64_t live = gsv_live_allocations();
    gsv_plan plan = plan_of(&data);
    gsv_message message = {""};
    CHECK_STATUS(gsv_import_check_pattern(&data, &plan, &message), GPUSOLVE_OK);
    CHECK(gsv_import_is_planned(&data, &plan, testing_pool(2)) == (kind == GPUSOLVE_SUPERNODAL_LL));

    gpusolve_factor_data bad = data;
    if (m->k == SCALAR)
        set_scalar(&bad, m->field, m->value);
    else if (m->k == TO_NULL)
        *array_named(&bad, m->field) = NULL;
    else
        set_index(*array_named(&bad, m->field), itype, m->k, m->value);

    gsv_structure structure;
    CHECK_STATUS(gsv_import_structure(&bad, testing_pool(2), &structure, &message), m->status);
    testing_check(strstr(message.text, m->says) != NULL, __FILE__, __LINE__, "\"%s\" does not say \"%s\"",
                  message.text, m->says);
    CHECK(!structure.rows && !structure.perm && !structure.first_column && !structure.row_ptr);
    message.text[0] = '\0';
    CHECK_STATUS(gsv_import_check_pattern(&bad, &plan, &message), m->status);
    CHECK(!gsv_import_is_planned(&bad, &plan, testing_pool(2)));
    CHECK(strstr(message.text, m->says) != NULL);
    CHECK_STATUS(gsv_import_structure(&bad, testing_pool(2), &structure, NULL), m->status);
    gsv_plan_free(&plan);
    CHECK(gsv_live_allocations() == live);
    free_factor(&data);
}

static void mangle_all(const mangling *list, size_t count, gpusolve_factor_kind kind, int has_nz) {
    for (size_t k = 0; k < count; k++) {
        mangle(&list[k], kind, GPUSOLVE_INT32, has_nz);
        mangle(&list[k], kind, GPUSOLVE_INT64, has_nz);
    }
}
#define MANGLE_ALL(list, kind, has_nz) mangle_all(list, sizeof(list) / sizeof *(list), kind, has_nz)

static void test_fields(void) {
    MANGLE_ALL(scalars, GPUSOLVE_SUPERNODAL_LL, 0);
    MANGLE_ALL(supernodal, GPUSOLVE_SUPERNODAL_LL, 0);
    for (gpusolve_factor_kind kind = GPUSOLVE_SIMPLICIAL_LL; kind <= GPUSOLVE_SIMPLICIAL_LDL; kind++) {
        MANGLE_ALL(scalars, kind, 0);
        MANGLE_ALL(scalars, kind, 1);
        MANGLE_ALL(simplicial, kind, 0);
        MANGLE_ALL(simplicial, kind, 1);
        MANGLE_ALL(with_nz, kind, 1);
        MANGLE_ALL(without_nz, kind, 0);
    }
    testing_in("fields");
    gsv_structure structure;
    CHECK_STATUS(gsv_import_structure(NULL, testing_pool(2), &structure, NULL), GPUSOLVE_INVALID_ARGUMENT);
    gpusolve_factor_data data = small_factor(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_INT32, GPUSOLVE_DOUBLE, 0, 0);
    data.z = data.x;
    CHECK_STATUS(gsv_import_structure(&data, testing_pool(2), &structure, NULL), GPUSOLVE_INVALID_ARGUMENT);
    data.z = NULL;
    free_factor(&data);
}

/* Columns that share storage would make more entries than there is room for. */
static void test_overlap(void) {
    testing_in("overlapping columns");
    const int32_t starts[4] = {0, 0, 2, 3}, counts[3] = {3, 2, 1}, rows[3] = {0, 1, 2};
    const double ones[3] = {1, 1, 1};
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.kind = GPUSOLVE_SIMPLICIAL_LL;
    data.n = data.minor = data.xsize = 3;
    data.p = starts;
    data.nz = counts;
    data.i = rows;
    data.x = ones;
    gsv_structure structure;
    gsv_message message = {""};
    CHECK_STATUS(gsv_import_structure(&data, testing_pool(2), &structure, &message), GPUSOLVE_INVALID_FACTOR);
    CHECK(strstr(message.text, "they overlap") != NULL);
}

/* n = 0 with nothing but NULL; n = 1; no permutation. */
static void test_small(void) {
    testing_in("small");
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    for (gpusolve_factor_kind kind = GPUSOLVE_SUPERNODAL_LL; kind <= GPUSOLVE_SIMPLICIAL_LDL; kind++) {
        data.kind = kind;
        gsv_plan plan = plan_of(&data);
        CHECK(plan.l.n == 0 && plan.l.nsuper == 0 && plan.nlevels == 0);
        CHECK_STATUS(gsv_import_check_pattern(&data, &plan, NULL), GPUSOLVE_OK);
        CHECK_STATUS(gsv_import_check_values(&data, &plan, testing_pool(2), NULL, NULL), GPUSOLVE_OK);
        gsv_plan_free(&plan);
    }
    const int32_t zero_one[2] = {0, 1}, zero = 0;
    const double four = 4;
    data.kind = GPUSOLVE_SUPERNODAL_LL;
    data.n = data.minor = data.nsuper = data.ssize = data.xsize = 1;
    data.super = data.pi = data.px = data.p = zero_one;
    data.s = data.i = &zero;
    data.x = &four;
    for (gpusolve_factor_kind kind = GPUSOLVE_SUPERNODAL_LL; kind <= GPUSOLVE_SIMPLICIAL_LDL; kind++) {
        data.kind = kind;
        gsv_plan plan = plan_of(&data);
        CHECK(plan.l.n == 1 && plan.l.nsuper == 1 && !plan.l.perm);
        CHECK_STATUS(gsv_import_check_values(&data, &plan, testing_pool(1), NULL, NULL), GPUSOLVE_OK);
        check_panels(&data, &plan);
        gsv_plan_free(&plan);
    }
}

/* All types of the same factor give the same panels, read through z or not, by indices of either width. */
static void test_types(void) {
    for (int kind = 0; kind < 3; kind++)
        for (int dtype = 0; dtype < 4; dtype++)
            for (int itype = 0; itype < 2; itype++)
                for (int split = 0; split <= testing_is_complex((gpusolve_dtype)dtype); split++) {
                    testing_in("kind %d, dtype %d, itype %d, split %d", kind, dtype, itype, split);
                    gpusolve_factor_data data =
                        small_factor((gpusolve_factor_kind)kind, (gpusolve_itype)itype, (gpusolve_dtype)dtype,
                                     split, itype);
                    gsv_plan plan = plan_of(&data);
                    CHECK_STATUS(gsv_import_check_values(&data, &plan, testing_pool(2), NULL, NULL),
                                 GPUSOLVE_OK);
                    check_panels(&data, &plan);
                    CHECK(gsv_import_has_d(&data) == (kind == GPUSOLVE_SIMPLICIAL_LDL));
                    if (gsv_import_has_d(&data)) {
                        const gpusolve_dtype real = dtype % 2 ? GPUSOLVE_DOUBLE : GPUSOLVE_FLOAT;
                        double d[N];
                        gsv_import_d(&data, d);
                        for (int j = 0; j < N; j++)
                            CHECK(creal(testing_fetch(real, d, j)) == j + 2);
                    }
                    gsv_plan_free(&plan);
                    free_factor(&data);
                }
}

/* New numbers on the old pattern pass; another pattern does not, and the message says where. */
static void test_pattern(void) {
    testing_in("pattern");
    gsv_message message = {""};
    gpusolve_factor_data data = small_factor(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_INT64, GPUSOLVE_DOUBLE, 0, 0);
    gsv_plan plan = plan_of(&data);
    set_index(data.perm, data.itype, 0, 0);
    set_index(data.perm, data.itype, 1, 2);
    CHECK_STATUS(gsv_import_check_pattern(&data, &plan, &message), GPUSOLVE_PATTERN_MISMATCH);
    CHECK(!gsv_import_is_planned(&data, &plan, testing_pool(2)));
    CHECK(strstr(message.text, "perm[0] = 0, but 2 was planned") != NULL);
    set_index(data.perm, data.itype, 0, 2);
    set_index(data.perm, data.itype, 1, 0);
    set_index(data.s, data.itype, 5, 4);
    CHECK_STATUS(gsv_import_check_pattern(&data, &plan, &message), GPUSOLVE_PATTERN_MISMATCH);
    CHECK(!gsv_import_is_planned(&data, &plan, testing_pool(2)));
    CHECK(strstr(message.text, "s[5] = 4, but 3 was planned") != NULL);

    /* a simplicial factor fits where all of its entries have a place, whether the places are all taken or not
     */
    gpusolve_factor_data other = small_factor(GPUSOLVE_SIMPLICIAL_LL, GPUSOLVE_INT32, GPUSOLVE_DOUBLE, 0, 1);
    CHECK_STATUS(gsv_import_check_pattern(&other, &plan, &message), GPUSOLVE_OK);
    check_panels(&other, &plan);
    set_index(other.i, other.itype, 2, 4); /* column 0: 0 1 4 */
    set_index(other.nz, other.itype, 0, 3);
    CHECK_STATUS(gsv_import_check_pattern(&other, &plan, &message), GPUSOLVE_OK);
    check_panels(&other, &plan);
    set_index(other.i, other.itype, 2, 2); /* row 2 has no place in column 0 */
    CHECK_STATUS(gsv_import_check_pattern(&other, &plan, &message), GPUSOLVE_PATTERN_MISMATCH);
    CHECK(strstr(message.text, "i[2] = 2") != NULL);
    set_index(other.i, other.itype, 8,
              4); /* nor row 4 in column 2, the last of its supernode's rows being 3 */
    set_index(other.i, other.itype, 2, 3);
    CHECK_STATUS(gsv_import_check_pattern(&other, &plan, &message), GPUSOLVE_PATTERN_MISMATCH);
    CHECK(strstr(message.text, "i[8] = 4") != NULL);
    free_factor(&other);

    gpusolve_factor_data empty = GPUSOLVE_FACTOR_DATA_INIT;
    CHECK_STATUS(gsv_import_check_pattern(&empty, &plan, &message), GPUSOLVE_PATTERN_MISMATCH);
    gsv_plan_free(&plan);
    free_factor(&data);

    /* no permutation and the identity are the same */
    data = small_factor(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_INT32, GPUSOLVE_DOUBLE, 0, 0);
    for (int k = 0; k < N; k++)
        set_index(data.perm, data.itype, k, k);
    plan = plan_of(&data);
    gpusolve_factor_data plain = data;
    plain.perm = NULL;
    CHECK_STATUS(gsv_import_check_pattern(&plain, &plan, &message), GPUSOLVE_OK);
    gsv_plan_free(&plan);
    free_factor(&data);
}

/* Every allocation fails once: the status says so and nothing stays behind. */
static void test_out_of_memory(void) {
    for (int kind = 0; kind < 3; kind++) {
        gpusolve_factor_data data =
            small_factor((gpusolve_factor_kind)kind, GPUSOLVE_INT32, GPUSOLVE_DOUBLE, 0, 0);
        const int64_t live = gsv_live_allocations();
        gpusolve_status status = GPUSOLVE_OUT_OF_MEMORY;
        int k = 0;
        while (status == GPUSOLVE_OUT_OF_MEMORY && k < 100) {
            gsv_structure structure;
            gsv_message message = {""};
            testing_in("kind %d, allocation %d fails", kind, ++k);
            gsv_fail_allocation(k);
            status = gsv_import_structure(&data, testing_pool(2), &structure, &message);
            gsv_fail_allocation(0);
            CHECK(status == GPUSOLVE_OK || strstr(message.text, "memory"));
            if (!status)
                gsv_structure_free(&structure);
            CHECK(gsv_live_allocations() == live);
        }
        CHECK(status == GPUSOLVE_OK && k > 4);
        free_factor(&data);
    }
}

int main(void) {
    test_fields();
    test_overlap();
    test_small();
    test_types();
    test_pattern();
    test_out_of_memory();
    CHECK(gsv_live_allocations() == testing_pool_allocations);
    return testing_done();
}
