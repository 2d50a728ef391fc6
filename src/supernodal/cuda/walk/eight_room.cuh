/*
 * What a block has in shared memory while its warps walk a branch for many right-hand sides, and how it comes
 * there (cuda/walk/eight.cuh has the walks, schedule/walk/packs.h the lists).
 *
 *      panels      as in global memory
 *      lists       of the walk, as in global memory
 *      outside     backward: the rows of the solution that its outside rows are
 *      numbers     of the packs, by their map, if packed
 *      vectors     for each warp: rows for the columns of all nodes but small leaves, then the outside rows,
 *                  64 bytes a row; as many warps walk as there is room for
 *
 * Two trips through L2 and two or three barriers of the block before the first product: lists and panels, then
 * what they say.
 */
#ifndef GSV_CUDA_WALK_EIGHT_ROOM_CUH
#define GSV_CUDA_WALK_EIGHT_ROOM_CUH

#include "../../../dense_kernels/tensor_product.cuh"
#include "../../schedule/walk/packs.h"
#include "branch.cuh"

namespace gsv {

enum {
    EIGHT_BLOCK = 512, /* threads at most */
    EIGHT_FEW = 4,     /* warps that walk for GSV_TASKS_32 right-hand sides; backward, teams of two */
    EIGHT_AHEAD = 4    /* packs by which right-hand sides are requested ahead */
};

static_assert(int(GSV_WALK_LINE) == int(SHARED_LINE), "lines of shared memory");

/* Bytes of shared memory for a block if `blocks` blocks share an SM. */
inline int eight_share(int blocks) {
    return SHARED_OF_SM / blocks - SHARED_OF_BLOCK;
}

__device__ __forceinline__ void begin_copy_pair(double2 *to, const double *from) {
    copy_16_bytes_async(to, reinterpret_cast<const double2 *>(from));
}

/* How a block's warps walk: `team` warps share eight right-hand sides; they share vectors, or each warp has its own. */
struct walk_form {
    int team;
    bool own_vectors;
    gsv_pack_form numbers;
};

/* A block's branch, and where its things are in shared memory. P: the panels' numbers; there is room for
 * these in double precision. */
template <typename P> struct eight_walk {
    typedef wide_number<P> number_type; /* a panel's, where it is multiplied with */
    /* of the packs, for many right-hand sides: complex panels leave no room for another copy */
    static const gsv_pack_form PACKS = traits<P>::is_complex ? GSV_LOOKED_UP : GSV_PACKED;
    const gsv_branch branch;
    P *panels;
    const gsv_branch_node *nodes;
    const gsv_branch_pack *packs;
    const uint16_t *below, *rows;
    int32_t *outside_row; /* [outside rows], of the backward sweep */
    number_type *numbers; /* of the packs, if packed */
    const uint16_t *map;  /* where each of them stands in the panels */
    double2 *vectors;     /* the warp's */
    int count, npacks;    /* nodes in no pack; packs */
    int own;              /* rows of the vectors for columns; the outside rows follow */
    int begin, end;       /* right-hand sides of the warp: begin, begin + step, ... */
    int step;

    /* columns: right-hand sides of all blocks of a branch, `splits`; which: the branch. Ends with two groups of copies on
     * their way: the lists, and the panels. */
    __device__ __forceinline__ eight_walk(const gsv_device_plan &plan, char *memory, int room, int columns,
                                          int splits, int which, walk_form form = {1, false, PACKS})
        : branch(read_branch(plan, which)) {
        const gsv_walk_room at = gsv_branch_walk_room_of(&branch, form.numbers, int(sizeof(number_type)));
        const uint16_t *lists = reinterpret_cast<const uint16_t *>(memory + at.lists);
        begin_copy_block<0>(memory + at.lists, plan.branch_walks + branch.walks,
                            2 * branch.walk[GSV_WALK_END]);
        commit_copies();
        begin_copy_block<0>(memory, static_cast<const P *>(plan.panels) + branch.panel,
                            round_up_16(branch.numbers * int64_t(sizeof(P))));
        commit_copies();
        panels = reinterpret_cast<P *>(memory);
        nodes = reinterpret_cast<const gsv_branch_node *>(lists + branch.walk[GSV_WALK_NODES]);
        packs = reinterpret_cast<const gsv_branch_pack *>(lists + branch.walk[GSV_WALK_PACKS]);
        below = lists + branch.walk[GSV_WALK_BELOW];
        rows = lists + branch.walk[GSV_WALK_ROWS];
        map = lists + branch.walk[GSV_WALK_MAP];
        outside_row = reinterpret_cast<int32_t *>(memory + at.outside);
        numbers = reinterpret_cast<number_type *>(memory + at.numbers);
        count =
            (branch.walk[GSV_WALK_PACKS] - branch.walk[GSV_WALK_NODES]) / int(sizeof(gsv_branch_node) / 2);
        npacks =
            (branch.walk[GSV_WALK_BELOW] - branch.walk[GSV_WALK_PACKS]) / int(sizeof(gsv_branch_pack) / 2);
        own = branch.walk_rows;
        const int warp = threadIdx.x / 32 / form.team, warps = blockDim.x / 32 / form.team;
        const int fit = at.each > 0 ? (room - at.vectors) / at.each : warps, most = fit < warps ? fit : warps;
        const int each = columns / splits, chunks = each / GSV_WALK_COLUMNS,
                  rounds = (chunks + most - 1) / most;
        const int active = (chunks + rounds - 1) / rounds; /* warps, as even as can be */
        begin = int(blockIdx.x) % splits * each + GSV_WALK_COLUMNS * warp;
        end = warp < active ? int(blockIdx.x) % splits * each + each : begin;
        step = GSV_WALK_COLUMNS * active;
        vectors = reinterpret_cast<double2 *>(memory + at.vectors +
                                              (form.own_vectors ? int(threadIdx.x) / 32 : warp) * at.each);
    }

    /* Begin to bring a node's rows, by a warp: `from` is the right-hand sides of the branch's first column. */
    __device__ __forceinline__ void begin_node_warp(const gsv_branch_node &node, const double *from,
                                                    int columns) const {
        const int pair = threadIdx.x % 4;
        for (int i = threadIdx.x % 32 / 4; i < node.nc; i += 8)
            begin_copy_pair(vectors + (gsv_walk_place(node.update + i) ^ pair),
                            from + (node.column + i) * columns + 2 * pair);
    }

    /* The packs' numbers, from panels that are there. */
    __device__ __forceinline__ void fill_packs_block() const {
        const int length = branch.walk[GSV_WALK_END] - branch.walk[GSV_WALK_MAP];
        for (int k = threadIdx.x; k < length / 2; k += blockDim.x) {
            const ushort2 at = reinterpret_cast<const ushort2 *>(map)[k];
            reinterpret_cast<double2 *>(numbers)[k] = make_double2(at.x == GSV_NO_NUMBER ? 0 : panels[at.x],
                                                                   at.y == GSV_NO_NUMBER ? 0 : panels[at.y]);
        }
    }

    /* The packs' number e, or 0. */
    template <gsv_pack_form FORM>
    __device__ __forceinline__ number_type pack_number(int e, bool there) const {
        if (FORM == GSV_PACKED)
            return there ? numbers[e] : number_type{};
        const int at = there ? map[e] : int(GSV_NO_NUMBER);
        return at != GSV_NO_NUMBER ? number_as<number_type>(panels[at]) : number_type{};
    }

    /* Eight right-hand sides of a row, as a fragment, for products with numbers of the panels, or their conjugates. Complex
     * ones stand as real and imaginary parts side by side; i times them, or -i, are another fragment. */
    struct factor {
        double b, turned;
    };
    template <bool CONJUGATE> static __device__ __forceinline__ factor factor_of(double b) {
        if (!traits<P>::is_complex)
            return {b, 0};
        const double other = __shfl_xor_sync(~0u, b, 4); /* lane 4 g + q has column g */
        const bool imaginary = threadIdx.x / 4 % 2;
        return {b, imaginary != CONJUGATE ? other : -other};
    }

    /* sum += a times these */
    static __device__ __forceinline__ void add_product_warp(double (&sum)[2], const number_type &a,
                                                            const factor &v) {
        if constexpr (traits<P>::is_complex) {
            multiply_add_warp(sum, a.re, v.b);
            multiply_add_warp(sum, a.im, v.turned);
        } else {
            multiply_add_warp(sum, a, v.b);
        }
    }

    /* Pack k's right-hand sides, as a fragment. */
    __device__ __forceinline__ double request(int k, const double *from, int columns) const {
        const int q = threadIdx.x % 4;
        if (k >= npacks || q >= packs[k].nc)
            return 0;
        return from[rows[packs[k].list + q] * columns + threadIdx.x % 32 / 4];
    }
};

/* The lists of a branch's walk. */
struct walk_lists {
    const uint16_t *walks;
    __device__ __forceinline__ memory_run operator()(const gsv_branch &branch) const {
        return {walks + branch.walks, 2 * branch.walk[GSV_WALK_END]};
    }
};

} // namespace gsv
#endif
