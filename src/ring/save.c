/* SPDX-License-Identifier: MIT */
#include "ring/save.h"
#include "ring/header.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 100, BUFFER_BYTES = 64 << 10, WRITE_MOST = 64 << 20 };

typedef struct writer {
    int fd;
    int error; /* the first; nothing is written after it */
    size_t used;
    sc_crc64 crc;
    char path[PATH_MAX];
    unsigned char buffer[BUFFER_BYTES];
} writer;

static void write_through(writer *out, const unsigned char *bytes, size_t count)
{
    while (count && !out->error) {
        ssize_t done = write(out->fd, bytes, count < WRITE_MOST ? count : WRITE_MOST);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            out->error = errno;
        else if (done == 0)
            out->error = ENOSPC;
        else {
            bytes += done;
            count -= (size_t)done;
        }
    }
}

static void flush_buffer(writer *out)
{
    write_through(out, out->buffer, out->used);
    out->used = 0;
}

/* Small pieces wait for others; a large one goes as it is. */
static void put_bytes(writer *out, const void *bytes, size_t count)
{
    if (count > sizeof out->buffer - out->used)
        flush_buffer(out);
    if (count > sizeof out->buffer)
        write_through(out, bytes, count);
    else {
        memcpy(out->buffer + out->used, bytes, count);
        out->used += count;
    }
}

static void put_summed(writer *out, const void *bytes, size_t count)
{
    sc_crc64_add(&out->crc, bytes, count);
    put_bytes(out, bytes, count);
}

static void put_place(writer *out, const sc_ring *ring, uint32_t place)
{
    const sc_store *store = &ring->store;
    sc_ring_key key = sc_ring_key_of(&ring->plan, place);
    unsigned char head[SC_RING_PLACE_BYTES] = {0};

    sc_ring_put_u32(head, key.block);
    sc_ring_put_u32(head + 4, key.bucket);
    sc_ring_put_u32(head + 8, store->places[place].count);
    put_summed(out, head, sizeof head);
    for (uint32_t i = 0; i < store->places[place].count && !out->error; i++)
        put_summed(out, sc_store_entry(store, sc_store_slot(store, place, i)), store->entry_bytes);
}

static void put_ring(writer *out, const sc_ring *ring)
{
    sc_ring_header header = sc_ring_header_of(ring);
    unsigned char head[SC_RING_HEADER_BYTES], check[SC_RING_CHECK_BYTES];

    sc_crc64_begin(&out->crc);
    sc_ring_header_encode(&header, &out->crc, head);
    put_bytes(out, head, sizeof head);
    for (uint32_t place = 0; place < ring->plan.places && !out->error; place++)
        if (ring->store.places[place].count)
            put_place(out, ring, place);
    sc_ring_put_u64(check, out->crc.value);
    put_bytes(out, check, sizeof check);
    flush_buffer(out);
}

/* A file of its own beside `path`. */
static bool create(writer *out, const char *path)
{
    out->fd = -1;
    for (unsigned i = 0; i < TRIES; i++) {
        int length =
            snprintf(out->path, sizeof out->path, "%s.tmp.%ld.%u", path, (long)getpid(), i);

        if (length < 0 || (size_t)length >= sizeof out->path) {
            out->error = ENAMETOOLONG;
            return false;
        }
        out->fd = open(out->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->fd >= 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    out->error = errno;
    return false;
}

/* The new name must survive a power cut too. A folder that cannot be opened or synced (some network
 * file systems) is left to its file system. */
static void sync_folder(writer *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;

    if (slash == path)
        length = 1;
    memcpy(out->path, length ? path : ".", length ? length : 1);
    out->path[length ? length : 1] = '\0';
    int folder = open(out->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return;
    (void)fsync(folder);
    (void)close(folder);
}

static void write_file(writer *out, const sc_ring *ring, const char *path)
{
    if (!create(out, path))
        return;
    put_ring(out, ring);
    if (!out->error && fsync(out->fd) != 0)
        out->error = errno;
    if (close(out->fd) != 0 && !out->error)
        out->error = errno;
    if (!out->error && rename(out->path, path) != 0)
        out->error = errno;
    if (out->error)
        (void)unlink(out->path);
    else
        sync_folder(out, path);
}

shapecache_status sc_ring_save(const sc_ring *ring, const char *path, sc_text *why)
{
    writer *out = malloc(sizeof *out);
    int error;

    if (!out)
        return SHAPECACHE_EMEMORY;
    out->error = 0;
    out->used = 0;
    write_file(out, ring, path);
    error = out->error;
    free(out);
    if (!error)
        return SHAPECACHE_OK;
    sc_text_string(why, strerror(error));
    return SHAPECACHE_EFILE;
}
