/*
 * CHOLMOD, opened when it is first wanted: versions 3, 4 and 5, indices of 64 bits. No header of SuiteSparse is needed.
 * The objects for matrices and factors have the same first fields in all versions; of cholmod_common a table says where
 * the few fields lie that are set here, and the defaults found there are checked before anything is believed.
 */
#ifndef GPUSOLVE_PYTHON_CHOLMOD_H
#define GPUSOLVE_PYTHON_CHOLMOD_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "failure.h"

namespace cholmod {

struct Library; /* functions and layout */

/* Opens the first of the libraries that can be used; throws what is wrong with each if none can. */
const Library *open(const std::vector<std::string> &names);
std::string version(const Library *library); /* "5.3.0" */
/* One of the library's functions; Failure if it was built without it. */
void *function(const Library *library, const char *name);
/* What dlopen gave for it. */
void *opened(const Library *library);

struct Sparse { /* cholmod_sparse */
    size_t nrow, ncol, nzmax;
    void *p, *i, *nz, *x, *z;
    int stype, itype, xtype, dtype, sorted, packed;
};

struct Factor { /* the first fields of cholmod_factor */
    size_t n, minor;
    void *Perm, *ColCount, *IPerm;
    size_t nzmax;
    void *p, *i, *x, *z, *nz, *next, *prev;
    size_t nsuper, ssize, xsize, maxcsize, maxesize;
    void *super, *pi, *px, *s;
    int ordering, is_ll, is_super, is_monotonic, itype, xtype, dtype, useGPU;
};

enum Ordering {
    NATURAL = 0,
    GIVEN = 1,
    AMD = 2,
    METIS = 3,
    NESDIS = 4,
    COLAMD = 5,
    POSTORDERED = 6, /* natural, then a postorder of the elimination tree */
    BEST = 9,
    DEFAULT = -1
};
enum Mode { SIMPLICIAL = 0, AUTO = 1, SUPERNODAL = 2 };

/* cholmod_common: as large as any version's, zero, aligned. */
struct Common {
    alignas(16) unsigned char bytes[16384];
};

void begin(const Library *library, Common &common);
void end(const Library *library, Common &common);
/* Throws what the status of the cholmod_common says of a call that failed. */
[[noreturn]] void fail(const Library *library, Common &common, const char *call);
/* Parameters of nested dissection; those that are not given keep CHOLMOD's defaults. */
void set_dissection(Common &common, std::optional<int64_t> small, std::optional<bool> components,
                    std::optional<double> oksep, std::optional<int> camd);

/* Floating-point operations of a factorisation, as CHOLMOD counts them; 0 for a simplicial one, which calls no BLAS. */
double blas_flops(const Factor &factor, bool is_complex);

/* A factor with numbers. */
class Numeric {
  public:
    const Library *library;
    Factor *factor;
    std::unique_ptr<Common> common;
    Numeric(const Library *from, Factor *made, std::unique_ptr<Common> with)
        : library(from), factor(made), common(std::move(with)) {}
    ~Numeric();
    Numeric(const Numeric &) = delete;
    Numeric &operator=(const Numeric &) = delete;
    /* New numbers, of A + beta I, in the same memory. Failure with the column where A is not positive definite; then there
     * are none, and other numbers may follow. */
    void factorize(Sparse *a, double beta);
    /* L's arrays as gpusolve takes them, borrowed. */
    gpusolve_factor_data describe() const;
};

/* The analysis of a pattern, good for any number of factorisations. */
class Symbolic {
    const Library *library_;
    Factor *factor_ = nullptr;
    std::unique_ptr<Common> common_;

  public:
    Symbolic(const Library *library, Sparse *a, Ordering ordering, Mode mode, int64_t *permutation);
    ~Symbolic();
    Symbolic(const Symbolic &) = delete;
    Symbolic &operator=(const Symbolic &) = delete;
    /*
     * Factorises A + beta I; Failure with the column where A is not positive definite. is_ldl: L D L' rather than L L'
     * if the analysis is simplicial; a supernodal one always gives L L'.
     */
    std::unique_ptr<Numeric> factorize(Sparse *a, double beta, bool is_ldl) const;
    const Factor *factor() const {
        return factor_;
    }
    int64_t nonzeros() const;
};

} // namespace cholmod

#endif
