/* Reaches in the supernodal forest: reach.h. Linear in the reach and, once, in the number of supernodes. */
#include "reach.h"

#include <string.h>

int32_t gsv_supernode_of(const gsv_plan *plan, int32_t j) {
    int32_t low = 0, high = plan->l.nsuper - 1;
    while (low < high) {
        const int32_t middle = low + (high - low + 1) / 2;
        if (plan->l.first_column[middle] <= j)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int32_t gsv_reach_mark(const gsv_plan *plan, int64_t count, const int32_t *rows, uint8_t *reach) {
    int32_t marked = 0;
    for (int64_t k = 0; k < count; k++)
        for (int32_t s = gsv_supernode_of(plan, rows[k]); s >= 0 && !reach[s]; s = plan->parent[s]) {
            reach[s] = 1;
            marked++;
        }
    return marked;
}

/* How many supernodes and rows the reach has; its columns, l->n, are numbered on the way. */
static int32_t count_reach(const gsv_plan *plan, const uint8_t *reach, int32_t *supernodes, int32_t *shift,
                           gsv_structure *l, int64_t *rows) {
    int32_t count = 0;
    *rows = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        if (!reach[s])
            continue;
        supernodes[count++] = s;
        shift[s] = l->n - plan->l.first_column[s];
        l->n += gsv_columns(plan, s);
        *rows += gsv_rows(plan, s);
    }
    return count;
}

gpusolve_status gsv_reach_structure(const gsv_plan *plan, const uint8_t *reach, int32_t *supernodes,
                                    int32_t *shift, gsv_structure *structure, gsv_message *message) {
    gsv_structure *l = structure;
    int64_t rows, at = 0;
    memset(l, 0, sizeof *l);
    const int32_t count = count_reach(plan, reach, supernodes, shift, l, &rows);
    if (!gsv_structure_reserve(l, count, rows)) {
        gsv_structure_free(l);
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while pruning the tree");
    }
    for (int32_t k = 0; k < l->nsuper; k++) {
        const int32_t s = supernodes[k];
        int32_t owner = s; /* of the row at hand: itself, then ancestors from below, for rows ascend */
        l->first_column[k] = plan->l.first_column[s] + shift[s];
        l->row_ptr[k] = at;
        for (int64_t i = plan->l.row_ptr[s]; i < plan->l.row_ptr[s + 1]; i++) {
            const int32_t row = plan->l.rows[i];
            while (row >= plan->l.first_column[owner + 1])
                owner = plan->parent[owner];
            l->rows[at++] = row + shift[owner];
        }
    }
    l->first_column[l->nsuper] = l->n;
    l->row_ptr[l->nsuper] = at;
    return GPUSOLVE_OK;
}
