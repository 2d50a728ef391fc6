/* The preload library's structures beside those of the CHOLMOD that is installed, and of CHOLMOD 4 and 5: the same places. */
#include <cholmod.h>

#include "preload/cholmod_objects.h"

#define SAME(type, ours, field)                                                  \
    _Static_assert(offsetof(type, field) == offsetof(ours, field) &&             \
                       sizeof(((type *)0)->field) == sizeof(((ours *)0)->field), \
                   #type " " #field)
#define F(field) SAME(cholmod_factor, preload_factor, field)
#define D(field) SAME(cholmod_dense, preload_dense, field)
#define S(field) SAME(cholmod_sparse, preload_sparse, field)

F(n);
F(minor);
F(Perm);
F(ColCount);
F(IPerm);
F(nzmax);
F(p);
F(i);
F(x);
F(z);
F(nz);
F(next);
F(prev);
F(nsuper);
F(ssize);
F(xsize);
F(maxcsize);
F(maxesize);
F(super);
F(pi);
F(px);
F(s);
F(ordering);
F(is_ll);
F(is_super);
F(is_monotonic);
F(itype);
F(xtype);
F(dtype);
F(useGPU);
D(nrow);
D(ncol);
D(nzmax);
D(d);
D(x);
D(z);
D(xtype);
D(dtype);
S(nrow);
S(ncol);
S(nzmax);
S(p);
S(i);
S(nz);
S(x);
S(z);
S(stype);
S(itype);
S(xtype);
S(dtype);
S(sorted);
S(packed);
_Static_assert(sizeof(cholmod_factor) == sizeof(preload_factor), "cholmod_factor");
_Static_assert(sizeof(cholmod_dense) == sizeof(preload_dense), "cholmod_dense");
_Static_assert(sizeof(cholmod_sparse) == sizeof(preload_sparse), "cholmod_sparse");

int main(void) {
    return 0; /* the compiler has checked all of it */
}
