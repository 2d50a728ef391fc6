/* Part of instantiate_host.h: the template for every number of columns, with one instruction set. */
#define GSV_COLUMNS 1
#include GSV_TEMPLATE
#include "forget_host.h"
#define GSV_COLUMNS 8
#include GSV_TEMPLATE
#include "forget_host.h"
#define GSV_COLUMNS 16
#include GSV_TEMPLATE
#include "forget_host.h"
#define GSV_COLUMNS 32
#include GSV_TEMPLATE
#include "forget_host.h"
