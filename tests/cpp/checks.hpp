// Checks that count; a NaN fails CHECK_BELOW. A program ends with return checks_done("NAME").
#ifndef GPUSOLVE_TESTS_CPP_CHECKS_HPP
#define GPUSOLVE_TESTS_CPP_CHECKS_HPP

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <gpusolve.hpp>

inline long checks_made = 0, checks_failed = 0;

inline void check_that(bool passed, const char *file, int line, const char *what, double value = 0) {
    ++checks_made;
    if (!passed && ++checks_failed <= 20)
        std::printf("FAILED %s:%d %s (%g)\n", file, line, what, value);
}

#define CHECK(condition) check_that(static_cast<bool>(condition), __FILE__, __LINE__, #condition)
#define CHECK_BELOW(value, limit) \
    check_that((value) < (limit), __FILE__, __LINE__, #value " < " #limit, (value))

#if GPUSOLVE_HPP_THROWS
// The call throws a gpusolve::error with this status and a sentence.
template <class Call> void throws(gpusolve_status wanted, Call call) {
    gpusolve_status status = GPUSOLVE_OK;
    try {
        call();
    } catch (const gpusolve::error &error) {
        status = error.status();
        CHECK(error.what()[0] != 0);
    }
    CHECK(status == wanted);
}
#endif

inline int checks_done(const char *name) {
    std::printf("%s: %ld checks, %ld failed\n", name, checks_made, checks_failed);
    return checks_failed > 0 || checks_made == 0;
}

// The host, and a device where there is one; with GPUSOLVE_TEST_DEVICE there must be one.
inline std::vector<gpusolve_backend> checks_backends() {
    std::vector<gpusolve_backend> backends{GPUSOLVE_BACKEND_HOST};
    gpusolve_options wanted = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle = nullptr;
    wanted.backend = GPUSOLVE_BACKEND_CUDA;
    if (gpusolve_create(&handle, &wanted) == GPUSOLVE_OK)
        backends.push_back(GPUSOLVE_BACKEND_CUDA);
    else
        CHECK(!std::getenv("GPUSOLVE_TEST_DEVICE"));
    gpusolve_destroy(handle);
    return backends;
}

#endif
