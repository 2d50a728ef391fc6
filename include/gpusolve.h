/** @file
 * gpusolve: the solve phase of sparse Cholesky, on NVIDIA GPUs and on the host.
 *
 * Given a factor P A P' = L L' (or L D L'), computed elsewhere, gpusolve computes X = A \ B, the partial
 * solves with L, L', D and P, and iterative refinement against A, for one or for thousands of right-hand
 * sides, again and again.
 *
 *      gpusolve_create            one handle a thread: backend, device, stream, threads, last error
 *      gpusolve_factor_create     import a factor once: validated, planned, copied, prepared; immutable
 *      gpusolve_solve             as often as wanted, from any number of threads with a handle each
 *
 * CHOLMOD's users include gpusolve_cholmod.h, which turns a cholmod_factor into the arrays described here.
 *
 * Conventions. A function that can fail returns a gpusolve_status; the handle keeps a sentence that names the argument or field
 * at fault (gpusolve_last_error). Arguments are checked in the order of declaration. A call that fails changes nothing and leaks
 * nothing, unless its comment says otherwise. The library never prints, exits or aborts. Destroy functions accept NULL.
 * [in] [out] [host] [device] tag each pointer. Sizes are in elements unless "bytes" is said.
 */
#ifndef GPUSOLVE_H
#define GPUSOLVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(GPUSOLVE_STATIC) || defined(_WIN32)
#define GPUSOLVE_API
#else
#define GPUSOLVE_API __attribute__((visibility("default")))
#endif

#define GPUSOLVE_VERSION_MAJOR 0
#define GPUSOLVE_VERSION_MINOR 1
#define GPUSOLVE_VERSION_PATCH 0

/* --------------------------------------------------------------------------------------------- status --- */
/** @name Status
 * @{ */

/** X(name, value, message): every status. Values are pinned; new ones are appended. */
#define GPUSOLVE_STATUS_LIST(X)                                                                    \
    X(GPUSOLVE_OK, 0, "success")                                                                   \
    X(GPUSOLVE_INVALID_ARGUMENT, 1, "an argument is invalid")                                      \
    X(GPUSOLVE_INVALID_FACTOR, 2, "the factor's arrays do not describe a Cholesky factor")         \
    X(GPUSOLVE_NOT_POSITIVE_DEFINITE, 3, "the factorisation stopped early: not positive definite") \
    X(GPUSOLVE_SINGULAR, 4, "a diagonal entry of the factor is zero, or too small to divide by")   \
    X(GPUSOLVE_NOT_FINITE, 5, "the factor holds a NaN or an infinity")                             \
    X(GPUSOLVE_PATTERN_MISMATCH, 6, "the pattern differs from the one that was planned")           \
    X(GPUSOLVE_TYPE_MISMATCH, 7, "the operands' types do not go together")                         \
    X(GPUSOLVE_NOT_SUPPORTED, 8, "not supported")                                                  \
    X(GPUSOLVE_TOO_LARGE, 9, "a size exceeds what the library or its integers can hold")           \
    X(GPUSOLVE_OUT_OF_MEMORY, 10, "out of host memory")                                            \
    X(GPUSOLVE_OUT_OF_DEVICE_MEMORY, 11, "out of device memory")                                   \
    X(GPUSOLVE_NO_DEVICE, 12, "no usable CUDA device")                                             \
    X(GPUSOLVE_CUDA_ERROR, 13, "a CUDA call failed")                                               \
    X(GPUSOLVE_INTERNAL_ERROR, 14, "internal error")                                               \
    X(GPUSOLVE_TIMED_OUT, 15, "a solve gave up waiting on the device: its x has NaNs")             \
    X(GPUSOLVE_BUSY, 16, "the handle is in use by another thread")                                 \
    X(GPUSOLVE_FILE_ERROR, 17, "a file cannot be read or written")                                 \
    X(GPUSOLVE_INVALID_FILE, 18, "the file is not a factor that was saved, or is damaged")

/** What a call returns. GPUSOLVE_OK is 0. */
typedef enum gpusolve_status {
#define GPUSOLVE_STATUS_ENUM(name, value, message) name = value,
    GPUSOLVE_STATUS_LIST(GPUSOLVE_STATUS_ENUM)
#undef GPUSOLVE_STATUS_ENUM
} gpusolve_status;

/** "GPUSOLVE_OK". Static text, never NULL, also for values that are no status. */
GPUSOLVE_API const char *gpusolve_status_name(gpusolve_status status);
/** "success". Static text, never NULL, also for values that are no status. */
GPUSOLVE_API const char *gpusolve_status_message(gpusolve_status status);

/** "0.1.0", of the library that was loaded. */
GPUSOLVE_API const char *gpusolve_version(void);

/** @} */

/* ---------------------------------------------------------------------------------------------- types --- */
/** @name Types
 * @{ */

/** What one number is; complex numbers are interleaved (re, im). */
typedef enum gpusolve_dtype {
    GPUSOLVE_FLOAT = 0,
    GPUSOLVE_DOUBLE = 1,
    GPUSOLVE_COMPLEX_FLOAT = 2,
    GPUSOLVE_COMPLEX_DOUBLE = 3
} gpusolve_dtype;

/** What one index of a factor or matrix is. */
typedef enum gpusolve_itype { GPUSOLVE_INT32 = 0, GPUSOLVE_INT64 = 1 } gpusolve_itype;

/** Where a handle's solves run. */
typedef enum gpusolve_backend {
    GPUSOLVE_BACKEND_AUTO = 0, /**< CUDA where there is a device, else the host */
    GPUSOLVE_BACKEND_HOST = 1, /**< threads of the handle's own */
    GPUSOLVE_BACKEND_CUDA = 2  /**< one device */
} gpusolve_backend;

/** How the entries of a dense block follow each other. */
typedef enum gpusolve_order { GPUSOLVE_COL_MAJOR = 0, GPUSOLVE_ROW_MAJOR = 1 } gpusolve_order;

/** The nine systems, with the values of CHOLMOD's macros. L' is the conjugate transpose. D is the identity for L L'. */
typedef enum gpusolve_system {
    GPUSOLVE_A = 0,    /**< A x = b                */
    GPUSOLVE_LDLt = 1, /**< L D L' x = b           */
    GPUSOLVE_LD = 2,   /**< L D x = b              */
    GPUSOLVE_DLt = 3,  /**< D L' x = b             */
    GPUSOLVE_L = 4,    /**< L x = b                */
    GPUSOLVE_Lt = 5,   /**< L' x = b               */
    GPUSOLVE_D = 6,    /**< D x = b                */
    GPUSOLVE_P = 7,    /**< x = P b:  x(i) = b(perm(i))  */
    GPUSOLVE_Pt = 8    /**< x = P' b: x(perm(i)) = b(i)  */
} gpusolve_system;

/** Backend, device, stream, threads and last error: one for each thread (gpusolve_create). */
typedef struct gpusolve_handle gpusolve_handle;
/** An imported factor, immutable but for a refresh (gpusolve_factor_create). */
typedef struct gpusolve_factor gpusolve_factor;
/** What one solve writes (gpusolve_workspace_create). */
typedef struct gpusolve_workspace gpusolve_workspace;
/** A copy of A, for refinement (gpusolve_matrix_create). */
typedef struct gpusolve_matrix gpusolve_matrix;

/** @} */

/* --------------------------------------------------------------------------------------------- handle --- */
/** @name Handle
 * @{ */

/** What a handle is made with. */
typedef struct gpusolve_options {
    size_t size;              /**< sizeof(gpusolve_options); set by GPUSOLVE_OPTIONS_INIT */
    gpusolve_backend backend; /**< default AUTO */
    int device;   /**< CUDA device ordinal, or -1: the calling thread's current device (default) */
    int threads;  /**< host threads, at most 1024. 0 (default): as many as OMP_NUM_THREADS says, else one
                               * for each processor. They start with the first call that is worth them */
    void *stream; /**< cudaStream_t that solves are ordered on; NULL: the default stream (default) */
    int same_bits; /**< CUDA, workspaces that this handle makes: not 0: a column's bits do not depend on how many
                    * columns are solved at a time (gpusolve_solve says what that costs); 0 (default) */
} gpusolve_options;

/** The default options: gpusolve_options o = GPUSOLVE_OPTIONS_INIT. */
#define GPUSOLVE_OPTIONS_INIT \
    { sizeof(gpusolve_options), GPUSOLVE_BACKEND_AUTO, -1, 0, NULL, 0 }

/**
 * Create a handle. A handle serves one thread at a time. It is cheap, so have one for each thread. On the host backend it starts
 * its threads when they are first needed; between calls they sleep.
 * @param handle   [out, host] the new handle; NULL on failure
 * @param options  [in, host]  NULL for the defaults
 *
 * @retval GPUSOLVE_NO_DEVICE backend CUDA was asked for and there is no usable device or no CUDA in this build.
 *
 * Without a handle there is no last error: the status says it all.
 *
 * GPUSOLVE_BUSY: a call that finds another thread inside a call with the same handle returns this and does nothing else; the
 * last error is not changed. In a forked child a handle stays busy if another thread was inside a call with it at the fork.
 * Functions that return no status do not check.
 */
GPUSOLVE_API gpusolve_status gpusolve_create(gpusolve_handle **handle, const gpusolve_options *options);

/** Waits for the handle's stream (CUDA), then frees the handle and its own workspaces. No other thread may be inside a call with
 * the handle: nothing checks that. */
GPUSOLVE_API void gpusolve_destroy(gpusolve_handle *handle);

/** The sentence of the last failed call with this handle, "" if none failed. Valid until the next call with it. */
GPUSOLVE_API const char *gpusolve_last_error(const gpusolve_handle *handle);

/** For adapters that turn another library's objects into gpusolve's: make text (copied, 255 characters at most; NULL: the
 * status's own message) the handle's last error and return status. GPUSOLVE_OK leaves the last error alone. */
GPUSOLVE_API gpusolve_status gpusolve_report(gpusolve_handle *handle, gpusolve_status status,
                                             const char *text);

/** The backend that runs: HOST or CUDA, never AUTO; HOST for NULL. */
GPUSOLVE_API gpusolve_backend gpusolve_get_backend(const gpusolve_handle *handle);

/** "NVIDIA H200", or the host's thread count in words: "host, 16 threads". Valid as long as the handle. */
GPUSOLVE_API const char *gpusolve_get_device_name(const gpusolve_handle *handle);

/** Order later calls on this cudaStream_t. Where a workspace is shared between the old stream and the new one, the caller orders
 * the old one's work first. No effect on the host backend. */
GPUSOLVE_API gpusolve_status gpusolve_set_stream(gpusolve_handle *handle, void *stream);

/** @} */

/* --------------------------------------------------------------------------------------------- factor --- */
/** @name Factor
 * @{ */

/** How a factor keeps L (docs/guides/storage.md). SINGLE: rounded to single precision, with b, x and all sums in double. */
typedef enum gpusolve_storage { GPUSOLVE_STORAGE_SAME = 0, GPUSOLVE_STORAGE_SINGLE = 1 } gpusolve_storage;

/** How a factor's arrays describe it. */
typedef enum gpusolve_factor_kind {
    GPUSOLVE_SUPERNODAL_LL = 0, /**< dense panels by supernode: L L' */
    GPUSOLVE_SIMPLICIAL_LL = 1, /**< compressed columns: L L' */
    GPUSOLVE_SIMPLICIAL_LDL = 2 /**< compressed columns, unit L; D stands in L's diagonal positions: L D L' */
} gpusolve_factor_kind;

/**
 * A factor as plain arrays, all borrowed and [in, host], read during the call they are passed to and not
 * afterwards. The layout is CHOLMOD's. Index arrays have the type itype; zero-based; L is in permuted order.
 *
 * Supernodal: supernode k holds the nc columns super[k] .. super[k+1]-1. Its nr row indices are s[pi[k]] .. s[pi[k+1]-1],
 * strictly ascending; the first nc are its own columns. Its panel is nr x nc, column-major with leading dimension nr, at
 * x + px[k]; what stands above the diagonal is never read. The rows below a supernode's own columns are among the rows of its
 * parent (the supernode that holds the first of them), as in every Cholesky factor.
 *
 * Simplicial: column j's row indices are i[p[j]] .. i[p[j]+nz[j]-1], strictly ascending, the first being j
 * itself (nz == NULL: nz[j] = p[j+1]-p[j]), with values at the same places of x.
 */
typedef struct gpusolve_factor_data {
    size_t size; /**< sizeof(gpusolve_factor_data); set by GPUSOLVE_FACTOR_DATA_INIT */
    gpusolve_factor_kind kind;
    gpusolve_dtype dtype;
    gpusolve_itype itype;
    int64_t n;        /**< order of A */
    int64_t minor;    /**< column at which the factorisation failed, n if it did not */
    const void *perm; /**< [n] row i of P A P' is row perm[i] of A; NULL: the identity */
    /* supernodal */
    int64_t nsuper;
    int64_t ssize; /**< entries of s: pi[nsuper] */
    int64_t xsize; /**< numbers in x that may be read: at least px[nsuper] or the end of the last column */
    const void *super; /**< [nsuper + 1] */
    const void *pi;    /**< [nsuper + 1] */
    const void *px;    /**< [nsuper + 1] panels ascend and do not overlap; px[nsuper] <= xsize */
    const void *s;     /**< [ssize] */
    /* simplicial */
    const void *p;  /**< [n + 1] */
    const void *i;  /**< [>= p[n]] */
    const void *nz; /**< [n] or NULL */
    /* values */
    const void *x; /**< [xsize] numbers of dtype; with z: the real parts alone */
    const void *z; /**< NULL, or the imaginary parts [xsize] of a split-complex (zomplex) factor */
    int in_place; /**< 0 (default): x is copied. 1: x is borrowed for as long as the factor lives (see below) */
    int allow_fill; /**< 1: fill up an incomplete simplicial factor, however much that takes; 0 (default) (see below) */
    gpusolve_storage storage; /**< default SAME; a refresh does not look at it; SINGLE: not with in_place */
} gpusolve_factor_data;

/* clang-format off */
/** A gpusolve_factor_data that describes nothing yet. */
#define GPUSOLVE_FACTOR_DATA_INIT                                                                            \
    {sizeof(gpusolve_factor_data), GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE, GPUSOLVE_INT32, 0, 0, NULL,      \
     0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0,    \
     GPUSOLVE_STORAGE_SAME}
/* clang-format on */

/**
 * Import a factor: validate everything, plan, copy the values to where the handle's backend wants them, and prepare them. Blocks
 * until the factor is ready. The caller's arrays are never written, and are not needed afterwards.
 * @param handle  [in, host]
 * @param data    [in, host]
 * @param factor  [out, host] the new factor; NULL on failure
 *
 * Immutable once created: any number of threads, each with a handle of the same backend and device, may solve with it at once. A
 * simplicial factor is turned into supernodes.
 *
 * @retval GPUSOLVE_SINGULAR a diagonal entry is zero; or, of L L', so small that its reciprocal, or a number of its column divided
 * by it, overflows (a reciprocal: below 5.6e-309, in single precision 2.9e-39). D of L D L' may be as small as numbers are.
 *
 * A simplicial factor is completed: a row of a column is also one of its parent, the column of the first row below the
 * diagonal, as in every Cholesky factor. What was not given is stored as zeros, which leave the solution as it is. In a
 * factor that cholmod_factorize has made these are none or few. An incomplete factor (of an incomplete Cholesky
 * factorisation, say) would take as much memory and time as a complete one: if the entries become more than 4 times those
 * that were given, GPUSOLVE_INVALID_FACTOR, before more of them are counted or stored, unless data->allow_fill is 1.
 *
 * data->in_place = 1, for a host whose memory is too short for a second copy of L: the host backend copies no values and reads x
 * where it is, in every solve, with the same bits. x must stay, unchanged, until the factor is destroyed or refreshed; all other
 * arrays are copied. Solves take two to three times as long with one column and up to one and a half times with 32
 * (bench/README.md). Only for supernodal factors without z: GPUSOLVE_NOT_SUPPORTED. No effect on CUDA.
 *
 * @retval GPUSOLVE_NOT_SUPPORTED (CUDA) a block of threads needs more shared memory than the device has; 180 KB always suffice.
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_create(gpusolve_handle *handle, const gpusolve_factor_data *data,
                                                    gpusolve_factor **factor);

/**
 * Take new values on the old pattern: the plan and the memory stay. Blocks. Must not run while another thread solves with the
 * factor; on CUDA it waits for the device first. After any failure the factor is as before, but on CUDA after a fault of the
 * device, or out of memory while supernodes are split: then it may be unusable, and solves say so. data->in_place is as when the
 * factor was created; with 1 the factor reads data->x from now on, which may be the old array with new numbers, written while
 * nobody solved.
 *
 * CUDA: where new triangles are so ill-conditioned that more supernodes must be split (gpusolve_info.plans), the factor is planned
 * again. Each workspace then lays itself out anew in its next call, which must not be inside a capture (GPUSOLVE_INVALID_ARGUMENT).
 * Supernodes are never joined again, and are split the finer the more often this has happened. A graph that was captured before
 * solves with the new values. After the factor was planned again it stores NaN: capture it again. The memory that it uses is kept
 * until factor and workspace are destroyed.
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_refresh(gpusolve_handle *handle, gpusolve_factor *factor,
                                                     const gpusolve_factor_data *data);

/** Free the factor. The caller has waited for the solves that use it. */
GPUSOLVE_API void gpusolve_factor_destroy(gpusolve_factor *factor);

/** Sizes of a factor, and the times that it took to make. */
typedef struct gpusolve_info {
    size_t size; /**< sizeof(gpusolve_info), set by the caller */
    gpusolve_backend backend;
    gpusolve_dtype dtype;
    int64_t n;
    int64_t nnz_l;        /**< numbers in the stored lower trapezoids of L, with relaxed supernodes' zeros */
    int64_t stored_bytes; /**< nnz_l in bytes: what one sweep must read at least */
    int64_t supernodes;
    int64_t levels; /**< height of the supernodal elimination tree, 1 for a diagonal matrix, 0 for n = 0 */
    int64_t widest_supernode; /**< columns */
    int64_t update_rows;      /**< rows below the diagonal blocks, all supernodes together */
    int64_t factor_bytes;     /**< of the factor, on the backend. A query knows nothing of slices */
    int64_t prepare_bytes;    /**< more on the backend while gpusolve_factor_create and _refresh run: on CUDA
                                buffers for values on their way, kept by the handle up to 64 MB */
    int64_t plan_bytes;       /**< host memory of the plan */
    int64_t workspace_bytes;  /**< of one workspace of this handle for max_nrhs columns, on the backend */
    int64_t max_nrhs;         /**< the columns that workspace_bytes is for */
    double plan_ms;           /**< time that planning took */
    double prepare_ms;        /**< time that copying and preparing the values took; 0 in a query */
    /* CUDA inverts the diagonal triangles. When the values are known, supernodes whose triangles are too ill-conditioned for it
     * are split into narrower ones, slices; all fields above are of the factor as it is then. 0 in a query. */
    int64_t split_supernodes;  /**< of the given factor, that were split */
    int64_t split_slices;      /**< what they have become, counted in `supernodes` */
    int64_t split_levels;      /**< levels more for it */
    int64_t split_update_rows; /**< update rows more */
    double split_ms;           /**< of prepare_ms: until it was known where to split, and planning again */
    int64_t plans; /**< how often the factor was planned: once, and again when values asked for slices */
} gpusolve_info;

/**
 * What a factor would need, before anything is allocated on the backend: plans, fills info, forgets the plan.
 * @param max_nrhs  the workspace's columns, >= 0
 * @param info      [in: size; out: the rest]
 */
GPUSOLVE_API gpusolve_status gpusolve_query(gpusolve_handle *handle, const gpusolve_factor_data *data,
                                            int64_t max_nrhs, gpusolve_info *info);

/** The same of a factor that exists; workspace_bytes for max_nrhs columns. */
GPUSOLVE_API gpusolve_status gpusolve_factor_info(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                  int64_t max_nrhs, gpusolve_info *info);

/**
 * A summary of the plan in plain text: levels, bytes, walls, tasks per tier.
 * @param text    [out, host] NUL-terminated, cut off at bytes; may be NULL when bytes is 0
 * @param needed  [out, host] bytes of the whole text with its NUL; may be NULL
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_summary(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                     char *text, size_t bytes, size_t *needed);

/** A part of the tree, and how a solve goes about it. */
typedef struct gpusolve_tier {
    const char *name; /**< static text */
    int64_t supernodes;
    int64_t bytes; /**< of their stored lower trapezoids */
} gpusolve_tier;

enum { GPUSOLVE_MAX_TIERS = 8 };

/** What one solve of A x = b should cost. Bytes, flops and hops follow from the pattern; times are a model's. */
typedef struct gpusolve_cost {
    size_t size;          /**< sizeof(gpusolve_cost), set by the caller */
    int64_t nrhs;         /**< right-hand sides that it is for */
    int64_t bytes;        /**< the stored lower trapezoids, read by both sweeps */
    int64_t vector_bytes; /**< b read and x written once, the vectors between and the update vectors written
                             and read: mostly in a cache */
    int64_t flops;        /**< real additions and multiplications of both sweeps */
    int64_t hops;         /**< hand-overs one after the other at least: up the tree's levels and down again */
    int64_t launches;     /**< of kernels by both sweeps, at most, for up to 32 right-hand sides in device
                             memory; 0 on the host */
    double bytes_per_s;   /**< of the machine that the times are for; 0: not in the model */
    double flops_per_s;   /**< of that machine; 0: not in the model */
    double hop_us;        /**< time of a hand-over on that machine; 0: not in the model */
    double wall_us; /**< max(bytes / bytes_per_s, flops / flops_per_s): less is possible from a cache alone */
    /** The wall at least. CUDA: from what solves have taken on an H200, mostly within 15 %, at most some 35 % off;
     * complex numbers in single precision: the wall with the vectors' bytes, and the hops. Host: a model of as many of its threads as
     * make the solve faster. */
    double predicted_us;
    int tiers;
    gpusolve_tier tier[GPUSOLVE_MAX_TIERS]; /**< they make up the factor */
} gpusolve_cost;

/**
 * What one solve of A x = b should cost on the handle's backend; `gpusolve-bench --explain` shows it beside the
 * measured time. Reads the plan alone, runs nothing.
 * @param nrhs         >= 0
 * @param bytes_per_s  of the memory, as the caller has measured it; 0: what was measured on one NVIDIA H200, or
 *                     on the host on a Xeon with the same number of threads
 * @param cost         [in: size; out: the rest]
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_cost(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                  int64_t nrhs, double bytes_per_s, gpusolve_cost *cost);

/** @} */

/* ---------------------------------------------------------------------------------------------- solve --- */
/** @name Solve
 * @{ */

/** A dense block of right-hand sides or solutions: entry (i, j) is values[i + j ld] (column-major) or values[i ld + j]
 * (row-major). [host] or, with the CUDA backend, [host or device], which is detected. values is a multiple of the size of a real
 * number (of a part, if complex); in device memory, with a complex factor, of a complex number. Memory of another device than
 * the handle's is refused. */
typedef struct gpusolve_dense {
    gpusolve_dtype dtype;
    gpusolve_order order;
    int64_t rows;
    int64_t cols;
    int64_t ld; /**< >= max(1, rows), or max(1, cols) in row-major order */
    void *values;
} gpusolve_dense;

/**
 * A workspace holds all that a solve writes: one for each solve that is under way at the same time.
 * @param max_nrhs   >= 1; more columns than that are solved in blocks of max_nrhs. On CUDA a workspace for more than 32 has room
 *                   for the next multiple of 64, and for 256 at most: wider blocks are taken 256 at a time. A workspace in single
 *                   precision for more than one column is as large there as in double precision
 * @param workspace  [out, host] NULL on failure
 *
 * It serves the factor it was made for and no other (GPUSOLVE_INVALID_ARGUMENT); destroy it before or after the factor, once the
 * solves that use it are done.
 */
GPUSOLVE_API gpusolve_status gpusolve_workspace_create(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                       int64_t max_nrhs, gpusolve_workspace **workspace);
/** Free the workspace. The caller has waited for the solves that use it. */
GPUSOLVE_API void gpusolve_workspace_destroy(gpusolve_workspace *workspace);

/**
 * Has one of the solves with this workspace that have run given up? Says so once. Does not synchronise: ask after the stream, or
 * the graph, has.
 * @param handle     [in] of the workspace's backend and device
 * @param workspace  [in] or NULL: all that the handle has of its own
 *
 * @retval GPUSOLVE_TIMED_OUT yes, see gpusolve_solve; the host backend never does.
 */
GPUSOLVE_API gpusolve_status gpusolve_workspace_check(gpusolve_handle *handle, gpusolve_workspace *workspace);

/**
 * Solve one of the nine systems: x = system \ b.
 * @param handle     [in] of the factor's backend and device
 * @param factor     [in]
 * @param workspace  [in] made for this factor, or NULL: the handle's own, for up to 32 columns at a time, which the first call with
 *                   this factor creates (later calls allocate nothing unless nrhs has grown)
 * @param system     which system
 * @param b          [in] n x nrhs, the factor's dtype, or complex of its precision if the factor is real; nrhs may be 0
 * @param x          [out] n x nrhs, b's dtype; may be b itself (same values, order and ld), else must not share a byte
 *                   with it. Columns or rows of one in the padding of the other are fine
 *
 * Every column gets the same bits whatever its neighbours are and however often it is solved. On CUDA its bits depend, besides
 * the factor and the kind of device, on how many columns are solved at a time: as many as the workspace is for, and in the end
 * those that are left:
 *
 * 1. one column; 2 complex ones, in single precision up to 3; 2, 3, 4 or 8 at most of a small factor, by its size, if the
 *    workspace is for more than one and these are all
 * 2. 2 to 8 real columns; 9 to 64 of a small factor
 * 3. 9 to 16 real columns of others
 * 4. 17 to 32 of others; complex ones from 3 (in single precision 4) to 32, in a workspace for as many
 * 5. 33 to 64 of others in a workspace for more than 32, and all in one for no more than 64
 * 6. more than 64 in a workspace for more than 64
 * 7. any number, in a workspace of a handle with options.same_bits
 *
 * On devices before compute capability 9.0 the third set, for complex columns the fourth, is that of 1 to 16 columns. In all
 * but the first the sums in single precision are in double precision. With options.same_bits one column takes as long as 16
 * do, and of more than 64 columns 64 are solved at a time.
 *
 * A real factor takes a complex column as two real ones, the real and the imaginary parts. On CUDA, blocks in host memory of which
 * one is column-major are solved two real columns at a time, which takes longer.
 *
 * A NaN or an infinity in a column of b makes NaNs in that column of x alone; on CUDA also in rows that
 * substitution would not reach, for products with blocks of numbers take their zeros along.
 *
 * CUDA: with b and x in device memory (both) the call is asynchronous on the handle's stream, allocates nothing, copies nothing
 * to or from the host, and can be captured into a CUDA graph (with a workspace of its own). With b or x in host memory the
 * operands are staged through the workspace and the call returns when x is there; the handle's threads copy large pageable
 * blocks (b from 3 MB, x from 1 MB) through 32 MB of pinned memory that the handle keeps. Host: the call returns when x is there.
 *
 * @retval GPUSOLVE_TYPE_MISMATCH b's dtype does not go with the factor's (a real b with a complex factor, say), or x's is not b's.
 * @retval GPUSOLVE_TIMED_OUT (CUDA) on the device every wait of one thread block for another ends, after about two seconds at the
 * latest, with NaNs in x. A call that returns when x is there reports it itself. For an asynchronous call, or a graph, the next
 * call with this workspace that can know reports it (a solve, which has then not been run; gpusolve_refine;
 * gpusolve_workspace_check). Afterwards the workspace is as good as new.
 */
GPUSOLVE_API gpusolve_status gpusolve_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                            gpusolve_workspace *workspace, gpusolve_system system,
                                            const gpusolve_dense *b, const gpusolve_dense *x);

/** @} */

#ifdef __cplusplus
}
#endif

#include "gpusolve_determinant.h" /* the rest of the API */
#include "gpusolve_refine.h"

#endif /* GPUSOLVE_H */
