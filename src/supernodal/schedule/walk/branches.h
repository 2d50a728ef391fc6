/*
 * The lower tree of the device's plan: branches, each a subtree of narrow supernodes (or several that stand
 * side by side) that one block of threads walks from its leaves to its roots, or back, with all of its
 * panels, lists and vectors in shared memory (cuda/walk/one.cuh). Plain C; follows from the pattern alone.
 *
 * A branch is a range of supernodes, so its columns and its panels are ranges too. Inside it counts
 * from zero: columns, levels, and update rows, whose places are reused once the parent has read them. The
 * rows below a branch's roots are its outside rows. They are all that the rest of the tree sees of it.
 *
 * Lists of a branch, 16-bit numbers in one array, from gsv_branch.lists on; `at` says where each begins:
 *
 *      nodes            gsv_branch_node for each supernode, level by level
 *      level_nodes      [levels + 1] nodes of level k: level_nodes[k] ..
 *      row_levels       [levels + 1] forward units of level k
 *      row_units        node: eight rows of its front, from 8 (unit - node.unit) on
 *      gather_ptr       for each front row of a node with children, and one more: where its list begins
 *      gather           update rows that the front row is owed; children ascend
 *      backward_levels  [levels + 1] units of level k
 *      backward_units   node, first column: four columns of a panel
 *      below            for each row below a node's columns: its column of the branch, or columns + its place
 *                       among the outside rows
 *
 * The lists of the walk for many right-hand sides (schedule/walk/packs.h) are apart: not all number types want them.
 */
#ifndef GSV_SCHEDULE_WALK_BRANCHES_H
#define GSV_SCHEDULE_WALK_BRANCHES_H

#include "../../../dense_kernels/panel_layout.h"
#include "../../tree/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_BRANCH_NUMBERS = 4096, /* of the panels of a branch at most */
    GSV_BRANCH_FEWEST = 2048,  /* the same where the tree is small */
    GSV_BRANCH_COUNT = 400,    /* branches that a tree is meant to have at least: three an SM */
    GSV_BRANCH_ROWS = 1536,    /* front rows at most */
    GSV_BRANCH_BYTES = 37888,  /* of shared memory at most, for one right-hand side in double precision: six
                               * branches share an SM of an H200 */
    GSV_WHOLE_BYTES =
        49152, /* for a walk up and down at once: what every device gives a block without being asked */
    GSV_NUMBER_SIZES = 5,   /* of number types, and of pairs of them (gsv_number_size) */
    GSV_BRANCH_NODE = 96,   /* numbers that a node counts as at least where branches are small */
    GSV_WHOLE_COST = 12288, /* numbers, so counted, of a tree that is made one branch, at most */
    GSV_ROW_UNIT = 8,       /* rows */
    GSV_BACKWARD_UNIT = 4,  /* columns */
    GSV_NO_GATHER = 0xffff
};

typedef struct gsv_branch_node {
    uint16_t panel; /* start of its panel in the branch's */
    uint16_t nr, nc;
    uint16_t column; /* its first column */
    uint16_t update; /* row of its update vector; a root's are the outside rows, in order */
    uint16_t gather; /* gather_ptr of its first row, or GSV_NO_GATHER */
    uint16_t below;  /* list of its rows below */
    uint16_t unit;   /* first of its units of eight rows */
} gsv_branch_node;

enum {
    GSV_AT_NODES,
    GSV_AT_LEVEL_NODES, /* of the walk's making alone */
    GSV_AT_ROW_LEVELS,  /* of the forward sweep from here; on a multiple of eight */
    GSV_AT_ROW_UNITS,
    GSV_AT_GATHER_PTR,
    GSV_AT_GATHER,
    GSV_AT_BACKWARD_LEVELS, /* of the backward sweep from here; on a multiple of eight, like the first two */
    GSV_AT_BACKWARD_UNITS,
    GSV_AT_BELOW,
    GSV_AT_END, /* a multiple of eight */
    GSV_LISTS
};

enum { /* of the walk, schedule/walk/packs.h */
       GSV_WALK_NODES,
       GSV_WALK_PACKS,
       GSV_WALK_BELOW,
       GSV_WALK_ROWS,
       GSV_WALK_MAP, /* on a multiple of eight, and so long */
       GSV_WALK_END,
       GSV_WALK_LISTS
};

typedef struct gsv_branch {
    int64_t panel;      /* start of its panels, in numbers; on a multiple of GSV_TILE */
    int64_t lists;      /* start of its lists, in 16-bit numbers; on a multiple of eight */
    int64_t outside;    /* start of its outside rows */
    int64_t walks;      /* the same of its walk's lists */
    int32_t first, end; /* supernodes */
    int32_t first_column;
    uint16_t numbers; /* of its panels */
    uint16_t columns, outside_rows;
    uint16_t updates; /* places for update rows, the outside rows among them */
    uint16_t levels;
    uint16_t at[GSV_LISTS];
    uint16_t walk_rows;            /* of the walk's vectors, for columns */
    uint16_t walk[GSV_WALK_LISTS]; /* where the walk's lists begin, from `walks` on */
    uint16_t padding[4];           /* the size of a record is a multiple of 16 bytes */
} gsv_branch;

/*
 * Where a branch's things are in the shared memory of a block that walks it for one right-hand side
 * (cuda/walk/one.cuh), in bytes: no more than a sweep reads. The panels begin at 0. lists: from the first that the
 * sweep reads on; first: the vector with a row for each column, and backward for each outside row as well; second:
 * the update rows of the forward sweep, or x of the backward one; arrived: a barrier.
 */
typedef struct gsv_one_room {
    int32_t nodes, lists, first, second, arrived, bytes;
} gsv_one_room;

static inline GSV_HOST_DEVICE int gsv_one_lists(int backward) {
    return backward ? GSV_AT_BACKWARD_LEVELS : GSV_AT_ROW_LEVELS;
}

/* panel, vector: bytes of a number of theirs. */
static inline GSV_HOST_DEVICE gsv_one_room gsv_branch_one_room(const gsv_branch *branch, int backward,
                                                               int32_t panel, int32_t vector) {
    const int32_t lists = branch->at[backward ? GSV_AT_END : GSV_AT_BACKWARD_LEVELS] -
                          branch->at[gsv_one_lists(backward)],
                  first = branch->columns + (backward ? branch->outside_rows : 0),
                  second = backward ? branch->columns : branch->updates;
    gsv_one_room room;
    room.nodes = (branch->numbers * panel + 15) / 16 * 16;
    room.lists = room.nodes + 2 * branch->at[GSV_AT_LEVEL_NODES];
    room.first = room.lists + 2 * lists;
    room.second = room.first + (first * vector + 15) / 16 * 16;
    room.arrived = room.second + (second * vector + 15) / 16 * 16;
    room.bytes = room.arrived + 16;
    return room;
}

/*
 * The same of a block that walks up and down again at once, which a branch without outside rows allows
 * (cuda/walk/whole.cuh). The lists of both sweeps stand in a row. first: the right-hand side, and on the way down the
 * solution; second: the update rows; between: x, which one sweep leaves to the other.
 */
typedef struct gsv_whole_room {
    int32_t nodes, lists, first, second, between, arrived, bytes;
} gsv_whole_room;

static inline GSV_HOST_DEVICE gsv_whole_room gsv_branch_whole_room(const gsv_branch *branch, int32_t panel,
                                                                   int32_t vector) {
    const int32_t columns = (branch->columns * vector + 15) / 16 * 16;
    gsv_whole_room room;
    room.nodes = (branch->numbers * panel + 15) / 16 * 16;
    room.lists = room.nodes + 2 * branch->at[GSV_AT_LEVEL_NODES];
    room.first = room.lists + 2 * (branch->at[GSV_AT_END] - branch->at[GSV_AT_ROW_LEVELS]);
    room.second = room.first + columns;
    room.between = room.second + (branch->updates * vector + 15) / 16 * 16;
    room.arrived = room.between + columns;
    room.bytes = room.arrived + 16;
    return room;
}

typedef struct gsv_branches {
    int32_t count;
    gsv_branch *
        branch; /* [count] the one whose walk by GSV_TEAM_VECTORS warps (schedule/walk/packs.h) wants most shared memory first */
    int64_t nlists;
    uint16_t *lists; /* [nlists] */
    int64_t nwalks;
    uint16_t *walks; /* [nwalks] */
    int64_t noutside;
    int32_t *outside_row; /* [noutside] row of L; its row of the update vectors, its root's, is
                           * this number behind gsv_schedule.upper_updates */
    int32_t *of;          /* [nsuper] the branch that a supernode is in, or -1 */
    int32_t upper_columns;
    int32_t *upper_column; /* [upper_columns] those that are in no branch, ascending */
    /* the most of any branch: what a block must have room for */
    int32_t most_one[2][GSV_NUMBER_SIZES]; /* bytes for one right-hand side, by sweep and size of numbers */
    int32_t most_whole[GSV_NUMBER_SIZES];  /* the same, up and down at once */
    int64_t bytes;                         /* memory of all this */
} gsv_branches;

/* Index into most_one and most_whole for panels with numbers of 4, 8 or 16 bytes, and vectors with the same or twice that. */
static inline int gsv_number_size(size_t panel, size_t vector) {
    const int of_panel = panel == 4 ? 0 : panel == 8 ? 1 : 2;
    return panel == vector ? of_panel : 3 + of_panel;
}

/* Is the whole tree in branches, and small enough in each that one launch walks it up and down? panel, vector: bytes of a number. */
static inline int gsv_branches_are_all(const gsv_branches *branches, size_t panel, size_t vector) {
    return branches->count > 0 && branches->upper_columns == 0 &&
           branches->most_whole[gsv_number_size(panel, vector)] <= GSV_WHOLE_BYTES;
}

/* Which supernodes are in branches: fills count, branch[].first and .end, and of. */
gpusolve_status gsv_branches_choose(const gsv_plan *plan, gsv_branches *branches, gsv_message *message);
/*
 * The rest, once panels have their places: panel_ptr [nsuper + 1]. First memory for `threads` threads; then they fill branches
 * begin .. end - 1, in any order, each as another member, with gaps between their lists; when all are filled, gsv_branches_place says
 * where these belong without gaps, and then, at the same time if wanted, gsv_branches_close moves the lists, or the walks', and
 * gsv_branches_sort sorts: that changes `of`, which nobody else may read meanwhile. After gsv_branches_begin gsv_branches_end has to
 * come in any case, good: whether all has gone well. upper: the supernodes in no branch, ascending.
 */
typedef struct gsv_branches_draft gsv_branches_draft;
struct gsv_supernode_list;
gpusolve_status gsv_branches_begin(const gsv_plan *plan, const struct gsv_supernode_list *upper,
                                   const int64_t *panel_ptr, int threads, gsv_branches *branches,
                                   gsv_branches_draft **draft, gsv_message *message);
void gsv_branches_fill(const gsv_branches_draft *draft, int32_t begin, int32_t end, int member);
void gsv_branches_place(const gsv_branches_draft *draft);
void gsv_branches_close(const gsv_branches_draft *draft, int walks);
void gsv_branches_sort(const gsv_branches_draft *draft);
void gsv_branches_end(gsv_branches_draft *draft, int good);
void gsv_branches_free(gsv_branches *branches); /* frees the arrays, leaves zeros */

#ifdef __cplusplus
}
#endif
#endif
