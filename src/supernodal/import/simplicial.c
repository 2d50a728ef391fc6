/*
 * From the columns of a simplicial factor to supernodes, in one pass over the row indices.
 *
 *   Closing.  A column's parent is the first row below its diagonal. In a Cholesky factor the rows of a
 * column, itself apart, are contained in the rows of its parent; a factor from which zeros were dropped may
 * have lost some of them. Columns are visited in ascending order, children before parents, and each takes in
 * the rows that its children have and it has not. Those places hold explicit zeros. An incomplete factor would fill up
 * so: unless data->allow_fill is set, it is refused at the column at which there are MOST_FILL times as many entries as
 * were given, before more of them are made. Chains.  A column whose
 * rows are those of the column before, less that column itself, belongs to the same supernode and shares the
 * storage of its rows. So memory is needed for one list of rows a supernode, not one a column. No explicit
 * zero arises here. Relaxing.  A supernode is merged with the one right behind it, where its parent is, when
 * few explicit zeros result: narrow supernodes cost more in indices and in calls than zeros do. The rule is
 * CHOLMOD's (nrelax, zrelax), from the last supernode to the first.
 *
 * Time and memory are linear in the entries of the closed factor, but for a sort of the columns that gained
 * rows.
 */
#include "simplicial.h"

#include "../../memory.h"
#include "fields.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILL = 4 };

/* The columns that have been visited: rows of j are list[start[j]] .. list[start[j] + count[j] - 1], j first.
 */
typedef struct columns {
    int32_t n;
    int64_t *start;
    int32_t *count;
    int32_t *child, *sibling; /* child[j]: a visited column whose parent is j, sibling[]: the next; -1 ends */
    int32_t *stamp;           /* stamp[i] == j: row i is known to be in column j */
    int32_t *list;
    int64_t used, capacity;
    int64_t given, closed; /* entries: of all columns as given, and of the visited columns as closed */
} columns;

/* A run of adjacent columns with the same rows below it. */
typedef struct supernode {
    int32_t first;
    int32_t parent; /* the supernode (before relaxing) that holds the first row below, or -1 */
    int32_t nc;     /* columns, of the merged ones too */
    int32_t nr;
    int32_t last; /* the last of the supernodes merged into it; -1: is itself merged into one before */
    double zeros; /* explicit zeros that merging has brought in */
} supernode;

static gpusolve_status no_memory(gsv_message *message) {
    return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY,
                    "out of host memory while grouping columns into supernodes");
}

static void columns_free(columns *c) {
    gsv_free(c->start);
    gsv_free(c->count);
    gsv_free(c->child);
    gsv_free(c->sibling);
    gsv_free(c->stamp);
    gsv_free(c->list);
}

static int columns_create(columns *c, int32_t n) {
    memset(c, 0, sizeof *c);
    const size_t count = (size_t)n;
    c->n = n;
    c->start = gsv_malloc(count, sizeof *c->start);
    c->count = gsv_malloc(count, sizeof *c->count);
    c->child = gsv_malloc(count, sizeof *c->child);
    c->sibling = gsv_malloc(count, sizeof *c->sibling);
    c->stamp = gsv_malloc(count, sizeof *c->stamp);
    if (!c->start || !c->count || !c->child || !c->sibling || !c->stamp)
        return 0;
    for (int32_t j = 0; j < n; j++)
        c->child[j] = c->sibling[j] = c->stamp[j] = -1;
    return 1;
}

/* Make room for more rows at the end of the list. */
static int columns_reserve(columns *c, int64_t more) {
    if (c->capacity - c->used >= more)
        return 1;
    const int64_t capacity = c->used + more > 2 * c->capacity ? c->used + more : 2 * c->capacity;
    int32_t *list = gsv_malloc((size_t)capacity, sizeof *list);
    if (!list)
        return 0;
    if (c->used)
        memcpy(list, c->list, (size_t)c->used * sizeof *list);
    gsv_free(c->list);
    c->list = list;
    c->capacity = capacity;
    return 1;
}

static int ascending(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Let column j, the last in the list, take in the rows of its children that it lacks. */
static int close_column(columns *c, int32_t j) {
    const int32_t before = c->count[j];
    for (int32_t k = 0; k < before; k++)
        c->stamp[c->list[c->start[j] + k]] = j;
    for (int32_t child = c->child[j]; child >= 0; child = c->sibling[child]) {
        if (!columns_reserve(c, c->count[child]))
            return 0;
        const int32_t *rows = c->list + c->start[child];
        for (int32_t k = 1; k < c->count[child]; k++)
            if (c->stamp[rows[k]] != j) {
                c->stamp[rows[k]] = j;
                c->list[c->used++] = rows[k];
                c->count[j]++;
            }
    }
    if (c->count[j] > before)
        qsort(c->list + c->start[j], (size_t)c->count[j], sizeof *c->list, ascending);
    return 1;
}

/* Whether column j has the rows of column j - 1, less j - 1 itself. */
static int continues_chain(const columns *c, int32_t j) {
    return j > 0 && c->count[j - 1] - 1 == c->count[j] &&
           !memcmp(c->list + c->start[j - 1] + 1, c->list + c->start[j],
                   (size_t)c->count[j] * sizeof *c->list);
}

/* Read column j, close it, hang it below its parent. */
static gpusolve_status visit_column(columns *c, const gpusolve_factor_data *data, int32_t j,
                                    gsv_message *message) {
    const gsv_column_range column = gsv_simplicial_column(data, j);
    if (!columns_reserve(c, column.count))
        return no_memory(message);
    const gpusolve_status status = gsv_read_column(data, j, column, c->list + c->used, message);
    if (status)
        return status;
    c->start[j] = c->used;
    c->count[j] = (int32_t)column.count;
    c->used += column.count;

    int chain = continues_chain(c, j);
    const int closed = c->child[j] < 0 || (chain && c->child[j] == j - 1 && c->sibling[j - 1] < 0);
    if (!closed) {
        if (!close_column(c, j))
            return no_memory(message);
        chain = continues_chain(c, j);
    }
    if (chain) {
        c->used -= c->count[j];
        c->start[j] = c->start[j - 1] + 1;
    }
    c->closed += c->count[j];
    if (!data->allow_fill && c->closed > MOST_FILL * c->given)
        return gsv_fail(message, GPUSOLVE_INVALID_FACTOR,
                        "data->i: the factor is incomplete: %lld entries are given, and its columns up to %d "
                        "have %lld when they are filled up (data->allow_fill allows it)",
                        (long long)c->given, (int)j, (long long)c->closed);
    if (c->count[j] > 1) {
        const int32_t parent = c->list[c->start[j] + 1];
        c->sibling[j] = c->child[parent];
        c->child[parent] = j;
    }
    return GPUSOLVE_OK;
}

/* Chains become supernodes; owner[j] is the supernode of column j. Returns their number. */
static int32_t find_supernodes(const columns *c, supernode *nodes, int32_t *owner) {
    int32_t count = 0;
    for (int32_t j = 0; j < c->n; j++) {
        if (j == 0 || c->start[j] != c->start[j - 1] + 1 || c->count[j] != c->count[j - 1] - 1)
            nodes[count++] = (supernode){.first = j, .nr = c->count[j]};
        nodes[count - 1].nc++;
        owner[j] = count - 1;
    }
    for (int32_t s = 0; s < count; s++) {
        nodes[s].last = s;
        nodes[s].parent =
            nodes[s].nr > nodes[s].nc ? owner[c->list[c->start[nodes[s].first] + nodes[s].nc]] : -1;
    }
    return count;
}

/* CHOLMOD's rule: may a, whose parent is in b right behind it, be merged with b? Sets the zeros there are
 * then. */
static int worth_merging(const supernode *a, const supernode *b, double *zeros) {
    static const double nrelax[3] = {4, 16, 48}, zrelax[3] = {0.8, 0.1, 0.05};
    const double nc = (double)a->nc + b->nc;
    const double added =
        (double)a->nc * ((double)b->nr + a->nc - a->nr); /* each of a's columns gets b's rows */
    *zeros = a->zeros + b->zeros + added;
    if (added == 0 || nc <= nrelax[0])
        return 1;
    const double fraction = *zeros / (nc * (nc + 1) / 2 + nc * ((double)b->nr - b->nc));
    return (nc <= nrelax[1] && fraction < zrelax[0]) || (nc <= nrelax[2] && fraction < zrelax[1]) ||
           fraction < zrelax[2];
}

/* From the last to the first, so that the one right behind s has taken in all it will. Returns how many are
 * left. */
static int32_t relax(supernode *nodes, int32_t count) {
    int32_t left = count;
    for (int32_t s = count - 2; s >= 0; s--) {
        supernode *a = &nodes[s], *b = &nodes[s + 1];
        double zeros;
        if (a->parent < 0 || a->parent > b->last || !worth_merging(a, b, &zeros))
            continue;
        *a = (supernode){.first = a->first,
                         .parent = a->parent,
                         .nc = a->nc + b->nc,
                         .nr = a->nc + b->nr,
                         .last = b->last,
                         .zeros = zeros};
        b->last = -1;
        left--;
    }
    return left;
}

/* The rows of a merged supernode: all of its columns, then what the last one it took in has below. */
static gpusolve_status emit(const columns *c, const supernode *nodes, int32_t count, int32_t left,
                            gsv_structure *structure, gsv_message *message) {
    int64_t total = 0;
    for (int32_t s = 0; s < count; s++)
        total += nodes[s].last < 0 ? 0 : nodes[s].nr;
    if (!gsv_structure_reserve(structure, left, total))
        return no_memory(message);

    int64_t at = 0;
    int32_t k = 0;
    for (int32_t s = 0; s < count; s++) {
        const supernode *a = &nodes[s];
        if (a->last < 0)
            continue;
        structure->first_column[k] = a->first;
        structure->row_ptr[k++] = at;
        for (int32_t j = 0; j < a->nc; j++)
            structure->rows[at++] = a->first + j;
        const int32_t below = a->nr - a->nc, column = a->first + a->nc - 1;
        memcpy(structure->rows + at, c->list + c->start[column] + 1, (size_t)below * sizeof *structure->rows);
        at += below;
    }
    structure->first_column[left] = c->n;
    structure->row_ptr[left] = at;
    return GPUSOLVE_OK;
}

gpusolve_status gsv_simplicial_structure(const gpusolve_factor_data *data, gsv_structure *structure,
                                         gsv_message *message) {
    columns c;
    gpusolve_status status = columns_create(&c, structure->n) ? GPUSOLVE_OK : no_memory(message);
    for (int32_t j = 0; j < c.n && !status; j++)
        c.given += gsv_simplicial_column(data, j).count;
    for (int32_t j = 0; j < c.n && !status; j++)
        status = visit_column(&c, data, j, message);
    supernode *nodes = NULL;
    if (!status && !(nodes = gsv_malloc((size_t)c.n, sizeof *nodes)))
        status = no_memory(message);
    if (!status) {
        const int32_t count =
            find_supernodes(&c, nodes, c.stamp); /* the stamps have served: owner of each column */
        status = emit(&c, nodes, count, relax(nodes, count), structure, message);
    }
    gsv_free(nodes);
    columns_free(&c);
    return status;
}
