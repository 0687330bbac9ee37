/* SPDX-License-Identifier: MIT */
#include "arena/say.h"
#include "base/cgroup.h"
#include "base/text.h"
#include <string.h>
#include <sys/resource.h>

static bool is_default(const char *name)
{
    return strcmp(name, "arena") == 0;
}

void sc_arena_say_name(sc_text *text, const char *name)
{
    sc_text_string(text, "arena");
    if (!is_default(name)) {
        sc_text_char(text, ' ');
        sc_text_string(text, name);
    }
    sc_text_string(text, ": ");
}

static sc_text begin(sc_arena *arena)
{
    sc_text text = sc_text_over(arena->error, sizeof arena->error);

    sc_arena_say_name(&text, arena->name);
    return text;
}

static void add(sc_text *text, const char *before, uint64_t number)
{
    sc_text_string(text, before);
    sc_text_u64(text, number);
}

/* "1.50 GiB (1610612736 bytes)" */
static void size(sc_text *text, const char *before, uint64_t bytes)
{
    sc_text_string(text, before);
    sc_text_size(text, bytes);
    if (bytes >= 1024) {
        add(text, " (", bytes);
        sc_text_string(text, " bytes)");
    }
}

shapecache_status sc_arena_say_value(sc_arena *arena, const char *what)
{
    sc_text text = begin(arena);

    sc_text_string(&text, what);
    (void)sc_text_terminate(&text);
    return SHAPECACHE_EVALUE;
}

shapecache_status sc_arena_say_memory(sc_arena *arena)
{
    sc_text text = begin(arena);

    sc_text_string(&text, "out of host memory, pageable memory that is, not page-locked");
    (void)sc_text_terminate(&text);
    return SHAPECACHE_EMEMORY;
}

shapecache_status sc_arena_say_driver(sc_arena *arena, int result)
{
    sc_text text = begin(arena);

    add(&text, "the CUDA driver answered ", (uint64_t)result);
    sc_text_string(&text, " to ");
    sc_text_string(&text, arena->copies.refused);
    sc_text_string(&text, "; the stack is as it was");
    (void)sc_text_terminate(&text);
    arena->counters.driver_errors++;
    return SHAPECACHE_EDRIVER;
}

/* What is on top, and how far below it the ticket lies. */
static void say_top(sc_text *text, sc_arena *arena, shapecache_ticket asked)
{
    const sc_entry *top = sc_stack_top(&arena->stack);

    if (!top) {
        sc_text_string(text, ", but nothing is on the stack");
        return;
    }
    add(text, ", but ticket ", top->number);
    sc_text_string(text, " is on top");
    if (sc_stack_find(&arena->stack, asked.index, asked.number))
        add(text, ", and those above it must be onloaded or rewound first: ",
            arena->stack.count - 1 - asked.index);
    else
        sc_text_string(text, "; the one asked for was onloaded or rewound before, or is another "
                             "arena's");
}

shapecache_status sc_arena_say_order(sc_arena *arena, const char *call, shapecache_ticket asked)
{
    sc_text text = begin(arena);

    sc_text_string(&text, "wrong order of offload/onload: ");
    sc_text_string(&text, call);
    add(&text, " asked for ticket ", asked.number);
    say_top(&text, arena, asked);
    (void)sc_text_terminate(&text);
    arena->counters.wrong_order++;
    return SHAPECACHE_EORDER;
}

shapecache_status sc_arena_say_moment(sc_arena *arena, shapecache_arena_moment asked)
{
    const sc_entry *top = sc_stack_top(&arena->stack);
    sc_text text = begin(arena);

    add(&text, "wrong order of offload/onload: rewind to ticket ", asked.number);
    add(&text, " at depth ", asked.depth);
    sc_text_string(&text, ", but the stack has been below that since: it now has ");
    add(&text, "depth ", arena->stack.count);
    add(&text, " with ticket ", top ? top->number : 0);
    sc_text_string(&text, " on top");
    (void)sc_text_terminate(&text);
    arena->counters.wrong_order++;
    return SHAPECACHE_EORDER;
}

shapecache_status sc_arena_say_depth(sc_arena *arena, uint32_t asked)
{
    sc_text text = begin(arena);

    add(&text, "there is no ticket ", asked);
    add(&text, " below the top of a stack of ", arena->stack.count);
    (void)sc_text_terminate(&text);
    arena->counters.wrong_order++;
    return SHAPECACHE_EORDER;
}

shapecache_status sc_arena_say_mismatch(sc_arena *arena, const sc_entry *entry, const char *what,
                                        uint64_t was, uint64_t asked)
{
    sc_text text = begin(arena);

    add(&text, "ticket ", entry->number);
    sc_text_string(&text, " has ");
    sc_text_string(&text, what);
    add(&text, " ", was);
    add(&text, ", but it was asked for with ", asked);
    (void)sc_text_terminate(&text);
    arena->counters.mismatched++;
    return SHAPECACHE_EMISMATCH;
}

shapecache_status sc_arena_say_full(sc_arena *arena, uint64_t bytes)
{
    sc_text text = sc_text_over(arena->error, sizeof arena->error);

    sc_text_string(&text, "activation arena is full: ");
    size(&text, "need ", sc_stack_aligned(bytes));
    size(&text, ", have ", arena->stack.capacity - arena->stack.used);
    size(&text, " of ", arena->stack.capacity);
    size(&text, ", peak demand so far ", arena->stack.demand_peak);
    sc_text_string(&text, "; set ");
    sc_text_string(&text, arena->setting);
    add(&text, " to at least ", arena->stack.demand_peak);
    if (!is_default(arena->name)) {
        sc_text_string(&text, " (arena ");
        sc_text_string(&text, arena->name);
        sc_text_char(&text, ')');
    }
    (void)sc_text_terminate(&text);
    arena->counters.full++;
    return SHAPECACHE_EFULL;
}

static void say_limits(sc_text *text)
{
    struct rlimit memlock = {.rlim_cur = RLIM_INFINITY};
    uint64_t group = sc_cgroup_memory("/proc/self/cgroup", "/sys/fs/cgroup");

    (void)getrlimit(RLIMIT_MEMLOCK, &memlock);
    sc_text_string(text, "; limits: ulimit -l (memlock) ");
    if (memlock.rlim_cur == RLIM_INFINITY)
        sc_text_string(text, "unlimited");
    else
        sc_text_size(text, memlock.rlim_cur);
    sc_text_string(text, ", control group memory ");
    if (group)
        sc_text_size(text, group);
    else
        sc_text_string(text, "unlimited");
}

shapecache_status sc_arena_say_pinned(sc_arena *arena, uint64_t bytes, int result)
{
    sc_text text = begin(arena);

    size(&text, "", bytes);
    sc_text_string(&text, " of host memory could not be page-locked (this is not GPU memory): ");
    add(&text, "the CUDA driver answered ", (uint64_t)result);
    sc_text_string(&text, " to cuMemHostRegister");
    say_limits(&text);
    sc_text_string(&text, "; raise the limit, or lower ");
    sc_text_string(&text, arena->setting);
    (void)sc_text_terminate(&text);
    return SHAPECACHE_EPINNED;
}
