/* SPDX-License-Identifier: MIT */
#include "probe.h"
#include "engine/engine.h"

static probe state;
static const sc_engine_host *surroundings;
static _Thread_local bool is_inside;
static _Thread_local const void *note;
static _Thread_local bool is_consumed;

__attribute__((visibility("default"))) probe_state_type probe_state;
__attribute__((visibility("default"))) probe_site_type probe_site;

probe *probe_state(void)
{
    return &state;
}

bool probe_site(const void *address, char *out, size_t bytes)
{
    return surroundings->site_text(address, out, bytes);
}

void sc_engine_load(void)
{
}

void sc_engine_find_by(void (*find)(void))
{
    (void)find;
}

void sc_engine_attach(const sc_engine_host *host)
{
    surroundings = host;
    state.attached++;
}

int sc_engine_alloc(sc_address *address, size_t bytes, const void *caller)
{
    int result;

    state.allocs++;
    state.caller = caller;
    if (note != NULL && !state.is_deaf) {
        state.caller = note;
        is_consumed = true;
    }
    is_inside = true;
    result = surroundings->driver->mem_alloc(address, bytes);
    is_inside = false;
    return result;
}

int sc_engine_free(sc_address address)
{
    int result;

    state.frees++;
    is_inside = true;
    result = surroundings->driver->mem_free(address);
    is_inside = false;
    return result;
}

bool sc_engine_is_inside(void)
{
    return is_inside;
}

void sc_engine_note(const void *caller)
{
    state.notes++;
    note = caller;
    is_consumed = false;
}

bool sc_engine_note_end(void)
{
    const bool was_consumed = is_consumed;

    note = NULL;
    is_consumed = false;
    return was_consumed;
}

void sc_engine_bypassed(const char *how)
{
    (void)how;
    state.bypassed++;
}

void sc_engine_door(sc_door door)
{
    state.doors[door]++;
}

void sc_engine_out_of_reach(const char *name)
{
    (void)name; /* at the end of the process, when nobody looks any more */
}

void sc_engine_capture_begin(void)
{
    state.captures++;
    state.captures_begun++;
}

void sc_engine_capture_end(void)
{
    state.captures--;
}

void sc_engine_result(int result)
{
    state.results++;
    state.last_result = result;
}

void sc_engine_waited(int result, sc_context context)
{
    sc_engine_result(result);
    state.waits++;
    state.last_waited = context;
}

void sc_engine_context_ends(sc_context context)
{
    state.contexts_ended++;
    state.last_context = context;
}

void sc_engine_exported(sc_address inside)
{
    state.exported++;
    state.last_exported = inside;
}

void sc_engine_frees_elsewhere(sc_address address)
{
    state.frees_elsewhere++;
    state.last_freed = address;
    if (state.on_free_elsewhere != NULL)
        state.on_free_elsewhere();
}

void sc_engine_peer_enabled(void)
{
    state.peers++;
}

bool sc_engine_make_room(void)
{
    state.rooms++;
    return state.has_room;
}

void sc_engine_granted(void)
{
    state.granted++;
}

int sc_engine_step(int device)
{
    return device;
}

void sc_engine_finish(void)
{
}
