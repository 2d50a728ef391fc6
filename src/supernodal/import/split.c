/* Splitting supernodes: split.h. */
#include "split.h"

#include <string.h>

#include "../../memory.h"

void gsv_cuts_free(gsv_cuts *cuts) {
    gsv_free(cuts->at);
    cuts->at = NULL;
}

/* Is there a cut before column j of supernode s? */
static int begins(const gsv_structure *from, const uint8_t *at, int32_t s, int32_t j) {
    return j == from->first_column[s] || at[j];
}

/* Supernodes and rows of the result. */
static int32_t count_slices(const gsv_structure *from, const uint8_t *at, int64_t *rows) {
    int32_t count = 0;
    *rows = 0;
    for (int32_t s = 0; s < from->nsuper; s++) {
        const int64_t nr = from->row_ptr[s + 1] - from->row_ptr[s];
        for (int32_t j = from->first_column[s]; j < from->first_column[s + 1]; j++)
            if (begins(from, at, s, j)) {
                count++;
                *rows += nr - (j - from->first_column[s]);
            }
    }
    return count;
}

static void fill_slices(const gsv_structure *from, const uint8_t *at, gsv_structure *to) {
    int32_t slice = 0;
    int64_t row = 0;
    for (int32_t s = 0; s < from->nsuper; s++) {
        const int32_t k = gsv_whole(from, s);
        if (s == gsv_first_slice(from, k))
            to->slice_ptr[k] = slice;
        for (int32_t j = from->first_column[s]; j < from->first_column[s + 1]; j++) {
            if (!begins(from, at, s, j))
                continue;
            const int32_t *rows = from->rows + from->row_ptr[s] + (j - from->first_column[s]);
            const int64_t count = from->rows + from->row_ptr[s + 1] - rows;
            to->first_column[slice] = j;
            to->row_ptr[slice] = row;
            to->whole[slice++] = k;
            memcpy(to->rows + row, rows, (size_t)count * sizeof *rows);
            row += count;
        }
    }
    to->first_column[slice] = from->n;
    to->row_ptr[slice] = row;
    to->slice_ptr[to->nwhole] = slice;
}

gpusolve_status gsv_structure_split(const gsv_structure *from, const uint8_t *at, gsv_structure *to,
                                    gsv_message *message) {
    int64_t rows;
    memset(to, 0, sizeof *to);
    to->n = from->n;
    to->nwhole = gsv_nwhole(from);
    const int32_t nsuper = count_slices(from, at, &rows);
    const size_t n = (size_t)from->n;
    const int reserved = gsv_structure_reserve(to, nsuper, rows);
    to->slice_ptr = gsv_malloc((size_t)to->nwhole + 1, sizeof *to->slice_ptr);
    to->whole = gsv_malloc((size_t)nsuper, sizeof *to->whole);
    to->perm = from->perm ? gsv_malloc(n, sizeof *to->perm) : NULL;
    if (!reserved || !to->slice_ptr || !to->whole || (from->perm && !to->perm)) {
        gsv_structure_free(to);
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while splitting supernodes");
    }
    fill_slices(from, at, to);
    if (from->perm)
        memcpy(to->perm, from->perm, n * sizeof *to->perm);
    return GPUSOLVE_OK;
}
