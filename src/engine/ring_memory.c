/* SPDX-License-Identifier: MIT */
#include "engine/ring_memory.h"
#include "engine/process.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic(pid_t) pinned_by; /* whoever pinned first; a child has another number */

/* NULL, and the context it was done in; or why not. */
static const char *pin(void *at, size_t bytes, sc_context *context)
{
    const sc_engine_host *host = atomic_load_explicit(&sc_process_self.host, memory_order_acquire);
    pid_t nobody = 0, self = getpid();

    if (!host)
        return "this process has not used a CUDA driver yet";
    if (sc_process_is_capturing())
        return "a stream capture is open";
    if (!atomic_compare_exchange_strong(&pinned_by, &nobody, self) && nobody != self)
        return "this is a forked child";
    if (host->driver->context_current(context) != SC_CUDA_SUCCESS || !*context)
        return "no CUDA context is current";
    if (host->driver->host_register(at, bytes) != SC_CUDA_SUCCESS) {
        *context = 0;
        return "the driver refused: see ulimit -l";
    }
    return NULL;
}

bool sc_ring_map(void *self, size_t bytes, sc_slab *slab)
{
    sc_ring_source *source = self;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return false;
    *slab = (sc_slab){.at = at, .bytes = bytes};
    if (!source->is_pinning)
        return true;
    const char *reason = pin(at, bytes, &slab->context);

    if (reason) {
        source->reason = reason;
        source->is_pinning = false;
    }
    return true;
}

/* In the context it was pinned in; with that context gone, so is the lock. */
static void unpin(const sc_slab *slab)
{
    const sc_driver *driver = sc_process_driver();

    if (atomic_load(&pinned_by) != getpid() ||
        driver->context_push(slab->context) != SC_CUDA_SUCCESS)
        return;
    (void)driver->host_unregister(slab->at);
    (void)driver->context_pop();
}

void sc_ring_unmap(const sc_slab *slab)
{
    if (slab->context)
        unpin(slab);
    (void)munmap(slab->at, slab->bytes);
}
