#include "rows.h"

#include <stdlib.h>
#include <string.h>

/* The marked rows as a list. */
static int64_t list_marked(const unsigned char *marked, int64_t n, int64_t count, int64_t **rows) {
    int64_t *list = malloc((size_t)(count > 0 ? count : 1) * sizeof *list), k = 0;
    if (!list)
        return -1;
    for (int64_t i = 0; i < n; i++)
        if (marked[i])
            list[k++] = i;
    *rows = list;
    return count;
}

int64_t preload_rows_of(const preload_sparse *A, int64_t n, int64_t **rows) {
    unsigned char *marked = calloc((size_t)n + 1, 1);
    int64_t count = 0;
    if (!marked)
        return -1;
    for (int64_t j = 0; j < (int64_t)A->ncol; j++) {
        const int64_t first = preload_index(A->p, A->itype, j);
        const int64_t end =
            A->packed ? preload_index(A->p, A->itype, j + 1) : first + preload_index(A->nz, A->itype, j);
        for (int64_t p = first; p < end; p++) {
            const int64_t i = p < 0 ? -1 : preload_index(A->i, A->itype, p);
            if (i < 0 || i >= n) {
                free(marked);
                return -2;
            }
            count += !marked[i];
            marked[i] = 1;
        }
    }
    count = list_marked(marked, n, count, rows);
    free(marked);
    return count;
}

/* The supernode that holds column j. */
static int64_t supernode_of(const preload_factor *L, int64_t j) {
    int64_t low = 0, high = (int64_t)L->nsuper; /* super[low] <= j < super[high] */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (preload_index(L->super, L->itype, middle) <= j)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The parent of column j in the elimination tree; n: a root. */
static int64_t parent_of(const preload_factor *L, int64_t j) {
    const int64_t n = (int64_t)L->n;
    int64_t place, rows, i;
    if (L->is_super) {
        const int64_t k = supernode_of(L, j);
        const int64_t end = preload_index(L->super, L->itype, k + 1);
        if (j + 1 < end)
            return j + 1;
        place = preload_index(L->pi, L->itype, k) + end - preload_index(L->super, L->itype, k);
        rows = preload_index(L->pi, L->itype, k + 1) - place;
        i = rows > 0 ? preload_index(L->s, L->itype, place) : n;
    } else {
        place = preload_index(L->p, L->itype, j) + 1;
        rows = preload_index(L->nz, L->itype, j) - 1;
        i = rows > 0 ? preload_index(L->i, L->itype, place) : n;
    }
    return i > j && i < n ? i : n;
}

int64_t preload_reach(const preload_factor *L, bool permuted, int64_t count, const int64_t *rows,
                      int64_t **reached) {
    const int64_t n = (int64_t)L->n;
    const bool perm = permuted && L->ordering != PRELOAD_NATURAL && L->Perm;
    unsigned char *marked = calloc((size_t)n + 1, 1);
    int64_t *inverse = perm ? malloc((size_t)(n + 1) * sizeof *inverse) : NULL, total = 0;
    if (!marked || (perm && !inverse)) {
        free(marked);
        free(inverse);
        return -1;
    }
    for (int64_t i = 0; perm && i < n; i++)
        inverse[preload_index(L->Perm, L->itype, i)] =
            i; /* the import has checked that it is a permutation */
    for (int64_t k = 0; k < count; k++)
        for (int64_t j = perm ? inverse[rows[k]] : rows[k]; j < n && !marked[j]; j = parent_of(L, j)) {
            marked[j] = 1;
            total++;
        }
    total = list_marked(marked, n, total, reached);
    for (int64_t k = 0; perm && k < total; k++)
        (*reached)[k] = preload_index(L->Perm, L->itype, (*reached)[k]);
    free(marked);
    free(inverse);
    return total;
}

preload_numbers preload_numbers_of(void *x, void *z, int xtype, int dtype, int64_t ld) {
    const size_t real = preload_real_bytes(dtype);
    preload_numbers numbers = {.re = x, .real = real, .stride = real};
    if (xtype == PRELOAD_COMPLEX) {
        numbers.im = numbers.re + real;
        numbers.stride = 2 * real;
    } else if (xtype == PRELOAD_ZOMPLEX) {
        numbers.im = z;
    }
    numbers.column = numbers.stride * (size_t)ld;
    return numbers;
}

void preload_copy_number(const preload_numbers *to, int64_t k, int64_t l, const preload_numbers *from,
                         int64_t i, int64_t j) {
    const size_t target = (size_t)k * to->stride + (size_t)l * to->column;
    const size_t source = (size_t)i * from->stride + (size_t)j * from->column;
    memcpy(to->re + target, from->re + source, to->real);
    if (to->im && from->im)
        memcpy(to->im + target, from->im + source, to->real);
    else if (to->im)
        memset(to->im + target, 0, to->real);
}
