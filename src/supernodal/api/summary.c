/*
 * gpusolve_factor_summary: what a plan is made of, for people to read. The lines and their order may change;
 * programs take gpusolve_info. Reads the plan alone, never the numbers.
 */
#include "summary.h"

#include <stdarg.h>
#include <stdio.h>

#include "checks.h"
#include "products/products.h"

enum { LEVEL_LINES = 20 }; /* more levels than that are shown several to a line */

void gsv_text_add(gsv_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t room = text->length < text->bytes ? text->bytes - text->length : 0;
    int written = vsnprintf(room ? text->text + text->length : NULL, room, format, arguments);
    va_end(arguments);
    if (written > 0)
        text->length += (size_t)written;
}

static double mib(int64_t bytes) {
    return (double)bytes / 1048576;
}

static void add_heading(const gpusolve_factor *factor, gsv_text *text) {
    static const char *const numbers[] = {"float",
                                          "double",
                                          "complex float",
                                          "complex double",
                                          "double, L stored as float",
                                          "complex double, L stored as complex float"};
    gsv_text_add(text, "gpusolve %s factor on %s: n = %d, %s\n", factor->has_d ? "L D L'" : "L L'",
                 factor->executor->backend == GPUSOLVE_BACKEND_CUDA ? "CUDA" : "the host",
                 (int)factor->plan.l.n, numbers[factor->numbers]);
}

static void add_sizes(const gpusolve_factor *factor, gsv_text *text) {
    const gsv_plan *plan = &factor->plan;
    int64_t stored = plan->nnz_l * (int64_t)gsv_panel_bytes(factor->numbers);
    int64_t factor_bytes, one, many;
    factor->executor->bytes(factor->device, 0, plan, factor->numbers, factor->has_d, 1, &factor_bytes, &one);
    factor->executor->bytes(factor->device, 0, plan, factor->numbers, factor->has_d, 32, &factor_bytes,
                            &many);
    gsv_text_add(text, "tree        %d supernodes in %d levels, widest %d columns\n", (int)plan->l.nsuper,
                 (int)plan->nlevels, (int)plan->widest);
    gsv_text_add(text, "L           %lld numbers, %.2f MiB\n", (long long)plan->nnz_l, mib(stored));
    gsv_text_add(text, "updates     %lld rows handed from children to parents\n",
                 (long long)plan->update_ptr[plan->l.nsuper]);
    gsv_text_add(text,
                 "memory      factor %.2f MiB, plan %.2f MiB, workspace %.2f MiB for 1 column, %.2f for 32\n",
                 mib(factor_bytes + gsv_more_bytes(factor)), mib(plan->bytes), mib(one), mib(many));
    gsv_text_add(text, "made in     %.2f ms planning, %.2f ms preparing\n", factor->plan_ms,
                 factor->prepare_ms);
    gsv_text_add(text,
                 "wall        A x = b reads L twice: %.2f MiB, %.4f ms at 1 TB/s, for 1 column as for 32\n",
                 mib(2 * stored), 2e-9 * (double)stored);
}

/* A line of a table: widths or levels first .. last (last below first: and more), supernodes, and their share of L. */
static void add_share(const gsv_plan *plan, int32_t first, int32_t last, int64_t count, int64_t numbers,
                      gsv_text *text) {
    char range[32];
    if (first == last)
        snprintf(range, sizeof range, "%d", (int)first);
    else if (last < first)
        snprintf(range, sizeof range, "%d-", (int)first);
    else
        snprintf(range, sizeof range, "%d-%d", (int)first, (int)last);
    gsv_text_add(text, "  %-8s  %10lld  %9.1f%%\n", range, (long long)count,
                 100 * (double)numbers / (double)(plan->nnz_l ? plan->nnz_l : 1));
}

static void add_widths(const gsv_plan *plan, gsv_text *text) {
    static const int32_t widest[] = {8, 32, 128, 512, INT32_MAX};
    enum { CLASSES = sizeof widest / sizeof widest[0] };
    int64_t count[CLASSES] = {0}, numbers[CLASSES] = {0};
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        int class = 0;
        while (gsv_columns(plan, s) > widest[class])
            class ++;
        count[class]++;
        numbers[class] += gsv_trapezoid(plan, s);
    }
    gsv_text_add(text, "columns     supernodes  share of L\n");
    for (int class = 0; class < CLASSES; class ++)
        add_share(plan, class ? widest[class - 1] + 1 : 1, class < CLASSES - 1 ? widest[class] : 0,
                  count[class], numbers[class], text);
}

static void add_levels(const gsv_plan *plan, gsv_text *text) {
    int32_t step = (plan->nlevels + LEVEL_LINES - 1) / LEVEL_LINES;
    int64_t count[LEVEL_LINES] = {0}, numbers[LEVEL_LINES] = {0};
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        int32_t line = plan->level[s] / step;
        count[line]++;
        numbers[line] += gsv_trapezoid(plan, s);
    }
    gsv_text_add(text, "level       supernodes  share of L\n");
    for (int32_t line = 0; line * step < plan->nlevels; line++) {
        const int32_t next = (line + 1) * step < plan->nlevels ? (line + 1) * step : plan->nlevels;
        add_share(plan, line * step, next - 1, count[line], numbers[line], text);
    }
}

gpusolve_status gpusolve_factor_summary(gpusolve_handle *handle, const gpusolve_factor *factor, char *text,
                                        size_t bytes, size_t *needed) {
    GSV_ENTER(handle);
    gpusolve_status status = gsv_check_factor_prepared(handle, factor);
    if (status)
        return status;
    if (!text && bytes > 0)
        return gsv_fail(&handle->message, GPUSOLVE_INVALID_ARGUMENT, "text: is NULL");

    gsv_text whole = {text, bytes, 0};
    add_heading(factor, &whole);
    add_sizes(factor, &whole);
    add_widths(&factor->plan, &whole);
    add_levels(&factor->plan, &whole);
    if (factor->executor->summary)
        factor->executor->summary(factor, &whole);
    if (needed)
        *needed = whole.length + 1;
    return GPUSOLVE_OK;
}
