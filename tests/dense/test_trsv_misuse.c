/* Illegal arguments of gpusolve_?trsv one by one, in the order of declaration; n = 0; allocations that fail.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "trsv_cases.h"

#include <sys/mman.h>

#include "src/memory.h"

typedef struct arguments {
    gpusolve_uplo uplo;
    gpusolve_trans trans;
    gpusolve_diag diag;
    int64_t n;
    void *a;
    int64_t lda;
    void *x;
    int64_t incx;
} arguments;

static gpusolve_status call(gpusolve_handle *handle, int dtype, const arguments *p) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return gpusolve_strsv(handle, p->uplo, p->trans, p->diag, p->n, p->a, p->lda, p->x, p->incx);
    case GPUSOLVE_DOUBLE:
        return gpusolve_dtrsv(handle, p->uplo, p->trans, p->diag, p->n, p->a, p->lda, p->x, p->incx);
    case GPUSOLVE_COMPLEX_FLOAT:
        return gpusolve_ctrsv(handle, p->uplo, p->trans, p->diag, p->n, p->a, p->lda, p->x, p->incx);
    default:
        return gpusolve_ztrsv(handle, p->uplo, p->trans, p->diag, p->n, p->a, p->lda, p->x, p->incx);
    }
}

/* The call is refused, its sentence begins with the argument's name, and everything after it is wrong too:
 * the first fault is the one that is told. */
static void refuse(gpusolve_handle *handle, int dtype, arguments p, gpusolve_status expected,
                   const char *name) {
    CHECK_STATUS(call(handle, dtype, &p), expected);
    const char *text = gpusolve_last_error(handle);
    CHECK(strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == ':');
}

static void check_arguments(gpusolve_backend backend, int dtype) {
    testing_in("%s, dtype %d", testing_backend_name(backend), dtype);
    gpusolve_handle *handle = testing_handle(backend, 0);
    const int on_device = backend == GPUSOLVE_BACKEND_CUDA;
    double zeros[64] = {0}, host[64];
    memset(host, 0, sizeof host);
    void *a = on_device ? device_new(zeros, sizeof zeros) : (void *)zeros;
    void *x = on_device ? device_new(zeros, sizeof zeros) : (void *)host;
    const arguments good = {GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_UNIT, 3, a, 3, x, 1};
    CHECK_STATUS(call(handle, dtype, &good), GPUSOLVE_OK);
    CHECK_STATUS(call(NULL, dtype, &good), GPUSOLVE_INVALID_ARGUMENT);

    arguments p = {(gpusolve_uplo)7, (gpusolve_trans)7, (gpusolve_diag)7, -1, NULL, 0, NULL, 0};
    refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "uplo");
    p.uplo = GPUSOLVE_FULL;
    refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "uplo");
    p.uplo = GPUSOLVE_UPPER;
    refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "trans");
    p.trans = GPUSOLVE_TRANS;
    refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "diag");
    p.diag = GPUSOLVE_NON_UNIT;
    refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "n");
    p.n = (int64_t)1 << 31;
    refuse(handle, dtype, p, GPUSOLVE_TOO_LARGE, "n");
    p.n = 3;
    refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "A");
    if (on_device) {
        p.a = host;
        refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "A");
        p.a = (char *)a + 1;
        refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "A");
    }
    p.a = a;
    refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "lda");
    p.lda = 2;
    refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "lda");
    p.lda = (int64_t)1 << 31;
    refuse(handle, dtype, p, GPUSOLVE_TOO_LARGE, "lda");
    p.lda = 3;
    refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "x");
    if (on_device) {
        p.x = host;
        refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "x");
    }
    p.x = x;
    refuse(handle, dtype, p, GPUSOLVE_INVALID_ARGUMENT, "incx");
    p.incx = -((int64_t)1 << 31);
    refuse(handle, dtype, p, GPUSOLVE_TOO_LARGE, "incx");
    if (on_device) {
        p.incx = 1;
        p.n = p.lda = (int64_t)1 << 20;
        refuse(handle, dtype, p, GPUSOLVE_TOO_LARGE, "n");
    }

    /* n = 0: nothing is looked at but what is no pointer */
    arguments empty = {GPUSOLVE_UPPER, GPUSOLVE_CONJ_TRANS, GPUSOLVE_UNIT, 0, NULL, 1, NULL, -1};
    CHECK_STATUS(call(handle, dtype, &empty), GPUSOLVE_OK);
    empty.lda = 0;
    refuse(handle, dtype, empty, GPUSOLVE_INVALID_ARGUMENT, "lda");
    empty.lda = 1;
    empty.incx = 0;
    refuse(handle, dtype, empty, GPUSOLVE_INVALID_ARGUMENT, "incx");
    if (on_device) {
        device_delete(a);
        device_delete(x);
    }
    gpusolve_destroy(handle);
}

/* Whichever allocation of a handle's first call fails, the call says so and the next one works. */
static void check_allocations(gpusolve_backend backend) {
    testing_in("%s, failing allocations", testing_backend_name(backend));
    gpusolve_handle *handle = testing_handle(backend, 0);
    const int64_t before = gsv_live_allocations();
    gpusolve_status status = GPUSOLVE_OUT_OF_MEMORY;
    for (int k = 1; k < 10 && status != GPUSOLVE_OK; k++) {
        trsv_case c = trsv_make(GPUSOLVE_DOUBLE, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT,
                                TRSV_TAME, 150, 0, 1);
        gsv_fail_allocation(k);
        status = trsv_solve(handle, &c);
        gsv_fail_allocation(0);
        if (status == GPUSOLVE_OK)
            CHECK_BELOW(trsv_measure(&c).lapack, 30);
        else
            CHECK(status == GPUSOLVE_OUT_OF_MEMORY || status == GPUSOLVE_OUT_OF_DEVICE_MEMORY);
        if (status != GPUSOLVE_OK)
            CHECK(gsv_live_allocations() == before);
        trsv_free(&c);
    }
    CHECK(status == GPUSOLVE_OK);
    gpusolve_destroy(handle);
}

/*
 * (n - 1) |incx| beyond 2^31: the numbers of x are gigabytes apart, and only their pages exist. A is all ones,
 * so that x becomes the differences of the numbers of b, which are squares.
 */
static void check_long_strides(void) {
    static const int64_t strides[] = {INT32_MAX, -INT32_MAX, (int64_t)1 << 30, -((int64_t)1 << 30),
                                      -715827883 /* 3 of them: 2^31 + 1 */};
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, 1);
    enum { ORDER = 4 };
    for (int dtype = 0; dtype < 4; dtype++)
        for (size_t k = 0; k < sizeof strides / sizeof *strides; k++) {
            testing_in("dtype %d, incx %lld", dtype, (long long)strides[k]);
            const size_t number = testing_bytes((gpusolve_dtype)dtype);
            const int64_t step = strides[k] < 0 ? -strides[k] : strides[k];
            const size_t bytes = ((ORDER - 1) * (size_t)step + 1) * number;
            char *x =
                mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (x == MAP_FAILED)
                continue; /* a machine that does not overcommit memory */
            double complex a[ORDER * ORDER];
            for (int i = 0; i < ORDER * ORDER; i++)
                testing_store((gpusolve_dtype)dtype, a, i, 1);
            for (int i = 0; i < ORDER; i++)
                testing_store((gpusolve_dtype)dtype,
                              x + (size_t)(strides[k] > 0 ? i : ORDER - 1 - i) * (size_t)step * number, 0,
                              (i + 1) * (i + 1));
            const arguments p = {GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, ORDER, a, ORDER, x,
                                 strides[k]};
            CHECK_STATUS(call(handle, dtype, &p), GPUSOLVE_OK);
            for (int i = 0; i < ORDER; i++)
                CHECK(testing_fetch((gpusolve_dtype)dtype,
                                    x + (size_t)(strides[k] > 0 ? i : ORDER - 1 - i) * (size_t)step * number,
                                    0) == 2 * i + 1);
            munmap(x, bytes);
        }

    /* x would end beyond the address space, and increments that are no 32-bit numbers */
    double a[1] = {1};
    arguments p = {GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_UNIT, INT32_MAX, a, INT32_MAX, a, INT32_MAX};
    refuse(handle, GPUSOLVE_COMPLEX_DOUBLE, p, GPUSOLVE_TOO_LARGE, "lda");
    p.n = 1;
    static const int64_t beyond[] = {INT32_MIN, (int64_t)INT32_MAX + 1, INT64_MIN, INT64_MAX};
    for (int k = 0; k < 4; k++) {
        p.incx = beyond[k];
        refuse(handle, GPUSOLVE_DOUBLE, p, GPUSOLVE_TOO_LARGE, "incx");
    }
    p.n = p.lda = 1 << 29; /* A has 2^62 bytes, x more than 2^64 - 2^33 from its start */
    p.incx = -INT32_MAX;
    refuse(handle, GPUSOLVE_COMPLEX_DOUBLE, p, GPUSOLVE_TOO_LARGE, "incx");
    gpusolve_destroy(handle);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    if (trsv_is_supported(GPUSOLVE_BACKEND_HOST))
        check_long_strides();
    for (int k = 0; k < count; k++)
        if (trsv_is_supported(backends[k])) {
            for (int dtype = 0; dtype < 4; dtype++)
                check_arguments(backends[k], dtype);
            check_allocations(backends[k]);
        }
    if (testing_checks == 0) {
        printf("skipped: neither a CBLAS nor a CUDA device\n");
        return TESTING_SKIPPED;
    }
    return testing_done();
}
