/* What the files of the CUDA executor share. */
#ifndef GSV_CUDA_SUPPORT_H
#define GSV_CUDA_SUPPORT_H

#include <cuda_runtime_api.h>

#include "../../device.h"
#include "launchers.h"
#include "../api/executor.h"
#include "upload_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* factor->prepared: two allocations on the device, divided. */
typedef struct gsv_cuda_factor {
    struct gsv_cuda_factor *next; /* of factor->retired */
    int captured;                 /* some graph reads it; several calls may set it at once */
    int64_t bytes;                /* of memory */
    void *values;                 /* [device] D, the panels and the determinant */
    int64_t values_bytes;
    double *determinant; /* [device] a copy of gpusolve_factor.determinant */
    gsv_device_plan plan;
    void *memory;
    gsv_abilities abilities;
    gsv_device_tasks tasks;
    float *k;      /* [nsuper] of the triangles of the last values (gsv_wide_panel.k); NULL: unknown */
    uint8_t *well; /* [nsuper] which wide panels have k <= GSV_WELL_LIMIT; and room for those of new values */
    int placed;    /* the nodes on the device say so */
    gsv_upload_plan *upload;             /* made by the first upload */
    struct gsv_product_lists *products;  /* made by the first product (products/lists.h); atomic */
    double plan_ms, values_ms, nodes_ms; /* of the last preparation: the plan's copy (0: there before), the
                                         * panels' transfer and inversion, reading what came of it */
} gsv_cuda_factor;

/* How many right-hand sides stand side by side where sweeps are graphs: GSV_SIDE_COLUMNS; GSV_TASKS_16, GSV_TASKS_32, or up to
 * GSV_TASKS_GROUPS times GSV_TASKS_64, where more than GSV_TASKS_BROAD, and what they leave, have lists of their
 * own; or 2 to GSV_SIDE groups (stream.h). */
enum {
    GSV_STREAM_WIDTHS = 1,
    GSV_TASKS_WIDTHS = 2 + GSV_TASKS_BROAD / GSV_TASKS_64 + GSV_TASKS_GROUPS,
    GSV_WIDTHS = GSV_STREAM_WIDTHS + GSV_TASKS_WIDTHS + GSV_SIDE - 1
};

/* workspace->state: one allocation on the device, and the sweeps as graphs, one for each width. */
typedef struct gsv_cuda_workspace {
    gsv_device_vectors vectors[GSV_CLASSES];
    void *memory;
    int *report;                          /* [host, mapped] gsv_stream_state.report */
    int same_bits;                        /* gpusolve_options.same_bits of the handle that made it */
    int64_t plans;                        /* gpusolve_factor.plans when it was laid out */
    int captured;                         /* some graph has a solve with it */
    struct gsv_cuda_workspace *retired;   /* of earlier plans, kept for such graphs; or NULL */
    gsv_device_vectors tasks, tasks_16;   /* tasks_16: for GSV_TASKS_16, which leave z alone */
    cudaGraphExec_t sweep[GSV_WIDTHS][2]; /* forward, backward */
} gsv_cuda_workspace;

/* gsv_executor's check_memory. */
gpusolve_status gsv_cuda_check_memory(gpusolve_handle *handle, const char *name, const void *values,
                                      size_t number, int *on_device);

/* A user's block with its strides, and the same block without padding, at `values`. */
gsv_device_dense gsv_cuda_dense(const gpusolve_dense *dense);
gsv_device_dense gsv_cuda_packed(const gpusolve_dense *dense, void *values);

/* cuda/staging.c. Copy a block between host memory, in the user's layout, and the device, without padding, on the handle's
 * stream. From the device: pageable memory has it on return. */
cudaError_t gsv_cuda_copy_block(gpusolve_handle *handle, const gpusolve_dense *host, void *device,
                                enum cudaMemcpyKind kind);
/* gsv_cuda_fill, of large pageable memory in the same way. */
cudaError_t gsv_cuda_fill_shared(gpusolve_handle *handle, void *device, const void *host, size_t bytes);
/* Test hook, for the whole process: the handle's threads copy pageable blocks of `bytes` bytes and more, whether or not that pays; 0: only
 * where it pays. */
void gsv_cuda_stage_from(int64_t bytes);

/* cuda/nodes.c. device->k is known: tell the nodes and the abilities which wide triangles are well-conditioned. */
gpusolve_status gsv_cuda_place_nodes(gpusolve_factor *factor, gsv_cuda_factor *device, gsv_message *message);

/* cuda/values.c. factor->prepared with memory for the values, in the place of what was there. */
gpusolve_status gsv_cuda_make_values(gpusolve_factor *factor, gsv_message *message);
int64_t gsv_cuda_values_bytes(const gsv_plan *plan, gsv_numbers numbers, int has_d);
/* cuda/factor.c. Which ways through the tree the current device has for a plan. */
cudaError_t gsv_cuda_ask_device(const gsv_plan *plan, gsv_numbers numbers, gsv_abilities *abilities);

/* cuda/values.c, and cuda/factor.c: the values, and the rest. With data NULL gsv_cuda_prepare makes room for the values and their k, too, and
 * the caller copies them and calls gsv_cuda_place_nodes. */
int64_t gsv_cuda_factor_bytes(const gsv_plan *plan, gsv_numbers numbers, int has_d);
gpusolve_status gsv_cuda_fill_factor(gpusolve_handle *handle, gpusolve_factor *factor,
                                     const gpusolve_factor_data *data, gsv_cuts *cuts);
gpusolve_status gsv_cuda_prepare(gpusolve_handle *handle, gpusolve_factor *factor,
                                 const gpusolve_factor_data *data);
gpusolve_status gsv_cuda_refresh(gpusolve_handle *handle, gpusolve_factor *factor,
                                 const gpusolve_factor_data *data, const gsv_fresh *fresh, gsv_cuts *cuts);
void gsv_cuda_release(gpusolve_factor *factor);
void gsv_cuda_drop(gpusolve_factor *factor);
gpusolve_status gsv_cuda_expire(gpusolve_factor *factor, gsv_message *message);
gpusolve_status gsv_cuda_copy_determinant(gpusolve_handle *handle, const gpusolve_factor *factor, int first,
                                          int count, double *to);

/* cuda/upload.c: fill all panels. k [nsuper] [host] says how well-conditioned the triangles are, and which are inverted, as
 * in gsv_wide_panel; if some are not, cuts->at says where their supernodes must be cut: then the panels on the device are
 * no factor. finer: NULL, or [nsuper] of each supernode: gsv_wide_panel.finer, and supernodes are cut that would not be
 * trusted so, too. diagonal [n] [host] becomes that of L, or D, and *determinant its determinant, also on the device. Numbers that are no good are refused. Unless touched is NULL, no number on the device changes
 * before all are known to be good, and then *touched is set; else what there is on the device is no factor if this
 * fails. */
gpusolve_status gsv_cuda_upload(gpusolve_handle *handle, const gpusolve_factor *factor,
                                gsv_cuda_factor *device, const gpusolve_factor_data *data, const float *finer,
                                float *k, double *diagonal, gsv_determinant *determinant, gsv_cuts *cuts,
                                int *touched);
/* The panels of fresh columns alone, whose numbers have been checked, and the determinant. k: of their supernodes; *trusted: all of these are inverted,
 * else the factor's panels are no factor. */
gpusolve_status gsv_cuda_upload_fresh(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      gsv_cuda_factor *device, const gpusolve_factor_data *data,
                                      const gsv_fresh *fresh, float *k, int *trusted, int *touched);
/* Device memory that an upload uses, in bytes. It is given back. */
int64_t gsv_cuda_upload_bytes(const gsv_plan *plan, gsv_numbers numbers);
void gsv_cuda_handle_destroy(gpusolve_handle *handle);

/* cuda/read.c: read_values of executor.h. */
gpusolve_status gsv_cuda_read_values(gpusolve_handle *handle, const gpusolve_factor *factor,
                                     const int64_t *column, void *x, void *d);

/* cuda/executor.c */
gpusolve_status gsv_cuda_is_capturing(gpusolve_handle *handle, int *capturing);
gpusolve_status gsv_cuda_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                               gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                               const gpusolve_dense *x);

/* cuda/cost.c */
void gsv_cuda_cost(const gpusolve_handle *handle, const gpusolve_factor *factor, gpusolve_cost *cost);
/* What a solve takes, but of complex numbers in single precision, from cost's nrhs, hops and bytes_per_s; upper_numbers: of
 * the supernodes that are in no branch. */
double gsv_cuda_predict(const gsv_plan *plan, const gpusolve_cost *cost, int64_t upper_numbers,
                        gsv_numbers numbers);
/* What each group of right-hand sides beside the first one adds to that: microseconds. */
double gsv_cuda_side_us(const gsv_plan *plan);
/* The same of right-hand sides each of which is a group. */
double gsv_cuda_ones_us(const gsv_plan *plan, gsv_numbers numbers);
void gsv_cuda_summary(const gpusolve_factor *factor, struct gsv_text *text);

/* cuda/selection.cu */
extern const gsv_selection_functions gsv_cuda_selection;

/* cuda/refine/matrix.c, refine.c */
gpusolve_status gsv_cuda_matrix_create(gpusolve_handle *handle, gpusolve_matrix *matrix,
                                       const int64_t *row_ptr, const int32_t *columns, const void *values);
void gsv_cuda_matrix_destroy(gpusolve_matrix *matrix);
gpusolve_status gsv_cuda_refine_reserve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                        const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                        const gpusolve_refine_options *options);
void gsv_cuda_refine_release(gpusolve_workspace *workspace);
gpusolve_status gsv_cuda_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                const gpusolve_refine_options *options, const gpusolve_dense *b,
                                const gpusolve_dense *x, gsv_refine_column *columns,
                                const gsv_refine_results *to);

#ifdef __cplusplus
}
#endif
#endif
