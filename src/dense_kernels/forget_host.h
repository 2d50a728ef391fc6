/* Part of instantiate_host.h: the macros of one instance. */
#undef GSV_COLUMNS
#undef GSV_PARTS
#undef GSV_ROW
#undef GSV_REAL_BYTES
#undef GSV_INLINE
#undef GSV_WIDTH
#undef GSV_VECTORS
#undef GSV_REGISTERS
#undef GSV_FIT
#undef GSV_CHUNK
#undef GSV_ROWS_FIT
#undef GSV_GROUP
#undef GSV_TRANS
#undef GSV_LEAF_ROWS
#undef GSV_ASIDE
