/* Copies from global to shared memory in the background, by a thread for itself. */
#ifndef GSV_ASYNC_COPY_CUH
#define GSV_ASYNC_COPY_CUH

#include <cstdint>

namespace gsv {

/* Begin to copy; both are at a multiple of 16 bytes. */
template <typename T> __device__ __forceinline__ void copy_16_bytes_async(T *to, const T *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(uint32_t(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
}

/* All that this thread has begun to copy has arrived. */
__device__ __forceinline__ void wait_for_own_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

} // namespace gsv
#endif
