/* SPDX-License-Identifier: MIT
 * rule.h - what the cache believes a number of allocations of one size map, from its own header
 * (src/cache/mapped.h), which is C. */
#ifndef GPU_RULE_H
#define GPU_RULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint64_t rule_mapped(uint64_t bytes, unsigned count);

#ifdef __cplusplus
}
#endif

#endif
