/* What a factor gives beside solutions: samples, products with it, entries of the inverse. */
#ifndef GPUSOLVE_PYTHON_PRODUCTS_H
#define GPUSOLVE_PYTHON_PRODUCTS_H

#include <nanobind/nanobind.h>

/* Functions of _core that take a _core.Factor first. */
void bind_products(nanobind::module_ &m);

#endif
