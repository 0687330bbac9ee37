/* SPDX-License-Identifier: MIT */
#include "rule.h"

#include "cache/mapped.h"

uint64_t rule_mapped(uint64_t bytes, unsigned count)
{
    sc_mapped sums = {0};

    for (unsigned i = 0; i < count; i++)
        sc_mapped_add(&sums, bytes);
    return sc_mapped_total(sums);
}
