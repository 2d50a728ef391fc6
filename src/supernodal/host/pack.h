/* Packing the panels for the host executor (panel_host.h), for every type. */
#ifndef GSV_HOST_PACK_H
#define GSV_HOST_PACK_H

#include "../import/import.h"
#include "subtrees.h"

/*
 * Where each panel goes: start[s] in real numbers of the type, each panel on a cache line, in the order in
 * which the subtrees visit them. start may be NULL. Returns the real numbers of all panels, slack included.
 */
int64_t gsv_host_pack_layout(const gsv_plan *plan, gpusolve_dtype dtype, int64_t *start);

/* Fill values, on the handle's threads; data has been checked. GPUSOLVE_OUT_OF_MEMORY: nothing is written. */
gpusolve_status gsv_host_pack(gpusolve_handle *handle, const gpusolve_factor_data *data, const gsv_plan *plan,
                              const int64_t *start, void *values);

/* Where the caller has each panel in data->x, in real numbers: start [nsuper]. */
void gsv_host_in_place_layout(const gsv_plan *plan, const gpusolve_factor_data *data, int64_t *start);

#endif
