/* What selections want of the host executor (executor.h). */
#ifndef GSV_HOST_SELECTION_H
#define GSV_HOST_SELECTION_H

#include "../api/executor.h"

extern const gsv_selection_functions gsv_host_selection;

#endif
