/* Host launchers of the kernels in cuda/tasks/tasks.cuh for one precision: each launch_<p>.cu makes its table
 * from here. */
#ifndef GSV_CUDA_TASKS_LAUNCH_CUH
#define GSV_CUDA_TASKS_LAUNCH_CUH

#include "../../../dense_kernels/overlap.cuh"
#include "../walk/branch.cuh"
#include "../walk/launches.cuh"
#include "tasks.cuh"
#include "transfer.cuh"
#include "../launchers.h"
#include "../walk/team.cuh"
#include "../walk/walk.h"

namespace gsv {

/* Blocks of a branch: enough for all SMs, at most as many as groups of right-hand sides. Each
 * brings the branch's panels and lists. */
inline int tasks_splits(int32_t branches, int columns) {
    const int groups = columns / GSV_TASKS_64;
    int splits = 1;
    while (branches * splits < 256 && 2 * splits <= groups && groups % (2 * splits) == 0)
        splits *= 2;
    return splits;
}

/* Warps of a block that walks a branch for `columns` right-hand sides. */
inline int eight_warps(int columns) {
    const int chunks = columns / GSV_WALK_COLUMNS, most = EIGHT_BLOCK / 32;
    return chunks < most ? chunks : most;
}

/* Shared memory that walks need with the vectors of `warps` warps: the most, and of all branches together. */
struct eight_bytes {
    int most;
    int64_t all;
};
template <typename P> eight_bytes eight_walk_bytes(const gsv_branches &branches, int warps) {
    eight_bytes bytes = {0, 0};
    for (int32_t b = 0; b < branches.count; b++) {
        const gsv_walk_room room =
            gsv_branch_walk_room_of(&branches.branch[b], eight_walk<P>::PACKS, int(sizeof(wide_number<P>)));
        const int own = room.vectors + warps * room.each;
        bytes.most = own > bytes.most ? own : bytes.most;
        bytes.all += own;
    }
    return bytes;
}

/* Shared memory of such a block: an equal share for two on an SM, where there are registers for them and most have room
 * for all their warps' vectors, or for nearly all. One block begins then while another walks. No more than a block may have,
 * `shared`. */
template <typename P> int eight_room(const gsv_branches &branches, int warps, int shared) {
    const int most = eight_walk_bytes<P>(branches, 1).most;
    const int64_t mean = eight_walk_bytes<P>(branches, warps).all / (branches.count > 0 ? branches.count : 1);
    const int sharing = 2 * warps > EIGHT_BLOCK / 32 || 4 * mean > 5 * eight_share(2) ? 1 : 2;
    const int share = eight_share(sharing) < shared ? eight_share(sharing) : shared;
    return most > share ? most : share;
}

/* The same where a block has few warps, and an SM many blocks: no more than they use. */
template <typename P> int plain_branch_room(const gsv_branches &branches, int warps, int shared) {
    const int room = eight_room<P>(branches, warps, shared), all = eight_walk_bytes<P>(branches, warps).most;
    return all < room ? all : room;
}

/* Shared memory of a block that walks a branch for GSV_TASKS_32 right-hand sides: for all vectors if two such blocks can
 * share an SM, else for as many as they can. */
template <bool BACKWARD> int few_branch_room(const gsv_branch &branch) {
    const gsv_pack_form form = BACKWARD ? GSV_LOOKED_UP : GSV_PACKED;
    const int one = gsv_branch_walk_bytes(&branch, form, 1),
              all = gsv_branch_walk_bytes(&branch, form, EIGHT_FEW), share = eight_share(2);
    return all <= share ? all : one > share ? one : share;
}

enum { FEW_RESIDENT = 3 }; /* of such blocks on an SM at most */

template <bool BACKWARD> branch_cut few_branch_cut(const gsv_branches *branches) {
    return choose_cut(branches, few_branch_room<BACKWARD>, FEW_RESIDENT, SECOND_LAUNCH);
}

/* Shared memory of a sweep's block: for a tile, or a narrow supernode. */
template <typename Kind, int C, bool BACKWARD> constexpr int tasks_bytes() {
    typedef tasks_narrow_room<Kind, C, BACKWARD> narrow;
    constexpr int most = tasks_shape<Kind, C, BACKWARD>::BYTES;
    return narrow::BYTES > most ? narrow::BYTES : most;
}

template <typename Kind> struct tasks_launcher {
    typedef vector_number<Kind> T;
    typedef panel_number<Kind> P;
    typedef typename traits<Kind>::real real;
    static const int REAL = tasks_shape<Kind, GSV_TASKS_32, false>::REAL,
                     FLOATS = std::is_same<P, float>::value;

    static gsv_tasks_vectors vectors_of(const gsv_launch *l) {
        const gsv_device_vectors *v = &l->vectors;
        return {v->y, v->x, v->u, v->partial, v->counters, v->state};
    }

    /* Right-hand sides of a tile. A short sweep for 64 or fewer is latency: tiles of half the width take half as
     * long, and there are multiprocessors for twice as many. Complex sums of 64 columns spill. */
    static int tile_columns(const gsv_plan *plan, int columns) {
        if (columns == GSV_TASKS_16)
            return columns;
        const bool half = columns <= GSV_TASKS_32 || traits<Kind>::is_complex ||
                          (columns <= GSV_TASKS_64 && plan->schedule->tasks.is_short);
        return half ? GSV_TASKS_32 : GSV_TASKS_64;
    }

    /* One sweep over the upper tree, by tiles of C columns. */
    template <int C, bool BACKWARD>
    static cudaError_t upper_by(const gsv_launch *l, int64_t tasks, int list) {
        typedef tasks_shape<Kind, C, BACKWARD> shape;
        const int groups = l->run->columns / C;
        int *ticket = l->vectors.counters + (BACKWARD ? gsv_task_sweep_counters(l->plan, 0) : 0);
        return launch_allowed(tasks_sweep_kernel<Kind, C, BACKWARD>, tasks * groups, shape::THREADS,
                              size_t(tasks_bytes<Kind, C, BACKWARD>()), l->stream, *l->device,
                              l->tasks->task[list], groups, vectors_of(l), ticket, ticket + GSV_TASK_TILES);
    }

    template <bool BACKWARD> static cudaError_t upper(const gsv_launch *l) {
        const int list = gsv_task_list_of(BACKWARD, l->run->broad),
                  tile = tile_columns(l->plan, l->run->columns);
        const int64_t tasks = l->plan->schedule->tasks.list[list].tasks;
        if (tasks == 0)
            return cudaSuccess;
        if (tile == GSV_TASKS_16)
            return upper_by<GSV_TASKS_16, BACKWARD>(l, tasks, list);
        if constexpr (REAL)
            if (tile == GSV_TASKS_64)
                return upper_by<GSV_TASKS_64, BACKWARD>(l, tasks, list);
        return upper_by<GSV_TASKS_32, BACKWARD>(l, tasks, list);
    }

    static cudaError_t clear(const gsv_launch *l) {
        return cudaMemsetAsync(l->vectors.counters, 0, size_t(gsv_task_counters(l->plan)) * sizeof(int),
                               l->stream);
    }

    /* Branches of.first .. end - 1, one sweep, for `columns` real columns, by blocks with this number of threads and this much
     * shared memory. */
    template <bool BACKWARD>
    static cudaError_t walk(const gsv_launch *l, int columns, int splits, int32_t end, int threads, int room,
                            const branch_launch &of) {
        double *y = static_cast<double *>(l->vectors.y), *x = static_cast<double *>(l->vectors.x);
        const int64_t blocks = int64_t(end - of.first) * splits;
        if (BACKWARD)
            return launch_allowed(eight_backward_kernel<P>, blocks, threads, size_t(room), l->stream,
                                  *l->device, x, y, columns, splits, room, of);
        return launch_allowed(eight_forward_kernel<P>, blocks, threads, size_t(room), l->stream, *l->device,
                              y, x, static_cast<double *>(l->vectors.u), columns, splits, room, of);
    }

    /* The same for GSV_TASKS_32, backward by teams of two warps. */
    template <bool BACKWARD> static cudaError_t walk_few(const gsv_launch *l) {
        const gsv_branches &branches = l->plan->schedule->branches;
        return launch_cut(few_branch_cut<BACKWARD>(&branches), branches.count, FEW_RESIDENT, 1,
                          [&](int32_t end, int bytes, const branch_launch &of) {
                              if constexpr (BACKWARD)
                                  return launch_allowed(team_backward_kernel<P, GSV_TASKS_32, false>,
                                                        end - of.first, team_backward<GSV_TASKS_32>::THREADS,
                                                        size_t(bytes), l->stream, *l->device,
                                                        static_cast<const double *>(l->vectors.x),
                                                        static_cast<double *>(l->vectors.y), bytes, of);
                              else
                                  return walk<false>(l, GSV_TASKS_32, 1, end, 32 * EIGHT_FEW, bytes, of);
                          });
    }

    /* The branches, one sweep. */
    template <bool BACKWARD> static cudaError_t branches(const gsv_launch *l) {
        const gsv_branches &branches = l->plan->schedule->branches;
        const int columns = l->run->columns, plain = l->run->plain, shared = l->tasks->shared;
        if (branches.count == 0)
            return cudaSuccess;
        if constexpr (REAL) {
            if (columns == GSV_TASKS_16 && !plain)
                return BACKWARD ? gsv_team_backward(&branches, l->device, &l->vectors, columns, l->stream)
                                : gsv_team_forward(&branches, l->device, &l->vectors, 0, columns, l->stream);
            if (columns == GSV_TASKS_32 && !plain)
                return walk_few<BACKWARD>(l);
        }
        const int reals = traits<Kind>::is_complex ? 2 * columns : columns,
                  splits = tasks_splits(branches.count, reals), warps = eight_warps(reals / splits),
                  room = plain && reals < GSV_TASKS_64 ? plain_branch_room<P>(branches, warps, shared)
                                                       : eight_room<P>(branches, warps, shared);
        return walk<BACKWARD>(l, reals, splits, branches.count, 32 * warps, room,
                              {0, branches.count, MULTIPROCESSORS / splits, THE_ONLY});
    }

    static int branch_launches(const gsv_branches *branches, const gsv_run *run, int backward) {
        if (branches->count == 0)
            return 0;
        if (!REAL || run->plain || run->columns > GSV_TASKS_32)
            return 1;
        if (run->columns == GSV_TASKS_16)
            return gsv_team_launches(branches, backward, GSV_TASKS_16);
        return launches_of(backward ? few_branch_cut<true>(branches) : few_branch_cut<false>(branches));
    }

    static cudaError_t forward(const gsv_launch *l) {
        const cudaError_t error = branches<false>(l);
        return error == cudaSuccess ? upper<false>(l) : error;
    }

    static cudaError_t backward(const gsv_launch *l) {
        const cudaError_t error = upper<true>(l);
        return error == cudaSuccess ? branches<true>(l) : error;
    }

    template <int C> static cudaError_t reserve_sweeps() {
        const cudaError_t error =
            allow_shared(reinterpret_cast<const void *>(tasks_sweep_kernel<Kind, C, false>),
                         tasks_bytes<Kind, C, false>());
        return error != cudaSuccess
                   ? error
                   : allow_shared(reinterpret_cast<const void *>(tasks_sweep_kernel<Kind, C, true>),
                                  tasks_bytes<Kind, C, true>());
    }

    /* The walks for GSV_TASKS_16 and GSV_TASKS_32 by teams. */
    static cudaError_t reserve_teams(const gsv_branches *branches, int shared) {
        if constexpr (!REAL)
            return cudaSuccess;
        else {
            const int forward = most_bytes(branches, few_branch_room<false>),
                      backward = most_bytes(branches, few_branch_room<true>);
            if (forward > shared || backward > shared)
                return cudaErrorInvalidValue;
            const cudaError_t error = gsv_team_reserve(branches, FLOATS, GSV_TASKS_16, shared);
            return error != cudaSuccess ? error
                                        : allow_shared(reinterpret_cast<const void *>(
                                                           team_backward_kernel<P, GSV_TASKS_32, false>),
                                                       size_t(backward));
        }
    }

    static cudaError_t reserve(const gsv_branches *branches, int shared, gsv_abilities *abilities) {
        const int room = eight_room<P>(*branches, EIGHT_BLOCK / 32, shared);
        if (room > shared)
            return cudaErrorInvalidValue;
        cudaError_t error = reserve_sweeps<GSV_TASKS_32>();
        if (error == cudaSuccess)
            error = reserve_sweeps<GSV_TASKS_16>();
        if constexpr (REAL)
            if (error == cudaSuccess)
                error = reserve_sweeps<GSV_TASKS_64>();
        const void *kernels[] = {reinterpret_cast<const void *>(eight_forward_kernel<P>),
                                 reinterpret_cast<const void *>(eight_backward_kernel<P>)};
        for (int k = 0; k < 2 && error == cudaSuccess; k++)
            error = allow_shared(kernels[k], size_t(room));
        if (error != cudaSuccess)
            return error;
        abilities->teams = has_room(reserve_teams(branches, shared));
        return cudaSuccess;
    }

    /* Calls launch(width): right-hand sides of a block on their way in or out, an integral constant. */
    template <typename Launch> static cudaError_t transfer_by(int columns, Launch launch) {
        if (columns == GSV_TASKS_16)
            return launch(std::integral_constant<int, GSV_TASKS_16>());
        return launch(std::integral_constant<int, TASKS_TRANSFER>());
    }

    static cudaError_t load(const gsv_launch *l, const int32_t *, const int32_t *inverse,
                            gsv_device_dense from, void *to) {
        const int32_t n = l->plan->l.n;
        const int columns = l->run->columns;
        return transfer_by(columns, [&](auto width) {
            return launch_transfer<T, width>(n, columns / width, [&](int64_t blocks, auto cut) {
                tasks_load_kernel<Kind, width, cut><<<unsigned(blocks), BLOCK, 0, l->stream>>>(
                    n, inverse, from, static_cast<T *>(to), columns, &l->vectors.state->broken);
                return cudaGetLastError();
            });
        });
    }

    /* The counters are zero afterwards, not before: a sweep's blocks take their tasks before they wait for what is
     * launched before them. */
    static cudaError_t store(const gsv_launch *l, const int32_t *inverse, const void *from,
                             gsv_device_dense to) {
        const int32_t n = l->plan->l.n;
        const int columns = l->run->columns;
        return transfer_by(columns, [&](auto width) {
            return launch_transfer<T, width>(n, columns / width, [&](int64_t blocks, auto cut) {
                return launch_allowed(tasks_store_kernel<Kind, width, cut>, blocks, BLOCK, 0, l->stream, n,
                                      inverse, static_cast<const T *>(from), to, columns, l->vectors.counters,
                                      gsv_task_counters(l->plan));
            });
        });
    }

    static cudaError_t scale(const gsv_launch *l, const void *d, void *v) {
        const int32_t n = l->plan->l.n;
        const int columns = l->run->columns;
        const unsigned blocks = unsigned((int64_t(n) * columns + BLOCK - 1) / BLOCK);
        tasks_scale_kernel<Kind>
            <<<blocks, BLOCK, 0, l->stream>>>(n, static_cast<const real *>(d), static_cast<T *>(v), columns);
        return cudaGetLastError();
    }
};

template <typename Kind> constexpr gsv_launchers tasks_launchers() {
    typedef tasks_launcher<Kind> own;
    return {own::reserve, own::load, {own::forward, own::backward}, own::scale, own::store, nullptr,
            nullptr,      nullptr,   own::branch_launches,          own::clear};
}

} // namespace gsv
#endif
