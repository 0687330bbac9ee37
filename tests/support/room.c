/* SPDX-License-Identifier: MIT */
#include "support/room.h"
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/sc-engine-XXXXXX";
static int program_stderr = -1;

static const void *const *stack_frames;
static size_t stack_count;
static unsigned unwound;

static bool site_text(const void *address, char *out, size_t bytes)
{
    const char *object = (uintptr_t)address < ROOM_CUDA      ? "train"
                         : (uintptr_t)address < ROOM_HOARDER ? "libcudart.so.13"
                                                             : "libc10_cuda.so";

    return (size_t)snprintf(out, bytes, "%s+0x%lx", object, (unsigned long)(uintptr_t)address) <
           bytes;
}

/* Of the program alone: the others stand for objects that nobody can tell the file of. */
static bool site_object(const void *address, char *path, size_t path_bytes, char *build_id,
                        size_t id_bytes)
{
    return (uintptr_t)address < ROOM_CUDA &&
           (size_t)snprintf(path, path_bytes, "/opt/train") < path_bytes &&
           (size_t)snprintf(build_id, id_bytes, "%s", "0b5e") < id_bytes;
}

static size_t stack(const void **frames, size_t most)
{
    size_t count = stack_count < most ? stack_count : most;

    unwound++;
    for (size_t i = 0; i < count; i++)
        frames[i] = stack_frames[i];
    return count;
}

static const char *script_text;
static bool is_scripted;
static unsigned looked;

static bool script(char *out, size_t bytes, unsigned depth)
{
    (void)depth;
    if (!out)
        return is_scripted;
    looked++;
    return script_text && (size_t)snprintf(out, bytes, "%s", script_text) < bytes;
}

static const sc_engine_host host = {.driver = &fake_driver,
                                    .site_text = site_text,
                                    .site_object = site_object,
                                    .stack = stack,
                                    .script = script};

void room_script(const char *text)
{
    is_scripted = true;
    script_text = text;
}

unsigned room_looked(void)
{
    return looked;
}

void room_stack(const void *const *frames, size_t count)
{
    stack_frames = frames;
    stack_count = count;
}

unsigned room_unwound(void)
{
    return unwound;
}

void room_open(uint64_t memory)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    (void)setenv("SHAPECACHE_LOG", "log", 0);
    (void)setenv("SHAPECACHE_STEP", "api", 0);
    (void)setenv("SHAPECACHE_WARMUP", "1", 0);
    int fd = open("stderr", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    program_stderr = dup(STDERR_FILENO);
    ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    ck_assert_int_eq(close(fd), 0);
    fake_init(memory);
    sc_engine_attach(&host);
}

void room_enter(void)
{
    room_open(1024 * MIB);
}

void room_close(void)
{
    ck_assert(!fake_was_called_under_lock());
    ck_assert_int_eq(dup2(program_stderr, STDERR_FILENO), STDERR_FILENO);
    ck_assert_int_eq(close(program_stderr), 0);
    (void)unlink("log");
    (void)unlink("stderr");
    ck_assert_int_eq(rmdir(folder), 0);
}

sc_address room_alloc_from(uint64_t bytes, const void *site)
{
    sc_address address = 0;

    ck_assert_int_eq(sc_engine_alloc(&address, bytes, site), SC_CUDA_SUCCESS);
    ck_assert_uint_ne(address, 0);
    return address;
}

sc_address room_alloc(uint64_t bytes)
{
    return room_alloc_from(bytes, (const void *)(uintptr_t)(0x1000 + bytes));
}

void room_free(sc_address address)
{
    ck_assert_int_eq(sc_engine_free(address), SC_CUDA_SUCCESS);
}

void room_batch(const uint64_t *sizes, unsigned count)
{
    sc_address blocks[64];

    ck_assert_uint_le(count, 64);
    for (unsigned i = 0; i < count; i++)
        blocks[i] = room_alloc(sizes[i]);
    for (unsigned i = count; i-- > 0;)
        room_free(blocks[i]);
    ck_assert_int_eq(sc_engine_step(-1), 0);
}

void room_fix(const uint64_t *sizes, unsigned count)
{
    for (int i = 0; i < 4; i++) /* new, quiet, parked, served */
        room_batch(sizes, count);
    unsigned before = fake_count(FAKE_MEM_ALLOC);

    room_batch(sizes, count);
    ck_assert_uint_eq(fake_count(FAKE_MEM_ALLOC), before);
}

lines room_log(void)
{
    return lines_read("log");
}

char *room_stderr(void)
{
    struct stat about;
    int fd = open("stderr", O_RDONLY | O_CLOEXEC);

    ck_assert(fd >= 0 && fstat(fd, &about) == 0);
    char *text = calloc(1, (size_t)about.st_size + 1);

    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(read(fd, text, (size_t)about.st_size), about.st_size);
    ck_assert_int_eq(close(fd), 0);
    return text;
}

bool room_has_file(const char *name)
{
    return access(name, F_OK) == 0;
}
