/* SPDX-License-Identifier: MIT */
#include "bypass.h"
#include "bootstrap.h"
#include "dynamic.h"
#include "glibc.h"
#include "objects.h"
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct range {
    uintptr_t low, high;
} range;

/* Where a look-up ends that passes every preload: in the C library, and in the driver. */
typedef struct search {
    range libc, driver;
    char *name;
    size_t bytes;
} search;

typedef struct relocations {
    const Elf64_Rela *at;
    size_t bytes;
    size_t skip; /* so many at its beginning name no symbol */
} relocations;

typedef struct tables {
    const Elf64_Sym *symbols;
    const char *strings;
    const uint32_t *gnu;  /* DT_GNU_HASH: its second word is the first symbol that is defined */
    const uint32_t *sysv; /* DT_HASH: its second word is the number of symbols */
    relocations calls, data;
} tables;

static bool is_in(range whole, uintptr_t address)
{
    return address - whole.low < whole.high - whole.low;
}

static range range_of(const struct dl_phdr_info *info)
{
    range whole = {UINTPTR_MAX, 0};

    for (Elf64_Half i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];
        const uintptr_t low = info->dlpi_addr + segment->p_vaddr;
        const uintptr_t high = low + segment->p_memsz;

        if (segment->p_type != PT_LOAD)
            continue;
        whole.low = low < whole.low ? low : whole.low;
        whole.high = high > whole.high ? high : whole.high;
    }
    return whole;
}

static int note_ends(struct dl_phdr_info *info, size_t size, void *self)
{
    search *wanted = self;
    const range whole = range_of(info);

    (void)size;
    if (is_in(whole, (uintptr_t)sc_dlsym_libc()))
        wanted->libc = whole;
    else if (sc_object_is_like(info->dlpi_name, "libcuda.so"))
        wanted->driver = whole;
    return 0;
}

static tables tables_of(const struct dl_phdr_info *info)
{
    tables found = {0};
    const Elf64_Dyn *entry = sc_dynamic_of(info);

    for (; entry != NULL && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SYMTAB)
            found.symbols = sc_dynamic_at(info, entry);
        else if (entry->d_tag == DT_STRTAB)
            found.strings = sc_dynamic_at(info, entry);
        else if (entry->d_tag == DT_GNU_HASH)
            found.gnu = sc_dynamic_at(info, entry);
        else if (entry->d_tag == DT_HASH)
            found.sysv = sc_dynamic_at(info, entry);
        else if (entry->d_tag == DT_JMPREL)
            found.calls.at = sc_dynamic_at(info, entry);
        else if (entry->d_tag == DT_PLTRELSZ)
            found.calls.bytes = entry->d_un.d_val;
        else if (entry->d_tag == DT_RELA)
            found.data.at = sc_dynamic_at(info, entry);
        else if (entry->d_tag == DT_RELASZ)
            found.data.bytes = entry->d_un.d_val;
        else if (entry->d_tag == DT_RELACOUNT)
            found.data.skip = entry->d_un.d_val;
    return found;
}

/* Where the loader has put the address of symbol `number`; 0: nowhere. */
static uintptr_t slot_in(const relocations *all, uintptr_t base, uint32_t number)
{
    const size_t count = all->at != NULL ? all->bytes / sizeof(*all->at) : 0;

    for (size_t i = all->skip; i < count; i++)
        if (ELF64_R_SYM(all->at[i].r_info) == number)
            return base + all->at[i].r_offset;
    return 0;
}

/* Does symbol `number` lead into `end`? Not one that is bound at its first call, before that. */
static bool leads_into(const tables *object, uintptr_t base, uint32_t number, range end)
{
    uintptr_t slot = slot_in(&object->calls, base, number);
    uintptr_t target;

    if (slot == 0)
        slot = slot_in(&object->data, base, number);
    if (slot == 0)
        return false;
    memcpy(&target, (const void *)slot, sizeof(target));
    return is_in(end, target);
}

/* Does `word` stand in these bytes? Copied by the kernel, which answers with an error where a file
 * has become shorter than its mapping and a load would end the process. */
static bool says(uintptr_t at, size_t bytes, const char *word)
{
    static char window[64 << 10];
    const size_t length = strlen(word);

    for (size_t done = 0; done + length <= bytes; done += sizeof(window) - length + 1) {
        const size_t left = bytes - done;
        const struct iovec local = {window, left < sizeof(window) ? left : sizeof(window)};
        const struct iovec remote = {(void *)(at + done), local.iov_len};
        const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

        if (got > 0 && memmem(window, (size_t)got, word, length) != NULL)
            return true;
    }
    return false;
}

/* Whoever opens the driver has its name among the constants. They come before the code, where a
 * linker has not mixed them: that may be a hundred megabytes. */
static bool names_the_driver(const struct dl_phdr_info *info)
{
    static const Elf64_Word kinds[] = {PF_R, PF_R | PF_X};

    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        for (Elf64_Half i = 0; i < info->dlpi_phnum; i++) {
            const Elf64_Phdr *segment = &info->dlpi_phdr[i];

            if (segment->p_type == PT_LOAD && segment->p_flags == kinds[kind] &&
                says(info->dlpi_addr + segment->p_vaddr, segment->p_filesz, "libcuda.so"))
                return true;
        }
    }
    return false;
}

static bool is_of_the_driver(const char *name)
{
    return strcmp(name, "cuMemAlloc_v2") == 0 || strcmp(name, "cuGetProcAddress_v2") == 0 ||
           strcmp(name, "cuGetProcAddress") == 0;
}

static bool passes(const struct dl_phdr_info *info, const search *wanted)
{
    const tables object = tables_of(info);
    const uint32_t *hash = object.gnu != NULL ? object.gnu : object.sysv;

    if (object.symbols == NULL || object.strings == NULL || hash == NULL)
        return false;
    for (uint32_t i = 1; i < hash[1]; i++) {
        const Elf64_Sym *symbol = &object.symbols[i];
        const char *name = object.strings + symbol->st_name;

        if (symbol->st_shndx != SHN_UNDEF)
            continue;
        if (strcmp(name, "dlsym") == 0 && leads_into(&object, info->dlpi_addr, i, wanted->libc) &&
            names_the_driver(info))
            return true;
        if (is_of_the_driver(name) && leads_into(&object, info->dlpi_addr, i, wanted->driver))
            return true;
    }
    return false;
}

/* Its own calls of itself are none of the program's. */
static bool is_part_of_the_driver(const char *path)
{
    return sc_object_is_like(path, "libcuda.so") || sc_object_is_like(path, "libnvidia");
}

static int find_passing(struct dl_phdr_info *info, size_t size, void *self)
{
    const search *wanted = self;
    const char *file = sc_object_file_name(info->dlpi_name);
    size_t length;

    (void)size;
    if (is_part_of_the_driver(info->dlpi_name) || !passes(info, wanted))
        return 0;
    length = strnlen(file, wanted->bytes - 1);
    memcpy(wanted->name, file, length);
    wanted->name[length] = '\0';
    return 1;
}

bool sc_bypass_find(char *name, size_t bytes)
{
    search wanted = {.name = name, .bytes = bytes};
    const sc_dlsym look_up = sc_dlsym_libc();

    if (look_up == NULL)
        return false;
    (void)dl_iterate_phdr(note_ends, &wanted);
    /* opened by the program instead of preloaded, we are passed by everything, and nobody expects
     * otherwise */
    if (wanted.driver.high == 0 || wanted.libc.high == 0 ||
        is_in(wanted.libc, (uintptr_t)look_up(RTLD_DEFAULT, "dlsym")))
        return false;
    return dl_iterate_phdr(find_passing, &wanted) != 0;
}
