/* SPDX-License-Identifier: MIT
 * library.c - see library.h. */
#include "library.h"

#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../internal.h"

#define SLOTS ((size_t)1 << 20)

typedef struct slot {
    bool live;
    CUstream stream;
    CUcontext context; /* current when it was made; NULL: none was */
    void *data;
    void (*release)(void *data);
    struct slot *next; /* free ones */
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static slot *slots; /* reserved with the first handle, never given back */
static size_t used; /* slots that were ever handed out */
static slot *unused;

static _Atomic uint64_t counts[SIMLIB_CALLS];
static unsigned char is_unsupported[SIMLIB_CALLS];
static _Atomic(CUkernel) kernels[SIMLIB_CALLS];

static struct {
    PFN_cuGetProcAddress_v12000 resolve;
    PFN_cuInit_v2000 init;
    PFN_cuCtxGetCurrent_v4000 get_current;
    PFN_cuCtxSetCurrent_v4000 set_current;
    PFN_cuDevicePrimaryCtxRetain_v7000 retain;
    PFN_cuLibraryLoadData_v12000 load;
    PFN_cuLibraryGetKernel_v12000 get_kernel;
    PFN_cuLaunchKernel_v4000 launch;
} driver;
static pthread_once_t bound = PTHREAD_ONCE_INIT;
static bool is_bound;
static CUlibrary image; /* of all kernels */

static bool ask(const char *name, int version, void **function)
{
    *function = NULL;
    return driver.resolve(name, function, version, 0, NULL) == CUDA_SUCCESS && *function;
}

static bool resolve_all(void)
{
    const struct {
        const char *name;
        int version;
        void *to;
    } wanted[] = {
        {"cuInit", 2000, &driver.init},
        {"cuCtxGetCurrent", 4000, &driver.get_current},
        {"cuCtxSetCurrent", 4000, &driver.set_current},
        {"cuDevicePrimaryCtxRetain", 7000, &driver.retain},
        {"cuLibraryLoadData", 12000, &driver.load},
        {"cuLibraryGetKernel", 12000, &driver.get_kernel},
        {"cuLaunchKernel", 4000, &driver.launch},
    };

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!ask(wanted[i].name, wanted[i].version, wanted[i].to))
            return false;
    return true;
}

static void bind(void)
{
    static const simcuda_counters counters = {simlib_call_names, is_unsupported, counts,
                                              SIMLIB_CALLS};
    static const char bytes[] = "kernels of a stand-in";
    void *libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void (*report)(const simcuda_counters *) = NULL;

    if (libcuda) {
        *(void **)&report = dlsym(libcuda, "simcuda_report_counters");
        *(void **)&driver.resolve = dlsym(libcuda, "cuGetProcAddress_v2");
    }
    if (report)
        report(&counters);
    is_bound = driver.resolve && resolve_all() && driver.init(0) == CUDA_SUCCESS &&
               driver.load(&image, bytes, NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS;
}

static void enter(enum simlib_call call)
{
    pthread_once(&bound, bind);
    atomic_fetch_add_explicit(&counts[call], 1, memory_order_relaxed);
}

int simlib_ok(enum simlib_call call)
{
    enter(call);
    return SIMLIB_SUCCESS;
}

int simlib_unsupported(enum simlib_call call)
{
    is_unsupported[call] = 1;
    enter(call);
    return SIMLIB_NOT_SUPPORTED;
}

void simlib_write(uintptr_t out, size_t width, uint64_t value)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an argument taken as an integer */
    void *to = (void *)out;

    if (to)
        memcpy(to, &value, width); /* the low bytes come first */
}

/* The live slot that a word names, NULL: none. */
static slot *find_locked(uintptr_t word)
{
    size_t index = SLOTS;

    if (!slots)
        return NULL;
    if (SIMLIB_NUMBERED)
        index = (size_t)(uint32_t)word - 1;
    else if (word >= (uintptr_t)slots && (word - (uintptr_t)slots) % sizeof(slot) == 0)
        index = (word - (uintptr_t)slots) / sizeof(slot);
    return index < used && slots[index].live ? &slots[index] : NULL;
}

static slot *take_locked(void)
{
    slot *taken = unused;

    if (!slots) {
        void *range = mmap(NULL, SLOTS * sizeof(slot), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        slots = range == MAP_FAILED ? NULL : range;
    }
    if (taken)
        unused = taken->next;
    else if (slots && used < SLOTS)
        taken = &slots[used++];
    return taken;
}

int simlib_create(enum simlib_call call, uintptr_t out, size_t width)
{
    CUcontext context = NULL;
    slot *taken;
    uintptr_t word = 0;

    enter(call);
    if (!out)
        return SIMLIB_INVALID;
    if (is_bound)
        driver.get_current(&context);
    pthread_mutex_lock(&lock);
    taken = take_locked();
    if (taken) {
        *taken = (slot){.live = true, .context = context};
        word = SIMLIB_NUMBERED ? (uintptr_t)(taken - slots) + 1 : (uintptr_t)taken;
    }
    pthread_mutex_unlock(&lock);
    if (!taken)
        return SIMLIB_FAILED;
    simlib_write(out, width, word);
    return SIMLIB_SUCCESS;
}

int simlib_destroy(enum simlib_call call, uintptr_t handle)
{
    slot *found;

    enter(call);
    pthread_mutex_lock(&lock);
    found = find_locked(handle);
    if (found) {
        if (found->data)
            found->release(found->data);
        *found = (slot){.next = unused};
        unused = found;
    }
    pthread_mutex_unlock(&lock);
    return handle && !found ? SIMLIB_INVALID : SIMLIB_SUCCESS;
}

int simlib_set_stream(enum simlib_call call, uintptr_t handle, uintptr_t stream)
{
    slot *found;

    enter(call);
    pthread_mutex_lock(&lock);
    found = find_locked(handle);
    if (found)
        found->stream = (CUstream)stream; /* NOLINT(performance-no-int-to-ptr) */
    pthread_mutex_unlock(&lock);
    return found ? SIMLIB_SUCCESS : SIMLIB_INVALID;
}

int simlib_get_stream(enum simlib_call call, uintptr_t handle, uintptr_t out)
{
    const slot *found;
    uintptr_t stream = 0;

    enter(call);
    pthread_mutex_lock(&lock);
    found = find_locked(handle);
    if (found)
        stream = (uintptr_t)found->stream;
    pthread_mutex_unlock(&lock);
    if (!found)
        return SIMLIB_INVALID;
    simlib_write(out, sizeof stream, stream);
    return SIMLIB_SUCCESS;
}

void *simlib_data(uintptr_t handle, size_t bytes, void (*release)(void *data))
{
    slot *found;
    void *data = NULL;

    pthread_mutex_lock(&lock);
    found = find_locked(handle);
    if (found && !found->data) {
        found->data = calloc(1, bytes);
        found->release = release ? release : free;
    }
    if (found)
        data = found->data;
    pthread_mutex_unlock(&lock);
    return data;
}

/* A thread without a context is given one, as any call of the real library would: the handle's, or
 * the first device's primary one. */
static CUresult have_context(CUcontext wanted)
{
    CUcontext current = NULL;
    CUresult result = driver.get_current(&current);

    if (result != CUDA_SUCCESS || current)
        return result;
    if (!wanted)
        result = driver.retain(&wanted, 0);
    return result == CUDA_SUCCESS ? driver.set_current(wanted) : result;
}

static int launch(enum simlib_call call, CUcontext context, CUstream stream)
{
    CUkernel kernel = atomic_load(&kernels[call]);
    CUresult result;

    if (!is_bound)
        return SIMLIB_FAILED;
    result = have_context(context);
    if (result == CUDA_SUCCESS && !kernel) {
        result = driver.get_kernel(&kernel, image, simlib_call_names[call]);
        if (result == CUDA_SUCCESS) /* the same one for every thread that asks */
            atomic_store(&kernels[call], kernel);
    }
    if (result == CUDA_SUCCESS)
        result = driver.launch((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    return result == CUDA_SUCCESS ? SIMLIB_SUCCESS : SIMLIB_FAILED;
}

int simlib_work(enum simlib_call call, uintptr_t handle)
{
    slot known = {0};
    const slot *found;

    enter(call);
    pthread_mutex_lock(&lock);
    found = find_locked(handle);
    if (found)
        known = *found;
    pthread_mutex_unlock(&lock);
    return found ? launch(call, known.context, known.stream) : SIMLIB_INVALID;
}

int simlib_work_on(enum simlib_call call, uintptr_t stream)
{
    enter(call);
    return launch(call, NULL, (CUstream)stream); /* NOLINT(performance-no-int-to-ptr) */
}

int simlib_property(enum simlib_call call, uintptr_t part, uintptr_t out)
{
    static const unsigned version[] = {SIMLIB_MAJOR, SIMLIB_MINOR, SIMLIB_PATCH};

    enter(call);
    if ((unsigned)part >= sizeof version / sizeof *version || !out)
        return SIMLIB_INVALID;
    simlib_write(out, sizeof(int), version[(unsigned)part]);
    return SIMLIB_SUCCESS;
}

const char *simlib_text(enum simlib_call call)
{
    enter(call);
    return "a status of the simulated GPU's libraries";
}

simlib_function simlib_driver(const char *name, int version)
{
    simlib_function function = NULL;

    pthread_once(&bound, bind);
    return is_bound && ask(name, version, (void **)&function) ? function : NULL;
}
