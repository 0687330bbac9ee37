/* SPDX-License-Identifier: MIT */
#include "ring/load.h"
#include "ring/fit.h"
#include "ring/header.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 << 10, READ_MOST = 64 << 20 };

typedef struct reader {
    int fd;
    size_t at, used; /* of the buffer */
    sc_crc64 crc;
    sc_ring_header header;
    sc_ring *ring;
    const sc_ring_memory *memory;
    shapecache_ring_loaded *loaded;
    sc_text *why;
    unsigned char *entry; /* room for one */
    unsigned char buffer[BUFFER_BYTES];
} reader;

static shapecache_status fail(reader *in, shapecache_status status, const char *why)
{
    sc_text_string(in->why, why);
    return status;
}

/* Bytes, or 0 at the end, or -1 with errno. */
static ssize_t read_some(int fd, void *bytes, size_t count)
{
    ssize_t got;

    do
        got = read(fd, bytes, count < READ_MOST ? count : READ_MOST);
    while (got < 0 && errno == EINTR);
    return got;
}

static shapecache_status get_bytes(reader *in, void *bytes, size_t count)
{
    unsigned char *to = bytes;

    while (count) {
        size_t here = in->used - in->at;
        ssize_t got;

        if (here) {
            here = here < count ? here : count;
            memcpy(to, in->buffer + in->at, here);
            in->at += here;
            to += here;
            count -= here;
            continue;
        }
        if (count >= sizeof in->buffer) {
            got = read_some(in->fd, to, count);
            to += got > 0 ? got : 0;
            count -= got > 0 ? (size_t)got : 0;
        } else {
            got = read_some(in->fd, in->buffer, sizeof in->buffer);
            in->at = 0;
            in->used = got > 0 ? (size_t)got : 0;
        }
        if (got < 0)
            return fail(in, SHAPECACHE_EFILE, strerror(errno));
        if (got == 0)
            return fail(in, SHAPECACHE_EFORMAT, "it is torn: it ends too early");
    }
    return SHAPECACHE_OK;
}

static shapecache_status get_summed(reader *in, void *bytes, size_t count)
{
    shapecache_status status = get_bytes(in, bytes, count);

    if (!status)
        sc_crc64_add(&in->crc, bytes, count);
    return status;
}

static shapecache_status get_header(reader *in, const sc_ring_plan *plan, unsigned flags)
{
    unsigned char bytes[SC_RING_HEADER_BYTES];
    off_t length = lseek(in->fd, 0, SEEK_END);
    bool can_overlap;
    shapecache_status status;

    if (length < 0 || lseek(in->fd, 0, SEEK_SET) != 0)
        return fail(in, SHAPECACHE_EFILE, strerror(errno));
    status = get_bytes(in, bytes, sizeof bytes);
    if (status)
        return status;
    sc_crc64_begin(&in->crc);
    if (!sc_ring_header_decode(&in->header, &in->crc, bytes, (uint64_t)length, in->why))
        return SHAPECACHE_EFORMAT;
    size_t before = in->why->used;

    if (!sc_ring_differs(&in->header, plan, in->why, &can_overlap))
        return SHAPECACHE_OK;
    if (!can_overlap)
        return SHAPECACHE_EREFUSED;
    if (!(flags & SHAPECACHE_RING_OVERLAP))
        return fail(in, SHAPECACHE_EREFUSED, " (an overlapping load would take what fits)");
    in->why->used = before; /* what differs is what is left */
    return SHAPECACHE_OK;
}

static shapecache_status keep(reader *in, sc_ring_key key)
{
    unsigned added;
    size_t bytes;

    while ((bytes = sc_ring_wants(in->ring, key)) > 0) {
        sc_slab slab;

        if (!in->memory->map(in->memory->self, bytes, &slab))
            return SHAPECACHE_EMEMORY;
        if (!sc_store_give(&in->ring->store, slab)) {
            in->memory->unmap(&slab);
            return SHAPECACHE_EMEMORY;
        }
    }
    return sc_ring_put(in->ring, key, in->entry, &added);
}

static void count_left(shapecache_ring_loaded *loaded, sc_ring_fit fit, uint64_t entries)
{
    switch (fit) {
    case SC_FIT_BLOCK:
        loaded->left_block += entries;
        break;
    case SC_FIT_BUCKET:
        loaded->left_bucket += entries;
        break;
    case SC_FIT_SHARD:
        loaded->left_shard += entries;
        break;
    case SC_FIT_OK:
        break;
    }
}

/* What follows a place's head. Of a place that is too full the last ones are kept. */
static shapecache_status get_entries(reader *in, sc_ring_key in_file, uint32_t count)
{
    sc_ring_key key = {0, 0};
    sc_ring_fit fit = sc_ring_fit_key(&in->header, &in->ring->plan, in_file, &key);
    uint32_t most = in->ring->plan.capacity, skip = count > most ? count - most : 0;

    count_left(in->loaded, fit, count);
    if (fit == SC_FIT_OK)
        in->loaded->left_capacity += skip;
    for (uint32_t i = 0; i < count; i++) {
        shapecache_status status = get_summed(in, in->entry, in->ring->plan.entry_bytes);

        if (!status && fit == SC_FIT_OK && i >= skip)
            status = keep(in, key);
        if (status)
            return status;
    }
    return SHAPECACHE_OK;
}

/* A place's head is believed only where it comes after the one before it, `least` and on. */
static shapecache_status get_place(reader *in, uint64_t *least, uint64_t *left)
{
    const sc_ring_header *header = &in->header;
    unsigned char head[SC_RING_PLACE_BYTES];
    shapecache_status status = get_summed(in, head, sizeof head);
    sc_ring_key key = {sc_ring_get_u32(head), sc_ring_get_u32(head + 4)};
    uint32_t count = sc_ring_get_u32(head + 8);
    uint64_t at = (uint64_t)key.block << 32 | key.bucket;

    if (status)
        return status;
    if (at < *least || key.block >= (header->blocks ? header->blocks : 1) ||
        key.bucket >= header->buckets || key.bucket % header->shards != header->shard ||
        count == 0 || count > header->capacity || count > *left || sc_ring_get_u32(head + 12))
        return fail(in, SHAPECACHE_EFORMAT, "it is damaged: a bucket's head is wrong");
    *least = at + 1;
    *left -= count;
    return get_entries(in, key, count);
}

static shapecache_status get_places(reader *in)
{
    uint64_t least = 0, left = in->header.entries;
    unsigned char check[SC_RING_CHECK_BYTES];
    shapecache_status status = SHAPECACHE_OK;

    for (uint32_t i = 0; i < in->header.places && !status; i++)
        status = get_place(in, &least, &left);
    if (!status && left)
        status = fail(in, SHAPECACHE_EFORMAT, "it is damaged: its buckets are too few");
    if (!status)
        status = get_bytes(in, check, sizeof check);
    if (!status && sc_ring_get_u64(check) != in->crc.value)
        status = fail(in, SHAPECACHE_EFORMAT, "it is damaged: its checksum is wrong");
    return status;
}

/* The numbers that go on. An entry that went for another while loading is one that was left. */
static void settle(reader *in, unsigned flags)
{
    sc_ring *ring = in->ring;

    in->loaded->left_capacity += ring->counters.evicted;
    in->loaded->taken = ring->store.used;
    ring->counters = (sc_ring_counters){.added = ring->store.used};
    ring->random.state = ring->plan.seed;
    if (flags & SHAPECACHE_RING_OVERLAP)
        return;
    ring->counters = in->header.counters;
    ring->random.state = in->header.random_state;
}

static shapecache_status load(reader *in, const sc_ring_plan *plan, unsigned flags)
{
    shapecache_status status = get_header(in, plan, flags);

    if (status)
        return status;
    in->entry = malloc(plan->entry_bytes);
    if (!in->entry || !sc_ring_init(in->ring, plan))
        return SHAPECACHE_EMEMORY;
    status = get_places(in);
    if (status)
        sc_ring_release(in->ring, in->memory->unmap);
    else
        settle(in, flags);
    return status;
}

shapecache_status sc_ring_load(sc_ring *ring, const sc_ring_plan *plan, const char *path,
                               unsigned flags, const sc_ring_memory *memory,
                               shapecache_ring_loaded *loaded, sc_text *why)
{
    reader *in = malloc(sizeof *in);
    shapecache_status status;

    if (!in)
        return SHAPECACHE_EMEMORY;
    in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused, not waited for */
    in->at = in->used = 0;
    in->ring = ring;
    in->memory = memory;
    in->loaded = loaded;
    in->why = why;
    in->entry = NULL;
    *loaded = (shapecache_ring_loaded){0};
    status = in->fd < 0 ? fail(in, SHAPECACHE_EFILE, strerror(errno)) : load(in, plan, flags);
    if (in->fd >= 0)
        (void)close(in->fd);
    free(in->entry);
    free(in);
    return status;
}
