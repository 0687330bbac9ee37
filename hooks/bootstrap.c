/* SPDX-License-Identifier: MIT */
#include "bootstrap.h"
#include "dynamic.h"
#include "glibc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Read by bootstrap.S, where a hidden symbol is one load away. */
_Atomic(sc_dlsym) sc_dlsym_target __attribute__((visibility("hidden")));

static _Atomic(sc_dlsym) libc_dlsym;
static __thread bool is_asking; /* inside dlvsym(), which another preload may have taken over */

/* Our own, by a name nobody can take over. */
extern void *sc_dlsym_entry(void *handle, const char *name) __attribute__((visibility("hidden")));

typedef struct tables {
    const Elf64_Sym *symbols;
    const char *strings;
    const uint32_t
        *hash; /* DT_GNU_HASH: bucket count, first symbol, bloom words, bloom shift, ... */
} tables;

static tables tables_of(const struct dl_phdr_info *object)
{
    tables found = {0};
    const Elf64_Dyn *entry = sc_dynamic_of(object);

    for (; entry != NULL && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SYMTAB)
            found.symbols = sc_dynamic_at(object, entry);
        else if (entry->d_tag == DT_STRTAB)
            found.strings = sc_dynamic_at(object, entry);
        else if (entry->d_tag == DT_GNU_HASH)
            found.hash = sc_dynamic_at(object, entry);
    return found;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;

    for (; *name != '\0'; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static const Elf64_Sym *find_symbol(const tables *object, const char *name)
{
    const uint32_t buckets = object->hash[0];
    const uint32_t first = object->hash[1];
    const uint32_t bloom_words = object->hash[2] * (uint32_t)(sizeof(Elf64_Addr) / 4);
    const uint32_t *bucket = object->hash + 4 + bloom_words;
    const uint32_t *chain = bucket + buckets;
    const uint32_t wanted = gnu_hash(name);

    if (buckets == 0)
        return NULL;
    for (uint32_t i = bucket[wanted % buckets]; i >= first; i++) {
        const Elf64_Sym *symbol = &object->symbols[i];

        if ((chain[i - first] | 1) == (wanted | 1) &&
            strcmp(object->strings + symbol->st_name, name) == 0 && symbol->st_shndx != SHN_UNDEF)
            return symbol;
        if ((chain[i - first] & 1) != 0)
            break;
    }
    return NULL;
}

static int walk_object(struct dl_phdr_info *object, size_t size, void *out)
{
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash != NULL ? slash + 1 : object->dlpi_name;
    const Elf64_Sym *symbol;
    tables found;

    (void)size;
    if (strcmp(name, "libc.so.6") != 0 && strcmp(name, "libdl.so.2") != 0)
        return 0;
    found = tables_of(object);
    if (found.symbols == NULL || found.strings == NULL || found.hash == NULL)
        return 0;
    symbol = find_symbol(&found, "dlsym");
    if (symbol == NULL)
        return 0;
    *(uintptr_t *)out = object->dlpi_addr + symbol->st_value;
    return 1;
}

static sc_dlsym walk(void)
{
    uintptr_t address = 0;

    (void)dl_iterate_phdr(walk_object, &address);
    return (sc_dlsym)address;
}

static sc_dlsym ask(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5"};
    void *found = NULL;

    if (is_asking)
        return NULL;
    is_asking = true;
    for (size_t i = 0; found == NULL && i < sizeof(versions) / sizeof(versions[0]); i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    is_asking = false;
    return (sc_dlsym)(uintptr_t)found;
}

sc_dlsym sc_dlsym_libc(void)
{
    sc_dlsym found = atomic_load_explicit(&libc_dlsym, memory_order_acquire);

    if (found == NULL) {
        found = ask();
        if (found == NULL || found == sc_dlsym_entry)
            found = walk();
        atomic_store_explicit(&libc_dlsym, found, memory_order_release);
    }
    return found;
}

sc_dlsym sc_dlsym_next(void)
{
    sc_dlsym next = atomic_load_explicit(&sc_dlsym_target, memory_order_acquire);
    sc_dlsym libc;

    if (next != NULL)
        return next;
    libc = sc_dlsym_libc();
    if (libc == NULL)
        return NULL;
    next = (sc_dlsym)(uintptr_t)libc(RTLD_NEXT, "dlsym");
    if (next == NULL || next == sc_dlsym_entry)
        next = libc;
    atomic_store_explicit(&sc_dlsym_target, next, memory_order_release);
    return next;
}
