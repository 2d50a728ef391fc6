/*
 * How many threads CHOLMOD's BLAS uses in a factorisation. A BLAS with its own threads wakes all of them for products that one
 * thread finishes sooner, so a small factorisation takes several times as long with sixteen threads as with one.
 *
 * The number is set through the BLAS that CHOLMOD is linked with: OpenBLAS, FlexiBLAS, BLIS or MKL. With any other nothing happens.
 */
#ifndef GPUSOLVE_PYTHON_BLAS_THREADS_H
#define GPUSOLVE_PYTHON_BLAS_THREADS_H

namespace blas {

/* The threads that a factorisation of this many floating-point operations can use, whatever the machine has. */
int threads_for(double flops);

/*
 * While it lives, the BLAS uses at most `threads` threads. The number before is an upper bound, so OPENBLAS_NUM_THREADS,
 * OMP_NUM_THREADS and what the program has set hold. It comes back at the end, unless the program has set another meanwhile.
 *
 * Made and destroyed with the interpreter's lock held, on one thread. If several live at once, the least number holds: a
 * BLAS has one number for the whole process, and factorisations side by side share the processors already.
 */
class Threads {
    int limit_;      /* 0: no such BLAS, or its number is at most this anyway */
    int before_ = 0; /* MKL's, of this thread */

  public:
    Threads(void *cholmod, int threads);
    ~Threads();
    Threads(const Threads &) = delete;
    Threads &operator=(const Threads &) = delete;
};

} // namespace blas

#endif
