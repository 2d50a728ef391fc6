/* What a thread keeps in registers, worked out once: the compiler may otherwise work it out, or read what it comes
 * from, for each access. For shared memory that is the rank of the block in its cluster, which it waits for. */
#ifndef GSV_KEPT_CUH
#define GSV_KEPT_CUH

#include <cuda_runtime_api.h>

namespace gsv {

template <typename T> __device__ __forceinline__ T *kept(T *pointer) {
    asm volatile("" : "+l"(pointer));
    return pointer;
}
__device__ __forceinline__ unsigned kept(unsigned number) {
    asm volatile("" : "+r"(number));
    return number;
}

/* Shared memory by its address there. The assembler may still keep the block's rank, and add it to the rest anew. */
__device__ __forceinline__ unsigned kept_shared(const void *pointer) {
    return kept(unsigned(__cvta_generic_to_shared(pointer)));
}
template <typename T> __device__ __forceinline__ T *shared_at(unsigned address) {
    return static_cast<T *>(__cvta_shared_to_generic(address));
}

} // namespace gsv
#endif
