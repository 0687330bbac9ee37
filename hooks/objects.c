/* SPDX-License-Identifier: MIT */
#include "objects.h"
#include "dynamic.h"
#include "glibc.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct search {
    uintptr_t address;
    const char *stem;
    sc_object *object;
} search;

const char *sc_object_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

bool sc_object_is_like(const char *path, const char *stem)
{
    const char *name = sc_object_file_name(path);
    const size_t length = strlen(stem);

    return strncmp(name, stem, length) == 0 && strchr(".-", name[length]) != NULL;
}

static int take(const struct dl_phdr_info *info, sc_object *object)
{
    const size_t length = strlen(info->dlpi_name);

    if (length >= sizeof(object->path))
        return 0;
    object->base = info->dlpi_addr;
    memcpy(object->path, info->dlpi_name, length + 1);
    return 1;
}

static bool is_inside(const struct dl_phdr_info *info, uintptr_t address)
{
    for (Elf64_Half i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD &&
            address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

static int holds_address(struct dl_phdr_info *info, size_t size, void *self)
{
    const search *wanted = self;

    (void)size;
    return is_inside(info, wanted->address) ? take(info, wanted->object) : 0;
}

static int has_name(struct dl_phdr_info *info, size_t size, void *self)
{
    const search *wanted = self;

    (void)size;
    return sc_object_is_like(info->dlpi_name, wanted->stem) ? take(info, wanted->object) : 0;
}

typedef struct need {
    const sc_object *object;
    const char *stem;
    char *name;
    size_t bytes;
} need;

static const char *strings_of(const struct dl_phdr_info *info, const Elf64_Dyn *dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == DT_STRTAB)
            return sc_dynamic_at(info, dynamic);
    return NULL;
}

static int find_need(const struct dl_phdr_info *info, const Elf64_Dyn *dynamic, const need *wanted)
{
    const char *strings = strings_of(info, dynamic);

    for (; strings != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        const char *name = dynamic->d_tag == DT_NEEDED ? strings + dynamic->d_un.d_val : "";
        const size_t length = strlen(name);

        if (sc_object_is_like(name, wanted->stem) && length < wanted->bytes) {
            memcpy(wanted->name, name, length + 1);
            return 1;
        }
    }
    return 0;
}

static int needs(struct dl_phdr_info *info, size_t size, void *self)
{
    const need *wanted = self;
    const Elf64_Dyn *dynamic;

    (void)size;
    if (info->dlpi_addr != wanted->object->base ||
        strcmp(info->dlpi_name, wanted->object->path) != 0)
        return 0;
    dynamic = sc_dynamic_of(info);
    return dynamic != NULL ? find_need(info, dynamic, wanted) : 0;
}

bool sc_object_of(const void *address, sc_object *object)
{
    search wanted = {.address = (uintptr_t)address, .object = object};

    return dl_iterate_phdr(holds_address, &wanted) != 0;
}

typedef struct place {
    uintptr_t address;
    const Elf64_Phdr *segments; /* of the object around it: each has its own */
} place;

static int note_segments(struct dl_phdr_info *info, size_t size, void *self)
{
    place *wanted = self;

    (void)size;
    if (!is_inside(info, wanted->address))
        return 0;
    wanted->segments = info->dlpi_phdr;
    return 1;
}

bool sc_object_has_both(const void *one, const void *other)
{
    place first = {.address = (uintptr_t)one}, second = {.address = (uintptr_t)other};

    return dl_iterate_phdr(note_segments, &first) != 0 &&
           dl_iterate_phdr(note_segments, &second) != 0 && first.segments == second.segments;
}

bool sc_object_named(const char *stem, sc_object *object)
{
    search wanted = {.stem = stem, .object = object};

    return dl_iterate_phdr(has_name, &wanted) != 0;
}

bool sc_object_needs(const sc_object *object, const char *stem, char *name, size_t bytes)
{
    need wanted = {.object = object, .stem = stem, .name = name, .bytes = bytes};

    return dl_iterate_phdr(needs, &wanted) != 0;
}

/* The loader's path, of the program itself the kernel's. */
static bool find_file(const void *address, sc_object *object)
{
    if (!sc_object_of(address, object))
        return false;
    if (object->path[0] == '\0') {
        const ssize_t got = readlink("/proc/self/exe", object->path, sizeof(object->path) - 1);

        object->path[got > 0 ? got : 0] = '\0';
    }
    return true;
}

bool sc_object_text(const void *address, char *out, size_t bytes)
{
    sc_object object;
    const char *name;
    int length;

    if (!find_file(address, &object))
        return false;
    name =
        object.path[0] != '\0' ? sc_object_file_name(object.path) : program_invocation_short_name;
    length =
        snprintf(out, bytes, "%s+0x%lx", name, (unsigned long)((uintptr_t)address - object.base));
    return length > 0 && (size_t)length < bytes;
}

typedef struct build_id {
    uintptr_t base;
    char *out; /* hexadecimal */
    size_t bytes;
} build_id;

static void write_hex(const unsigned char *bytes, size_t count, const build_id *id)
{
    static const char digits[] = "0123456789abcdef";

    if (2 * count >= id->bytes)
        return;
    for (size_t i = 0; i < count; i++) {
        id->out[2 * i] = digits[bytes[i] >> 4];
        id->out[2 * i + 1] = digits[bytes[i] & 15];
    }
    id->out[2 * count] = '\0';
}

/* Notes are padded to the segment's alignment: 4, or 8 where newer linkers say so. */
static bool find_build_id(const unsigned char *at, size_t left, size_t alignment,
                          const build_id *id)
{
    const size_t pad = alignment == 8 ? 7 : 3;
    Elf64_Nhdr note;

    while (left >= sizeof note) {
        memcpy(&note, at, sizeof note);
        const size_t name = sizeof note, value = (name + note.n_namesz + pad) & ~pad;
        const size_t next = (value + note.n_descsz + pad) & ~pad;

        if (value > left || note.n_descsz > left - value)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
            memcmp(at + name, "GNU", sizeof "GNU") == 0) {
            write_hex(at + value, note.n_descsz, id);
            return true;
        }
        if (next > left)
            return false;
        at += next;
        left -= next;
    }
    return false;
}

/* Is all of it in what the loader has mapped to be read? Tools that edit a file may leave notes
 * that are not. */
static bool is_loaded(const struct dl_phdr_info *info, const Elf64_Phdr *part)
{
    for (Elf64_Half i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];
        const uint64_t at = part->p_vaddr - segment->p_vaddr; /* huge where it is before it */

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && at <= segment->p_filesz &&
            part->p_memsz <= segment->p_filesz - at)
            return true;
    }
    return false;
}

static int take_build_id(struct dl_phdr_info *info, size_t size, void *self)
{
    const build_id *id = self;

    (void)size;
    if (info->dlpi_addr != id->base)
        return 0;
    for (Elf64_Half i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_NOTE && is_loaded(info, segment) &&
            find_build_id((const unsigned char *)(info->dlpi_addr + segment->p_vaddr),
                          segment->p_memsz, segment->p_align, id))
            return 1;
    }
    return 0;
}

bool sc_object_file(const void *address, char *path, size_t path_bytes, char *build_id_out,
                    size_t id_bytes)
{
    sc_object object;
    build_id id = {.out = build_id_out, .bytes = id_bytes};
    size_t length;

    if (!find_file(address, &object))
        return false;
    length = strlen(object.path);
    if (length == 0 || length >= path_bytes)
        return false;
    memcpy(path, object.path, length + 1);
    build_id_out[0] = '\0';
    id.base = object.base;
    (void)dl_iterate_phdr(take_build_id, &id);
    return true;
}

static void *open_again(const sc_object *object, int flags)
{
    if (object->path[0] == '\0')
        return NULL;
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
