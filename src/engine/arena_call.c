/* SPDX-License-Identifier: MIT */
#include "engine/arena_call.h"
#include "arena/say.h"
#include "base/text.h"
#include "engine/arena_log.h"
#include "engine/gift.h"
#include "engine/process.h"
#include "engine/spared.h"
#include "engine/thread.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct {
    sc_mutex lock;
    shapecache_arena *first;
    shapecache_arena_info gone; /* sums of those of them that were destroyed */
    unsigned count;             /* all there ever were that may speak */
    char error[SC_ARENA_ERROR_BYTES];
} all;

/* A signal handler, in a thread that holds a lock of ours: nothing else calls us from there. It
 * goes without the sentence. */
static bool is_interrupting(void)
{
    return sc_thread_self.locks != 0;
}

static void copy_words(char *to, size_t bytes, const char *from)
{
    size_t length = sc_text_fitting(from, strlen(from), bytes - 1);

    memcpy(to, from, length);
    to[length] = '\0';
}

void sc_arena_set_last(const char *sentence)
{
    if (is_interrupting())
        return;
    sc_lock(&all.lock);
    copy_words(all.error, sizeof all.error, sentence);
    sc_unlock(&all.lock);
}

void sc_arena_get_last(char *out, size_t bytes)
{
    *out = '\0';
    if (is_interrupting())
        return;
    sc_lock(&all.lock);
    copy_words(out, bytes, all.error);
    sc_unlock(&all.lock);
}

void sc_arena_get_error(shapecache_arena *arena, char *out, size_t bytes)
{
    *out = '\0';
    if (is_interrupting())
        return;
    sc_lock(&arena->words);
    copy_words(out, bytes, arena->error);
    sc_unlock(&arena->words);
}

static shapecache_status refuse(shapecache_arena *arena, shapecache_status status, const char *why)
{
    char bytes[SC_ARENA_ERROR_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    sc_arena_say_name(&text, arena->core.name);
    sc_text_string(&text, why);
    (void)sc_text_terminate(&text);
    sc_lock(&arena->words);
    copy_words(arena->error, sizeof arena->error, bytes);
    sc_unlock(&arena->words);
    return status;
}

/* A wiped page tells a child without a system call, where there is one. */
static bool is_own_process(const shapecache_arena *arena)
{
    const volatile unsigned char *page = sc_process_self.parent_page;

    return page ? *page != 0 : getpid() == arena->pid;
}

/* Makes the arena's context current. */
static bool enter_context(sc_arena_call *call)
{
    const sc_driver *driver = sc_process_driver();
    sc_context current = 0;

    if (driver->context_current(&current) == SC_CUDA_SUCCESS && current == call->arena->context)
        return true;
    call->is_pushed = driver->context_push(call->arena->context) == SC_CUDA_SUCCESS;
    return call->is_pushed;
}

static shapecache_status look(sc_arena_call *call, sc_arena_need need)
{
    shapecache_arena *arena = call->arena;

    if (need == SC_ARENA_NEEDS_NOTHING)
        return SHAPECACHE_OK;
    if (sc_process_is_capturing())
        return refuse(arena, SHAPECACHE_ECAPTURE,
                      "a stream capture is open in this process; the stack is as it was");
    if (atomic_load(&arena->is_orphan))
        return refuse(arena, SHAPECACHE_EDEVICE, "the context it was made in has ended");
    if (!enter_context(call))
        return refuse(arena, SHAPECACHE_EDEVICE,
                      "the context it was made in cannot be made current");
    return SHAPECACHE_OK;
}

shapecache_status sc_arena_begin(sc_arena_call *call, shapecache_arena *arena, sc_arena_need need)
{
    shapecache_status status;

    *call = (sc_arena_call){.arena = arena, .saved_errno = errno};
    if (!arena)
        return SHAPECACHE_EVALUE;
    if (sc_thread_self.is_inside || sc_thread_self.locks || !is_own_process(arena))
        return SHAPECACHE_EOFF;
    if (atomic_exchange_explicit(&arena->is_busy, true, memory_order_acquire)) {
        (void)atomic_fetch_add(&arena->refused, 1);
        return refuse(arena, SHAPECACHE_EBUSY,
                      "a call came while another thread's was running; nothing was changed");
    }
    sc_thread_self.is_inside = true;
    status = look(call, need);
    if (status) {
        sc_thread_self.is_inside = false;
        atomic_store_explicit(&arena->is_busy, false, memory_order_release);
    }
    errno = call->saved_errno;
    return status;
}

shapecache_status sc_arena_end(const sc_arena_call *call, shapecache_status status)
{
    shapecache_arena *arena = call->arena;

    if (call->is_pushed)
        (void)sc_process_driver()->context_pop();
    if (status) {
        sc_lock(&arena->words);
        copy_words(arena->error, sizeof arena->error, arena->core.error);
        sc_unlock(&arena->words);
    }
    sc_thread_self.is_inside = false;
    atomic_store_explicit(&arena->is_busy, false, memory_order_release);
    errno = call->saved_errno;
    return status;
}

static void read_counts(const shapecache_arena *arena, shapecache_arena_info *info)
{
    sc_arena_inform(&arena->core, info);
    info->given = arena->given;
    info->waits = arena->waits;
    info->wait_ns = arena->wait_ns;
    info->given_pending = sc_gifts_pending();
    info->busy = atomic_load(&arena->refused);
}

static void put_spared(const sc_spared *spared, shapecache_arena_info *info)
{
    info->spared = spared->bytes;
    info->live_without = spared->without;
    info->spared_unknown = (shapecache_arena_doubt)spared->doubt;
}

static void read_spared(int device, shapecache_arena_info *info)
{
    sc_spared spared;

    sc_spared_read(device, &spared);
    put_spared(&spared, info);
}

void sc_arena_read(const shapecache_arena *arena, shapecache_arena_info *info)
{
    read_counts(arena, info);
    read_spared(arena->device, info);
}

static bool is_quiet(const shapecache_arena *arena)
{
    return arena->core.config.flags & SHAPECACHE_ARENA_QUIET;
}

void sc_arenas_add(shapecache_arena *arena)
{
    sc_lock(&all.lock);
    arena->next = all.first;
    all.first = arena;
    all.count += !is_quiet(arena);
    sc_unlock(&all.lock);
}

void sc_arenas_remove(shapecache_arena *arena)
{
    shapecache_arena_info info;

    read_counts(arena, &info);
    sc_lock(&all.lock);
    for (shapecache_arena **at = &all.first; *at; at = &(*at)->next) {
        if (*at != arena)
            continue;
        *at = arena->next;
        break;
    }
    if (!is_quiet(arena))
        sc_arena_add(&all.gone, &info);
    sc_unlock(&all.lock);
}

/* A copy of the n-th arena's figures, which are as good as they are where another thread uses it.
 */
static bool read_nth(unsigned n, char name[SC_ARENA_NAME_BYTES], int *device,
                     shapecache_arena_info *info)
{
    sc_lock(&all.lock);
    const shapecache_arena *arena = all.first;

    while (arena && n--)
        arena = arena->next;
    if (arena) {
        copy_words(name, SC_ARENA_NAME_BYTES, arena->core.name);
        *device = arena->device;
        read_counts(arena, info);
    }
    sc_unlock(&all.lock);
    if (arena)
        read_spared(*device, info);
    return arena != NULL;
}

void sc_arenas_record(void)
{
    char name[SC_ARENA_NAME_BYTES];
    shapecache_arena_info info;
    int device;

    for (unsigned i = 0; read_nth(i, name, &device, &info); i++)
        sc_arena_record(name, device, "end", &info);
}

void sc_arenas_say(void)
{
    shapecache_arena_info sum, info;
    sc_spared spared;

    sc_lock(&all.lock);
    unsigned count = all.count;

    sum = all.gone;
    for (const shapecache_arena *arena = all.first; arena; arena = arena->next) {
        if (is_quiet(arena))
            continue;
        read_counts(arena, &info);
        sc_arena_add(&sum, &info);
    }
    sc_unlock(&all.lock);
    sc_spared_sum(&spared);
    put_spared(&spared, &sum);
    sc_arena_say_end(&sum, count);
}

void sc_arenas_context_ends(sc_context context)
{
    sc_lock(&all.lock);
    for (shapecache_arena *arena = all.first; arena; arena = arena->next)
        if (arena->context == context)
            atomic_store(&arena->is_orphan, true);
    sc_unlock(&all.lock);
}
