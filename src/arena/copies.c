/* SPDX-License-Identifier: MIT */
#include "arena/copies.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

/* The driver's answer, and in `refused` whose it was. */
#define ASK(copies, name, call) ((copies)->refused = (name), (copies)->driver->call)

int sc_copies_init(sc_copies *copies, const sc_copy_driver *driver)
{
    int result;

    *copies = (sc_copies){.driver = driver};
    result = ASK(copies, "cuStreamCreate", stream_create(&copies->out));
    copies->has_out = result == SC_CUDA_SUCCESS;
    if (result != SC_CUDA_SUCCESS)
        return result;
    result = ASK(copies, "cuStreamCreate", stream_create(&copies->in));
    copies->has_in = result == SC_CUDA_SUCCESS;
    if (result != SC_CUDA_SUCCESS)
        sc_copies_release(copies);
    return result;
}

/* Twice, since what is at stake is memory that copies may write. */
static bool finish(const sc_copies *copies, sc_stream stream)
{
    bool is_done = false;

    for (int tries = 0; tries < 2 && !is_done; tries++)
        is_done = copies->driver->stream_finish(stream) == SC_CUDA_SUCCESS;
    return is_done;
}

bool sc_copies_finish(sc_copies *copies)
{
    bool is_out = !copies->has_out || finish(copies, copies->out);

    return (!copies->has_in || finish(copies, copies->in)) && is_out;
}

void sc_copies_release(sc_copies *copies)
{
    for (uint32_t i = 0; i < copies->ghost_count; i++) {
        free(copies->ghosts[i].pageable);
        sc_copies_spare(copies, copies->ghosts[i].event);
    }
    for (uint32_t i = 0; i < copies->spares; i++)
        if (copies->driver->event_destroy(copies->spare[i]) != SC_CUDA_SUCCESS)
            (void)copies->driver->event_destroy(copies->spare[i]);
    if (copies->has_out && copies->driver->stream_destroy(copies->out) != SC_CUDA_SUCCESS)
        (void)copies->driver->stream_destroy(copies->out);
    if (copies->has_in && copies->driver->stream_destroy(copies->in) != SC_CUDA_SUCCESS)
        (void)copies->driver->stream_destroy(copies->in);
    free(copies->spare);
    free(copies->ghosts);
    *copies = (sc_copies){.driver = copies->driver, .refused = copies->refused};
}

void sc_copies_abandon(sc_copies *copies)
{
    for (uint32_t i = 0; i < copies->ghost_count; i++)
        free(copies->ghosts[i].pageable);
    free(copies->spare);
    free(copies->ghosts);
    *copies = (sc_copies){.driver = copies->driver};
}

/* There is room for every event that was made to be spare. */
static bool has_room_for_one_more(sc_copies *copies)
{
    uint32_t room = copies->spare_room ? copies->spare_room * 2 : FIRST_ROOM;

    if (copies->made < copies->spare_room)
        return true;
    sc_gpu_event *spare = realloc(copies->spare, room * sizeof *spare);

    if (!spare)
        return false;
    copies->spare = spare;
    copies->spare_room = room;
    return true;
}

int sc_copies_event(sc_copies *copies, sc_gpu_event *event)
{
    if (copies->spares) {
        *event = copies->spare[--copies->spares];
        return SC_CUDA_SUCCESS;
    }
    if (!has_room_for_one_more(copies)) {
        copies->refused = "malloc";
        return SC_CUDA_OUT_OF_MEMORY;
    }
    int result = ASK(copies, "cuEventCreate", event_create(event));

    copies->made += result == SC_CUDA_SUCCESS;
    return result;
}

void sc_copies_spare(sc_copies *copies, sc_gpu_event event)
{
    if (event)
        copies->spare[copies->spares++] = event;
}

void sc_copies_part(sc_copies *copies)
{
    copies->made--;
}

/* Edges (1) and (4): `behind` comes after what is enqueued on `stream`. */
static int follow(sc_copies *copies, sc_stream behind, sc_stream stream)
{
    sc_gpu_event here;
    int result = sc_copies_event(copies, &here);

    if (result != SC_CUDA_SUCCESS)
        return result;
    result = ASK(copies, "cuEventRecord", event_record(here, stream));
    if (result == SC_CUDA_SUCCESS)
        result = ASK(copies, "cuStreamWaitEvent", stream_wait(behind, here));
    sc_copies_spare(copies, here); /* a wait keeps what it waits for */
    return result;
}

/* The piece of a copy that stays within one chunk of the host's memory. */
static uint64_t piece(sc_host host, uint64_t done, uint64_t bytes)
{
    uint64_t left = bytes - done;

    if (!host.pinned)
        return left;
    uint64_t to_end = host.pinned->chunk - (host.offset + done) % host.pinned->chunk;

    return left < to_end ? left : to_end;
}

static char *place(sc_host host, uint64_t done)
{
    return host.pinned ? host.pinned->at + host.offset + done : (char *)host.pageable + done;
}

/* Edge (5). All that are in the way: a prefetch reads its slot before one that is asked for later,
 * but may become a ghost after it. */
static int follow_ghosts(sc_copies *copies, uint64_t offset, uint64_t room)
{
    int result = SC_CUDA_SUCCESS;

    for (uint32_t i = 0; i < copies->ghost_count && result == SC_CUDA_SUCCESS; i++) {
        const sc_ghost *ghost = &copies->ghosts[i];

        if (ghost->offset < offset + room && offset < ghost->offset + ghost->room)
            result = ASK(copies, "cuStreamWaitEvent", stream_wait(copies->out, ghost->event));
    }
    return result;
}

/* A copy that is under way although its call has failed must not be left running. */
static void abandon(sc_copies *copies, sc_stream stream, sc_gpu_event event)
{
    const char *refused = copies->refused;

    (void)finish(copies, stream);
    sc_copies_spare(copies, event);
    copies->refused = refused;
}

int sc_copies_out(sc_copies *copies, sc_host host, uint64_t room, sc_address source, uint64_t bytes,
                  sc_stream stream, sc_gpu_event also, sc_gpu_event *done)
{
    sc_gpu_event event;
    int result = sc_copies_event(copies, &event);

    if (result != SC_CUDA_SUCCESS)
        return result;
    result = follow(copies, copies->out, stream);
    if (result == SC_CUDA_SUCCESS)
        result = follow_ghosts(copies, host.offset, room);
    for (uint64_t at = 0; at < bytes && result == SC_CUDA_SUCCESS;) {
        uint64_t now = piece(host, at, bytes);

        result = ASK(copies, "cuMemcpyDtoHAsync",
                     copy_out(place(host, at), source + at, now, copies->out));
        at += now;
    }
    if (result == SC_CUDA_SUCCESS)
        result = ASK(copies, "cuEventRecord", event_record(event, copies->out));
    if (result == SC_CUDA_SUCCESS && also)
        result = ASK(copies, "cuEventRecord", event_record(also, copies->out));
    if (result == SC_CUDA_SUCCESS)
        *done = event;
    else
        abandon(copies, copies->out, event);
    return result;
}

int sc_copies_in(sc_copies *copies, sc_host host, sc_address target, uint64_t bytes,
                 sc_gpu_event out, sc_stream stream, sc_gpu_event *done)
{
    sc_gpu_event event;
    int result = sc_copies_event(copies, &event);

    if (result != SC_CUDA_SUCCESS)
        return result;
    result = follow(copies, copies->in, stream);
    if (result == SC_CUDA_SUCCESS) /* edge (2) */
        result = ASK(copies, "cuStreamWaitEvent", stream_wait(copies->in, out));
    for (uint64_t at = 0; at < bytes && result == SC_CUDA_SUCCESS;) {
        uint64_t now = piece(host, at, bytes);

        result = ASK(copies, "cuMemcpyHtoDAsync",
                     copy_in(target + at, place(host, at), now, copies->in));
        at += now;
    }
    if (result == SC_CUDA_SUCCESS)
        result = ASK(copies, "cuEventRecord", event_record(event, copies->in));
    if (result == SC_CUDA_SUCCESS)
        *done = event;
    else
        abandon(copies, copies->in, event);
    return result;
}

int sc_copies_join(sc_copies *copies, sc_stream stream, sc_gpu_event event)
{
    return ASK(copies, "cuStreamWaitEvent", stream_wait(stream, event));
}

int sc_copies_within(sc_copies *copies, sc_address to, sc_address from, uint64_t bytes,
                     sc_stream stream)
{
    return ASK(copies, "cuMemcpyDtoDAsync", copy_within(to, from, bytes, stream));
}

bool sc_copies_reserve(sc_copies *copies, uint32_t count)
{
    uint32_t room = copies->ghost_room ? copies->ghost_room : FIRST_ROOM;

    while (room - copies->ghost_count < count)
        room *= 2;
    if (room == copies->ghost_room)
        return true;
    sc_ghost *ghosts = realloc(copies->ghosts, room * sizeof *ghosts);

    if (!ghosts)
        return false;
    copies->ghosts = ghosts;
    copies->ghost_room = room;
    return true;
}

void sc_copies_haunt(sc_copies *copies, sc_ghost ghost)
{
    copies->ghosts[copies->ghost_count++] = ghost;
}

void sc_copies_lay(sc_copies *copies)
{
    uint32_t done = 0;

    while (done < copies->ghost_count) {
        sc_ghost *ghost = &copies->ghosts[done];

        if (copies->driver->event_query(ghost->event) != SC_CUDA_SUCCESS)
            break;
        free(ghost->pageable);
        sc_copies_spare(copies, ghost->event);
        done++;
    }
    copies->ghost_count -= done;
    if (done)
        memmove(copies->ghosts, copies->ghosts + done,
                copies->ghost_count * sizeof *copies->ghosts);
}
