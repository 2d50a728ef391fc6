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

/* Begin to copy BYTES, 4, 8 or 16, or zeros in their place; 16 are expected to be read once. */
template <int BYTES> __device__ __forceinline__ void begin_copy(void *to, const void *from, bool there) {
    const unsigned shared = unsigned(__cvta_generic_to_shared(to));
    const int bytes = there ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES),
                     "r"(bytes)
                     : "memory");
}

/* What this thread has begun to copy since it called this last is a group. */
__device__ __forceinline__ void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* All but the youngest LEFT groups of this thread's copies have arrived. */
template <int LEFT> __device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* All that this thread has begun to copy has arrived. */
__device__ __forceinline__ void wait_for_own_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

} // namespace gsv
#endif
