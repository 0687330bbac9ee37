/* SPDX-License-Identifier: MIT */
#include "engine/thread.h"
#include "support/fake_state.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_CONTEXT = 201, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713 };

struct fake_state fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local sc_context stack[DEPTH];
static _Thread_local unsigned depth; /* 0: no context is current */

/* Counts the call; the error it must answer with, or 0. Under the lock. */
static int enter(fake_call kind)
{
    fake.was_under_lock |= sc_thread_self.locks != 0;
    fake.counts[kind]++;
    fake.calls++;
    if (fake.fail_at && --fake.fail_at == 0)
        return fake.fail_result;
    if (fake.kind_times[kind]) {
        fake.kind_times[kind]--;
        return fake.kind_result[kind];
    }
    return 0;
}

static fake_context *find_context(sc_context context)
{
    if (context == 0 || context > fake.context_count || !fake.contexts[context - 1].is_alive)
        return NULL;
    return &fake.contexts[context - 1];
}

static fake_context *current(void)
{
    return depth ? find_context(stack[depth - 1]) : NULL;
}

/* A dead block of this size, else a new one. */
static fake_block *find_room(uint64_t bytes)
{
    for (unsigned i = fake.block_count; i-- > 0;)
        if (!fake.blocks[i].is_live && fake.blocks[i].bytes == bytes)
            return &fake.blocks[i];
    if (fake.block_count == BLOCKS)
        return NULL;
    fake_block *fresh = &fake.blocks[fake.block_count++];

    fresh->address = fake.next;
    fresh->bytes = bytes;
    fake.next += (bytes + 511) / 512 * 512;
    return fresh;
}

static int mem_alloc(sc_address *address, size_t bytes)
{
    take();
    int result = enter(FAKE_MEM_ALLOC);
    const fake_context *context = current();

    if (!result && !context)
        result = INVALID_CONTEXT;
    else if (!result && (bytes == 0 || !address))
        result = SC_CUDA_INVALID_VALUE;
    else if (!result && bytes > fake.memory - fake.others - fake.used[context->device])
        result = SC_CUDA_OUT_OF_MEMORY;
    fake_block *room = result ? NULL : find_room(bytes);

    if (room) {
        room->is_live = true;
        room->context = stack[depth - 1];
        fake.used[context->device] += bytes;
        *address = room->address;
    } else if (!result) {
        result = SC_CUDA_OUT_OF_MEMORY;
    }
    give();
    return result;
}

fake_block *fake_find_live(sc_address address)
{
    for (unsigned i = 0; i < fake.block_count; i++)
        if (fake.blocks[i].is_live && fake.blocks[i].address == address)
            return &fake.blocks[i];
    return NULL;
}

static void kill_block(fake_block *dead)
{
    dead->is_live = false;
    fake.used[fake.contexts[dead->context - 1].device] -= dead->bytes;
}

static void (*free_hook(void))(void)
{
    take();
    void (*call)(void) = fake.on_free;

    give();
    return call;
}

static int mem_free(sc_address address)
{
    void (*call)(void) = free_hook();

    if (call)
        call();
    take();
    int result = enter(FAKE_MEM_FREE);
    fake_block *found = fake_find_live(address);

    if (!result && address && !found)
        result = SC_CUDA_INVALID_VALUE;
    else if (!result && found)
        kill_block(found);
    give();
    return result;
}

static int mem_info(size_t *free_bytes, size_t *total_bytes)
{
    take();
    int result = enter(FAKE_MEM_INFO);
    const fake_context *context = current();

    if (!result && !context)
        result = INVALID_CONTEXT;
    if (!result) {
        *free_bytes = fake.memory - fake.others - fake.used[context->device];
        *total_bytes = fake.memory;
    }
    give();
    return result;
}

static int mem_range(sc_address *base, size_t *bytes, sc_address inside)
{
    take();
    int result = enter(FAKE_MEM_RANGE);
    bool is_found = false;

    for (unsigned i = 0; !result && i < fake.block_count; i++) {
        const fake_block *one = &fake.blocks[i];

        if (!one->is_live || inside < one->address || inside - one->address >= one->bytes)
            continue;
        *base = one->address;
        *bytes = one->bytes;
        is_found = true;
    }
    give();
    return result ? result : is_found ? SC_CUDA_SUCCESS : SC_CUDA_INVALID_VALUE;
}

static int context_current(sc_context *context)
{
    take();
    int result = enter(FAKE_CONTEXT_CURRENT);

    if (!result)
        *context = depth ? stack[depth - 1] : 0;
    give();
    return result;
}

static int context_device(int *device)
{
    take();
    int result = enter(FAKE_CONTEXT_DEVICE);
    const fake_context *context = current();

    if (!result && !context)
        result = INVALID_CONTEXT;
    if (!result)
        *device = context->device;
    give();
    return result;
}

static int context_push(sc_context context)
{
    take();
    int result = enter(FAKE_CONTEXT_PUSH);

    if (!result && (!find_context(context) || depth == DEPTH))
        result = INVALID_CONTEXT;
    if (!result)
        stack[depth++] = context;
    give();
    return result;
}

/* A pop that fails reports an earlier, asynchronous error: it pops all the same. */
static int context_pop(void)
{
    take();
    int result = enter(FAKE_CONTEXT_POP);

    if (depth)
        depth--;
    else if (!result)
        result = INVALID_CONTEXT;
    give();
    return result;
}

static int context_wait(void)
{
    take();
    int result = enter(FAKE_CONTEXT_WAIT);
    void (*call)(void) = fake.on_wait;

    if (!result && !current())
        result = INVALID_CONTEXT;
    if (!result)
        fake.last_waited = stack[depth - 1];
    give();
    if (call)
        call();
    return result;
}

static const void **find_registered(const void *memory)
{
    for (unsigned i = 0; i < REGISTERED; i++)
        if (fake.registered[i] == memory)
            return &fake.registered[i];
    return NULL;
}

static int host_register(void *memory, size_t bytes)
{
    take();
    int result = enter(FAKE_HOST_REGISTER);
    const void **unused = find_registered(NULL);

    if (!result && !current())
        result = INVALID_CONTEXT;
    if (!result && (!memory || !bytes || !unused))
        result = SC_CUDA_INVALID_VALUE;
    if (!result && find_registered(memory))
        result = ALREADY_REGISTERED;
    if (!result)
        *unused = memory;
    give();
    return result;
}

static int host_unregister(void *memory)
{
    take();
    int result = enter(FAKE_HOST_UNREGISTER);
    const void **entry = memory ? find_registered(memory) : NULL;

    if (!result && !current())
        result = INVALID_CONTEXT;
    if (!result && !entry)
        result = NOT_REGISTERED;
    if (!result)
        *entry = NULL;
    give();
    return result;
}

const sc_driver fake_driver = {
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .mem_info = mem_info,
    .mem_range = mem_range,
    .context_current = context_current,
    .context_device = context_device,
    .context_push = context_push,
    .context_pop = context_pop,
    .context_wait = context_wait,
    .host_register = host_register,
    .host_unregister = host_unregister,
};

void fake_init(uint64_t memory)
{
    take();
    fake.memory = memory;
    fake.others = 0;
    memset(fake.used, 0, sizeof fake.used);
    memset(fake.registered, 0, sizeof fake.registered);
    fake.block_count = 0;
    fake.next = UINT64_C(0x7f0000000000);
    fake.context_count = 0;
    fake.calls = 0;
    memset(fake.counts, 0, sizeof fake.counts);
    give();
    for (int device = 0; device < DEVICES; device++)
        (void)fake_new_context(device);
    fake_set_current(fake_primary(0));
}

sc_context fake_primary(int device)
{
    return (sc_context)device + 1;
}

sc_context fake_new_context(int device)
{
    take();
    if (fake.context_count == CONTEXTS)
        abort();
    fake.contexts[fake.context_count++] = (fake_context){.device = device, .is_alive = true};
    sc_context made = fake.context_count;

    give();
    return made;
}

void fake_set_current(sc_context context)
{
    depth = context != 0;
    stack[0] = context;
}

sc_context fake_get_current(void)
{
    return depth ? stack[depth - 1] : 0;
}

void fake_end_context(sc_context context)
{
    take();
    for (unsigned i = 0; i < fake.block_count; i++)
        if (fake.blocks[i].is_live && fake.blocks[i].context == context)
            kill_block(&fake.blocks[i]);
    fake.contexts[context - 1].is_alive = false;
    give();
}

void fake_revive_context(sc_context context, int device)
{
    take();
    fake.contexts[context - 1] = (fake_context){.device = device, .is_alive = true};
    give();
}

void fake_take_memory(uint64_t bytes)
{
    take();
    fake.others = bytes;
    give();
}

void fake_fail_at(unsigned n, int result)
{
    take();
    fake.fail_at = n;
    fake.fail_result = result;
    give();
}

void fake_fail_kind(fake_call kind, unsigned times, int result)
{
    take();
    fake.kind_times[kind] = times;
    fake.kind_result[kind] = result;
    give();
}
