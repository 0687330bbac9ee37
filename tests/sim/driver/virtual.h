/* SPDX-License-Identifier: MIT
 * virtual.h - physical memory and its mappings in one call each; what goes wrong fails the test.
 */
#ifndef SIM_TEST_VIRTUAL_H
#define SIM_TEST_VIRTUAL_H

#include "support.h"

#define UNIT (2 * MIB)

CUmemAllocationProp properties(void);
CUmemGenericAllocationHandle create(size_t bytes);
CUdeviceptr reserve(size_t bytes);
CUresult set_access(CUdeviceptr address, size_t bytes, CUmemAccess_flags flags);
void allow(CUdeviceptr address, size_t bytes);
/* Memory of that size, mapped and accessible; its only handle is released. */
void map_new(CUdeviceptr address, size_t bytes);

#endif
