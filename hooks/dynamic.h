/* SPDX-License-Identifier: MIT
 * dynamic.h - the dynamic section of a loaded object, as dl_iterate_phdr() shows it.
 *
 * Inline, since the bootstrap is to stay in one file that no sanitizer touches. Reads memory that
 * the loader itself reads; valid while the object is loaded, so within the walk that named it. */
#ifndef SC_HOOKS_DYNAMIC_H
#define SC_HOOKS_DYNAMIC_H

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* NULL: it has none. */
static inline const Elf64_Dyn *sc_dynamic_of(const struct dl_phdr_info *object)
{
    for (Elf64_Half i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const Elf64_Dyn *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* What an entry points at. The loader has made it an address, on most machines: elsewhere it is as
 * in the file. */
static inline const void *sc_dynamic_at(const struct dl_phdr_info *object, const Elf64_Dyn *entry)
{
    const uintptr_t at = (uintptr_t)entry->d_un.d_ptr;

    return (const void *)(at < object->dlpi_addr ? at + object->dlpi_addr : at);
}

#endif
