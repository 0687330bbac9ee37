/* SPDX-License-Identifier: MIT */
#include "objects.h"
#include "glibc.h"
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct search {
    uintptr_t address;
    const char *stem;
    sc_object *object;
} search;

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static int take(const struct dl_phdr_info *info, sc_object *object)
{
    const size_t length = strlen(info->dlpi_name);

    if (length >= sizeof(object->path)) {
        return 0;
    }
    object->base = info->dlpi_addr;
    memcpy(object->path, info->dlpi_name, length + 1);
    return 1;
}

static int holds_address(struct dl_phdr_info *info, size_t size, void *self)
{
    const search *wanted = self;

    (void)size;
    for (Elf64_Half i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD &&
            wanted->address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz) {
            return take(info, wanted->object);
        }
    }
    return 0;
}

static int has_name(struct dl_phdr_info *info, size_t size, void *self)
{
    const search *wanted = self;
    const size_t length = strlen(wanted->stem);
    const char *name = file_name(info->dlpi_name);

    (void)size;
    if (strncmp(name, wanted->stem, length) != 0 || strchr(".-", name[length]) == NULL) {
        return 0;
    }
    return take(info, wanted->object);
}

bool sc_object_of(const void *address, sc_object *object)
{
    search wanted = {.address = (uintptr_t)address, .object = object};

    return dl_iterate_phdr(holds_address, &wanted) != 0;
}

bool sc_object_named(const char *stem, sc_object *object)
{
    search wanted = {.stem = stem, .object = object};

    return dl_iterate_phdr(has_name, &wanted) != 0;
}

bool sc_object_text(const void *address, char *out, size_t bytes)
{
    sc_object object;
    const char *name;
    int length;

    if (!sc_object_of(address, &object)) {
        return false;
    }
    if (object.path[0] == '\0') {
        const ssize_t got = readlink("/proc/self/exe", object.path, sizeof(object.path) - 1);

        object.path[got > 0 ? got : 0] = '\0';
    }
    name = object.path[0] != '\0' ? file_name(object.path) : program_invocation_short_name;
    length =
        snprintf(out, bytes, "%s+0x%lx", name, (unsigned long)((uintptr_t)address - object.base));
    return length > 0 && (size_t)length < bytes;
}

static void *open_again(const sc_object *object, int flags)
{
    if (object->path[0] == '\0') {
        return NULL;
    }
    return dlopen(object->path, RTLD_LAZY | RTLD_NOLOAD | flags);
}

void *sc_object_open(const sc_object *object)
{
    return open_again(object, 0);
}

void *sc_object_pin(const sc_object *object)
{
    return open_again(object, RTLD_NODELETE);
}
