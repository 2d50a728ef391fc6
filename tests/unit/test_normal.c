/*
 * Numbers drawn by a counter (dense_kernels/normal.h): Philox against its authors' known answers, and the logarithm, sine and cosine against the C
 * library's. tests/products/test_sample.c has the rest.
 */
#include "testing.h"

#include "dense_kernels/normal.h"

int main(void) {
    uint64_t random[2];
    testing_in("Philox");
    gsv_philox(0, 0, 0, random);
    CHECK(random[0] == 0xe169c58d6627e8d5u && random[1] == 0x9b00dbd8bc57ac4cu);
    gsv_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, random);
    CHECK(random[0] == 0x41c83b0e408f276du && random[1] == 0x6d5451fda20bc7c6u);
    gsv_philox(0x85a308d3243f6a88u, 0x0370734413198a2eu, 0x299f31d0a4093822u, random);
    CHECK(random[0] == 0x94fdccebd16cfe09u && random[1] == 0x24126ea15001e420u);

    testing_in("logarithm, sine and cosine");
    const double two_pi = 6.283185307179586476925;
    double of_log = 0, of_turn = 0;
    uint64_t state = 3;
    CHECK(gsv_log_of_unit(1) == 0);
    for (int k = 0; k < 200000; k++) {
        const double u = ldexp((double)((testing_random_bits(&state) >> 11) + 1), -53 - k % 3 * (k % 50) / 3);
        const double v = (double)(testing_random_bits(&state) >> 12) * 0x1p-52;
        if (u >= 0x1p-52 && u < 1)
            of_log = testing_worse(of_log, fabs(gsv_log_of_unit(u) / log(u) - 1));
        const gsv_normals turn = gsv_turn_of(v);
        of_turn = testing_worse(of_turn, fabs(turn.a - cos(two_pi * v)));
        of_turn = testing_worse(of_turn, fabs(turn.b - sin(two_pi * v)));
    }
    for (int k = 0; k <= 52; k++) {
        const double u = ldexp(1, -k), near = 1 - ldexp(1, -k);
        of_log = k ? testing_worse(of_log, fabs(gsv_log_of_unit(u) / log(u) - 1)) : of_log;
        of_log = k ? testing_worse(of_log, fabs(gsv_log_of_unit(near) / log(near) - 1)) : of_log;
    }
    CHECK_BELOW(of_log, 3 * DBL_EPSILON);
    CHECK_BELOW(of_turn, 10 * DBL_EPSILON); /* of the reference, whose angle is rounded, most */
    return testing_done();
}
