/* A function that kernels call, too. */
#ifndef GSV_HOST_DEVICE_H
#define GSV_HOST_DEVICE_H

#ifdef __CUDACC__
#define GSV_HOST_DEVICE __host__ __device__
#else
#define GSV_HOST_DEVICE
#endif

#endif
