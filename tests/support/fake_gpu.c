/* SPDX-License-Identifier: MIT */
#include "support/fake_gpu.h"
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 16, EVENTS = 4096, REGISTERED = 4096, INVALID_HANDLE = 400 };

typedef struct mark {
    bool is_done;
    unsigned references;
} mark;

typedef enum kind { KERNEL, COPY, RECORD, WAIT } kind;

typedef struct op {
    struct op *next;
    kind kind;
    void (*run)(void *argument);
    void *argument;
    void *to;
    const void *from;
    size_t bytes;
    mark *mark;
} op;

typedef struct stream {
    bool is_there, is_delayed;
    op *first, **end;
} stream;

typedef struct event {
    bool is_there;
    mark *last; /* NULL: never recorded */
} event;

static struct {
    sc_random *random;
    stream streams[STREAMS]; /* handle: index + 1 */
    unsigned stream_count;
    event events[EVENTS]; /* handle: index + 1 */
    void *registered[REGISTERED];
    unsigned calls, fail_at, pushed;
    int fail_result;
    bool has_failed;
    uint64_t copied;
} gpu;

static int enter(void)
{
    gpu.calls++;
    if (!gpu.fail_at || --gpu.fail_at)
        return SC_CUDA_SUCCESS;
    gpu.has_failed = true;
    return gpu.fail_result;
}

static sc_stream make_stream(void)
{
    stream *made = &gpu.streams[gpu.stream_count++];

    if (gpu.stream_count > STREAMS)
        abort();
    made->is_there = true;
    made->end = &made->first;
    return gpu.stream_count;
}

sc_stream fake_gpu_stream(void)
{
    return make_stream();
}

static void drop_mark(mark *one)
{
    if (one && --one->references == 0)
        free(one);
}

static void put(sc_stream on, op what)
{
    op *made = malloc(sizeof *made);

    if (!made)
        abort();
    *made = what;
    made->next = NULL;
    *gpu.streams[on - 1].end = made;
    gpu.streams[on - 1].end = &made->next;
}

void fake_gpu_kernel(sc_stream on, void (*run)(void *argument), void *argument)
{
    put(on, (op){.kind = KERNEL, .run = run, .argument = argument});
}

static void run(stream *one)
{
    op *first = one->first;

    switch (first->kind) {
    case KERNEL:
        first->run(first->argument);
        break;
    case COPY:
        memcpy(first->to, first->from, first->bytes);
        gpu.copied += first->bytes;
        break;
    case RECORD:
        first->mark->is_done = true;
        break;
    case WAIT:
        break;
    }
    drop_mark(first->mark);
    one->first = first->next;
    if (!one->first)
        one->end = &one->first;
    free(first);
}

static void drop_queue(stream *one)
{
    while (one->first) {
        op *first = one->first;

        one->first = first->next;
        drop_mark(first->mark);
        free(first);
    }
}

void fake_gpu_init(sc_random *random)
{
    for (unsigned i = 0; i < gpu.stream_count; i++)
        drop_queue(&gpu.streams[i]);
    for (unsigned i = 0; i < EVENTS; i++)
        drop_mark(gpu.events[i].last);
    memset(&gpu, 0, sizeof gpu);
    gpu.random = random;
}

static bool can_run(const stream *one, bool is_patient)
{
    if (!one->first || (one->is_delayed && is_patient))
        return false;
    return one->first->kind != WAIT || one->first->mark->is_done;
}

static bool step(bool is_patient)
{
    unsigned able[STREAMS], count = 0;

    for (unsigned i = 0; i < gpu.stream_count; i++)
        if (can_run(&gpu.streams[i], is_patient))
            able[count++] = i;
    if (count)
        run(&gpu.streams[able[sc_random_below(gpu.random, count)]]);
    return count != 0;
}

bool fake_gpu_step(void)
{
    return step(true) || step(false);
}

void fake_gpu_finish(void)
{
    while (fake_gpu_step())
        ;
}

void fake_gpu_delay(unsigned which)
{
    gpu.streams[which].is_delayed = true;
}

void fake_gpu_fail_at(unsigned n, int result)
{
    gpu.fail_at = n;
    gpu.fail_result = result;
    gpu.has_failed = false;
}

unsigned fake_gpu_calls(void)
{
    return gpu.calls;
}

bool fake_gpu_has_failed(void)
{
    return gpu.has_failed;
}

unsigned fake_gpu_streams(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < gpu.stream_count; i++)
        count += gpu.streams[i].is_there;
    return count;
}

unsigned fake_gpu_events(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < EVENTS; i++)
        count += gpu.events[i].is_there;
    return count;
}

unsigned fake_gpu_registered(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < REGISTERED; i++)
        count += gpu.registered[i] != NULL;
    return count;
}

unsigned fake_gpu_pushed(void)
{
    return gpu.pushed;
}

uint64_t fake_gpu_copied(void)
{
    return gpu.copied;
}

/* The copy driver. */

static int stream_create(sc_stream *out)
{
    int result = enter();

    if (!result)
        *out = make_stream();
    return result;
}

static int stream_finish(sc_stream on)
{
    int result = enter();

    while (!result && gpu.streams[on - 1].first)
        if (!fake_gpu_step())
            abort(); /* a wait for what will never come */
    return result;
}

static int stream_destroy(sc_stream on)
{
    int result = enter();

    if (!result && !gpu.streams[on - 1].is_there)
        return INVALID_HANDLE;
    if (!result)
        gpu.streams[on - 1].is_there = false;
    return result;
}

static event *event_of(sc_gpu_event handle)
{
    return handle && handle <= EVENTS && gpu.events[handle - 1].is_there ? &gpu.events[handle - 1]
                                                                         : NULL;
}

static int stream_wait(sc_stream on, sc_gpu_event handle)
{
    int result = enter();
    const event *one = event_of(handle);

    if (!result && !one)
        return INVALID_HANDLE;
    if (!result && one->last) {
        one->last->references++;
        put(on, (op){.kind = WAIT, .mark = one->last});
    }
    return result;
}

static int event_create(sc_gpu_event *out)
{
    int result = enter();

    for (unsigned i = 0; !result && i < EVENTS; i++) {
        if (gpu.events[i].is_there)
            continue;
        gpu.events[i] = (event){.is_there = true};
        *out = i + 1;
        return result;
    }
    return result ? result : SC_CUDA_OUT_OF_MEMORY;
}

static int event_destroy(sc_gpu_event handle)
{
    int result = enter();
    event *one = event_of(handle);

    if (!result && !one)
        return INVALID_HANDLE;
    if (!result) {
        drop_mark(one->last);
        *one = (event){.is_there = false};
    }
    return result;
}

static int event_record(sc_gpu_event handle, sc_stream on)
{
    int result = enter();
    event *one = event_of(handle);

    if (!result && !one)
        return INVALID_HANDLE;
    if (result)
        return result;
    mark *made = calloc(1, sizeof *made);

    if (!made)
        abort();
    made->references = 2;
    drop_mark(one->last);
    one->last = made;
    put(on, (op){.kind = RECORD, .mark = made});
    return result;
}

static int event_query(sc_gpu_event handle)
{
    int result = enter();
    const event *one = event_of(handle);

    if (result)
        return result;
    if (!one)
        return INVALID_HANDLE;
    return !one->last || one->last->is_done ? SC_CUDA_SUCCESS : SC_CUDA_NOT_READY;
}

static int event_finish(sc_gpu_event handle)
{
    int result = enter();
    const event *one = event_of(handle);

    if (!result && !one)
        return INVALID_HANDLE;
    while (!result && one->last && !one->last->is_done)
        if (!fake_gpu_step())
            abort(); /* a wait for what will never come */
    return result;
}

static int copy(void *to, const void *from, size_t bytes, sc_stream on)
{
    int result = enter();

    if (!result)
        put(on, (op){.kind = COPY, .to = to, .from = from, .bytes = bytes});
    return result;
}

static int copy_out(void *host, sc_address device, size_t bytes, sc_stream on)
{
    return copy(host, (const void *)(uintptr_t)device, bytes, on);
}

static int copy_in(sc_address device, const void *host, size_t bytes, sc_stream on)
{
    return copy((void *)(uintptr_t)device, host, bytes, on);
}

static int copy_within(sc_address to, sc_address from, size_t bytes, sc_stream on)
{
    return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, on);
}

static int device_bus(char *out, int bytes, int device)
{
    int result = enter();

    (void)device;
    if (!result)
        (void)snprintf(out, (size_t)bytes, "0000:3B:00.0");
    return result;
}

const sc_copy_driver fake_gpu_copies = {
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_finish = stream_finish,
    .stream_wait = stream_wait,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_finish = event_finish,
    .copy_out = copy_out,
    .copy_in = copy_in,
    .copy_within = copy_within,
    .device_bus = device_bus,
};

static int host_register(void *memory, size_t bytes)
{
    int result = enter();

    (void)bytes;
    for (unsigned i = 0; !result && i < REGISTERED; i++) {
        if (gpu.registered[i])
            continue;
        gpu.registered[i] = memory;
        return result;
    }
    return result ? result : SC_CUDA_OUT_OF_MEMORY;
}

static int host_unregister(void *memory)
{
    int result = enter();

    for (unsigned i = 0; !result && i < REGISTERED; i++) {
        if (gpu.registered[i] != memory)
            continue;
        gpu.registered[i] = NULL;
        return result;
    }
    return result ? result : INVALID_HANDLE;
}

static int context_push(sc_context context)
{
    int result = enter();

    (void)context;
    gpu.pushed += !result;
    return result;
}

static int context_pop(void)
{
    int result = enter();

    gpu.pushed -= !result;
    return result;
}

const sc_driver fake_gpu_driver = {
    .host_register = host_register,
    .host_unregister = host_unregister,
    .context_push = context_push,
    .context_pop = context_pop,
};
