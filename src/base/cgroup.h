/* SPDX-License-Identifier: MIT
 * cgroup.h - how much memory this process's control group may have.
 *
 * The least limit of the group and of those above it, of version 2 (memory.max) or 1
 * (memory.limit_in_bytes). A container shows its own group as the root, so a path that is not there
 * is looked for at the root too. Reads a few small files; allocates nothing. */
#ifndef SC_BASE_CGROUP_H
#define SC_BASE_CGROUP_H

#include <stdint.h>

/* Bytes; 0: no limit, or none that can be read. `proc` is /proc/self/cgroup and `mount`
 * /sys/fs/cgroup, but for tests. */
uint64_t sc_cgroup_memory(const char *proc, const char *mount);

#endif
