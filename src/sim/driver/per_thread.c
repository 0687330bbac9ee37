/* SPDX-License-Identifier: MIT
 * per_thread.c - what a stream handle means, and the default streams that belong to threads.
 *
 * A thread's default stream exists from its first use in a context until the thread or the context
 * ends, whichever comes first. */
#include <pthread.h>

#include "context.h"
#include "lock.h"
#include "process.h"
#include "stream.h"

static _Thread_local bool used; /* did the calling thread ever use a stream of its own? */
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

/* A thread that used its default streams ends: they finish their work and go. */
static void thread_ends(void *unused)
{
    uint64_t thread = sim_process_thread();
    struct sim_stream *next;

    (void)unused;
    if (sim_process_forked())
        return;
    sim_lock();
    for (struct sim_context *context = sim_contexts_locked(); context; context = context->next)
        for (struct sim_stream *stream = context->streams; stream; stream = next) {
            next = stream->next;
            if (stream->role == SIM_STREAM_PER_THREAD && stream->thread == thread &&
                !stream->closed)
                sim_stream_close_locked(stream);
        }
    sim_unlock();
}

static void make_key(void)
{
    pthread_key_create(&key, thread_ends);
}

static struct sim_stream *own_stream(struct sim_context *context)
{
    uint64_t thread = sim_process_thread();
    struct sim_stream *stream;

    if (!used) {
        pthread_once(&key_once, make_key);
        pthread_setspecific(key, &used); /* any value but NULL */
        used = true;
    }
    for (stream = context->streams; stream; stream = stream->next)
        if (stream->role == SIM_STREAM_PER_THREAD && stream->thread == thread && !stream->closed)
            return stream;
    stream = sim_stream_new_locked(context, SIM_STREAM_PER_THREAD, CU_STREAM_DEFAULT, 0);
    if (stream)
        stream->thread = thread;
    return stream;
}

CUresult sim_stream_find_locked(struct sim_context *context, CUstream handle, bool per_thread,
                                struct sim_stream **stream)
{
    if (!context->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (!handle)
        handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (handle == CU_STREAM_LEGACY) {
        *stream = context->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD) {
        *stream = own_stream(context);
        return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    *stream = sim_handle_find_locked(handle, SIM_STREAM);
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
