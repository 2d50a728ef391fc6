/*
 * Real numbers in single precision, a block of right-hand sides: panels are float, vectors double (scalar.cuh, mixed), and
 * the upper tree is a stream. Forward 8 of them, backward 16, too. Everything else is in cuda_sweep_s.cu or cuda_many_m.cu.
 */
#include "cuda_launch.cuh"

namespace gsv {

/* The form says that the upper tree is a stream (gsv_cuda_sweeps_of). */
struct mixed_launcher {
    /* Calls call(n): nr, an integral constant. */
    template <typename Call> static cudaError_t dispatch(int nr, Call call) {
        switch (nr) {
        case GSV_SIDE_COLUMNS:
            return call(std::integral_constant<int, GSV_SIDE_COLUMNS>());
        case GSV_MANY_SLIM:
            return call(std::integral_constant<int, GSV_MANY_SLIM>());
        }
        return cudaErrorInvalidValue;
    }
    static cudaError_t forward(const gsv_plan *plan, const gsv_device_plan *device,
                               const gsv_sweep_form *form, const gsv_device_vectors *vectors, int nr,
                               cudaStream_t stream) {
        if (nr != GSV_SIDE_COLUMNS)
            return cudaErrorInvalidValue;
        const cudaError_t error =
            walks_branches(plan, *form)
                ? forward_branches<mixed<float>, GSV_SIDE_COLUMNS>(plan, *device, *form, *vectors, stream)
                : cudaSuccess;
        return error == cudaSuccess ? forward_above<mixed<float>>(plan, *device, *form, *vectors, stream)
                                    : error;
    }
    static cudaError_t backward(const gsv_plan *plan, const gsv_device_plan *device,
                                const gsv_sweep_form *form, const gsv_device_vectors *vectors, int nr,
                                cudaStream_t stream) {
        return dispatch(nr, [&](auto n) {
            const cudaError_t error = launch_stream<mixed<float>, n, true>(*device, *form, *vectors, stream);
            return error == cudaSuccess && walks_branches(plan, *form)
                       ? backward_branches<mixed<float>, n>(plan, *device, *form, *vectors, stream)
                       : error;
        });
    }
    static cudaError_t reserve(const gsv_branches *branches) {
        return gsv_lower_reserve(branches, 1);
    }
    static cudaError_t load(const gsv_plan *plan, const gsv_sweep_form *form, const int32_t *perm,
                            const int32_t *inverse, gsv_device_dense from, void *to,
                            const gsv_device_vectors *vectors, int nr, cudaStream_t stream) {
        return dispatch(nr, [&](auto n) {
            return launch_load<mixed<float>, n>(plan, *form, perm, inverse, from, to, *vectors, stream);
        });
    }
    static cudaError_t store(int32_t n, const int32_t *inverse, const void *from, gsv_device_dense to, int nr,
                             int groups, cudaStream_t stream) {
        return dispatch(nr, [&](auto columns) {
            return launch_store<mixed<float>, columns>(n, inverse, from, to, groups, stream);
        });
    }
    static cudaError_t scale(int32_t n, const void *d, void *v, int nr, cudaStream_t stream) {
        return dispatch(nr,
                        [&](auto columns) { return launch_scale<mixed<float>, columns>(n, d, v, stream); });
    }
};

} // namespace gsv

extern "C" const gsv_sweep_functions gsv_sweep_m = {{1, 4, 8, 16, 32},
                                                    GSV_SIDE_COLUMNS,
                                                    gsv::mixed_launcher::forward,
                                                    gsv::mixed_launcher::backward,
                                                    NULL,
                                                    NULL,
                                                    gsv::count_stream_blocks<gsv::mixed<float>>,
                                                    gsv::mixed_launcher::reserve,
                                                    gsv::mixed_launcher::load,
                                                    gsv::mixed_launcher::store,
                                                    gsv::mixed_launcher::scale};
