/* Entries of a triangle: collected, sorted, compared with those of the other one. See triplets.h. */
#include "triplets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

gsm_triplets gsm_triplets_start(bool is_complex) {
    gsm_triplets list = {.is_complex = is_complex, .sorted = true};
    return list;
}

void gsm_triplets_free(gsm_triplets *list) {
    free(list->row);
    free(list->column);
    free(list->value);
    free(list->line);
    memset(list, 0, sizeof *list);
}

bool gsm_resize(void **block, int64_t count, size_t size) {
    if ((uint64_t)count > SIZE_MAX / size) {
        return false;
    }
    void *grown = realloc(*block, count > 0 ? (size_t)count * size : 1);
    if (grown != NULL) {
        *block = grown;
    }
    return grown != NULL;
}

static int parts_of(const gsm_triplets *list) {
    return list->is_complex ? 2 : 1;
}

/* Room for capacity entries; what fits already stays where memory runs out. */
static bool reserve(gsm_triplets *list, int64_t capacity) {
    void *rows = list->row, *columns = list->column, *values = list->value, *lines = list->line;
    bool enough = gsm_resize(&rows, capacity, sizeof *list->row);
    list->row = rows;
    enough = enough && gsm_resize(&columns, capacity, sizeof *list->column);
    list->column = columns;
    enough = enough && gsm_resize(&values, capacity, (size_t)parts_of(list) * sizeof *list->value);
    list->value = values;
    enough = enough && gsm_resize(&lines, capacity, sizeof *list->line);
    list->line = lines;
    list->capacity = enough ? capacity : list->capacity;
    return enough;
}

bool gsm_triplets_push(gsm_triplets *list, int64_t row, int64_t column, const double value[2], int64_t line) {
    if (list->count == list->capacity && !reserve(list, list->capacity < 4096 ? 4096 : 2 * list->capacity)) {
        return false;
    }
    int64_t k = list->count++;
    if (k > 0) {
        int64_t last = list->column[k - 1];
        list->sorted = list->sorted && (column > last || (column == last && row > list->row[k - 1]));
    }
    list->row[k] = (int32_t)row;
    list->column[k] = (int32_t)column;
    list->line[k] = line;
    memcpy(list->value + parts_of(list) * k, value, (size_t)parts_of(list) * sizeof *value);
    return true;
}

/* A bucket sort by row, and a stable one by column. */
bool gsm_triplets_sort(gsm_triplets *list, int64_t n) {
    if (list->sorted) {
        return true;
    }
    int64_t count = list->count;
    int parts = parts_of(list);
    gsm_triplets sorted = gsm_triplets_start(list->is_complex);
    void *next = NULL, *order = NULL;
    bool enough = gsm_resize(&next, n + 1, sizeof(int64_t)) && gsm_resize(&order, count, sizeof(int64_t)) &&
                  reserve(&sorted, count);
    if (enough) {
        int64_t *place = next, *by_row = order;
        for (int pass = 0; pass < 2; pass++) {
            const int32_t *key = pass == 0 ? list->row : list->column;
            memset(place, 0, ((size_t)n + 1) * sizeof *place);
            for (int64_t k = 0; k < count; k++) {
                place[key[k] + 1]++;
            }
            for (int64_t i = 0; i < n; i++) {
                place[i + 1] += place[i];
            }
            for (int64_t k = 0; k < count; k++) {
                if (pass == 0) {
                    by_row[place[key[k]]++] = k;
                    continue;
                }
                int64_t from = by_row[k], to = place[key[from]]++;
                sorted.row[to] = list->row[from];
                sorted.column[to] = list->column[from];
                sorted.line[to] = list->line[from];
                for (int c = 0; c < parts; c++) {
                    sorted.value[parts * to + c] = list->value[parts * from + c];
                }
            }
        }
        sorted.count = count;
        gsm_triplets_free(list);
        *list = sorted;
    } else {
        gsm_triplets_free(&sorted);
    }
    free(next);
    free(order);
    return enough;
}

int64_t gsm_triplets_repeated(const gsm_triplets *list) {
    int64_t first = -1;
    for (int64_t k = 1; k < list->count; k++) {
        bool same = list->row[k] == list->row[k - 1] && list->column[k] == list->column[k - 1];
        first = same && (first < 0 || list->line[k] < list->line[first]) ? k : first;
    }
    return first;
}

/* --------------------------------------------------------------------------------------- symmetry --- */

/* scale[j] = sqrt(abs(re(a_jj))), 0 where that entry is absent. NULL when out of memory. */
static double *scale_of(const gsm_triplets *lower, int64_t n) {
    double *scale = calloc((size_t)n + 1, sizeof *scale);
    for (int64_t k = 0; scale != NULL && k < lower->count; k++) {
        if (lower->row[k] == lower->column[k]) {
            scale[lower->row[k]] = sqrt(fabs(lower->value[parts_of(lower) * k]));
        }
    }
    return scale;
}

/* Keeps the pair if none before it in the file differs. x is the entry of the lower triangle on line_x, y the mirror
 * image of the other one on line_y; a line is 0 where the entry is absent. */
static void keep_mismatch(gsm_mismatch *kept, int32_t row, int32_t column, const double x[2], int64_t line_x,
                          const double y[2], int64_t line_y, double difference, double allowed) {
    bool lower_first = line_x != 0 && (line_y == 0 || line_x <= line_y);
    int64_t line = lower_first ? line_x : line_y;
    if (kept->line != 0 && kept->line < line) {
        return;
    }
    const double *first = lower_first ? x : y, *second = lower_first ? y : x;
    kept->row = lower_first ? row : column;
    kept->column = lower_first ? column : row;
    kept->value[0] = first[0];
    kept->value[1] = lower_first ? first[1] : -first[1];
    kept->mirror[0] = second[0];
    kept->mirror[1] = lower_first ? -second[1] : second[1];
    kept->line = line;
    kept->mirror_line = lower_first ? line_y : line_x;
    kept->difference = difference;
    kept->allowed = allowed;
}

bool gsm_triplets_symmetrise(gsm_triplets *lower, const gsm_triplets *upper, int64_t n,
                             gsm_mismatch *mismatch) {
    int parts = parts_of(lower);
    int64_t number_lower = lower->count;
    bool enough = true;
    double *scale = scale_of(lower, n);
    memset(mismatch, 0, sizeof *mismatch);
    if (scale == NULL) {
        return false;
    }
    for (int64_t p = 0, q = 0; enough && (p < number_lower || q < upper->count);) {
        int64_t at_p = p < number_lower ? (int64_t)lower->column[p] * n + lower->row[p] : INT64_MAX;
        int64_t at_q = q < upper->count ? (int64_t)upper->column[q] * n + upper->row[q] : INT64_MAX;
        bool has_p = at_p <= at_q, has_q = at_q <= at_p;
        int32_t row = has_p ? lower->row[p] : upper->row[q];
        int32_t column = has_p ? lower->column[p] : upper->column[q];
        double x[2] = {0.0, 0.0}, y[2] = {0.0, 0.0};
        for (int c = 0; c < parts; c++) {
            x[c] = has_p ? lower->value[parts * p + c] : 0.0;
            y[c] = has_q ? upper->value[parts * q + c] : 0.0;
        }
        if (row == column) { /* its own mirror image */
            y[0] = x[0];
            y[1] = -x[1];
        }
        if (x[0] != y[0] || x[1] != y[1]) {
            double mean[2] = {x[0] + (y[0] - x[0]) / 2, x[1] + (y[1] - x[1]) / 2};
            double difference = hypot(x[0] - y[0], x[1] - y[1]);
            double allowed = GSM_SYMMETRY_TOLERANCE * scale[row] * scale[column];
            if (!(difference <= allowed)) {
                int64_t line_p = has_p ? lower->line[p] : 0, line_q = has_q ? upper->line[q] : 0;
                keep_mismatch(mismatch, row, column, x, line_p, y, row == column ? line_p : line_q,
                              difference, allowed);
            } else if (has_p) {
                memcpy(lower->value + parts * p, mean, (size_t)parts * sizeof *mean);
            } else {
                enough = gsm_triplets_push(lower, row, column, mean, upper->line[q]);
            }
        }
        p += has_p;
        q += has_q;
    }
    free(scale);
    return enough && gsm_triplets_sort(lower, n);
}
