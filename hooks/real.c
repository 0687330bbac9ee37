/* SPDX-License-Identifier: MIT */
#include "real.h"
#include "bootstrap.h"
#include "copies.h"
#include "engine/engine.h"
#include "glibc.h"
#include "objects.h"
#include "script.h"
#include "unwind.h"
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { STREAM_PLAIN, STREAM_LEGACY, STREAM_THREAD, STREAM_DEFAULT };

typedef struct row {
    const char *name;
    const char *base;
    int version;
    int stream;
    size_t offset; /* in sc_real */
    void *hook;    /* NULL: needed only */
} row;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored                                                                     \
    "-Wdeprecated-declarations" /* cuCtxDetach: programs may still call it */
static const row rows[] = {
#define HOOK(name, base, version, stream)                                                          \
    {#name, #base, version, STREAM_##stream, offsetof(sc_real, name), (void *)(uintptr_t)name},
#define SERVE(name, base, version, stream)                                                         \
    {#name,                                                                                        \
     #base,                                                                                        \
     version,                                                                                      \
     STREAM_##stream,                                                                              \
     offsetof(sc_real, name),                                                                      \
     (void *)(uintptr_t)sc_found_##name},
#define NEED(name, base, version, stream)                                                          \
    {#name, #base, version, STREAM_##stream, offsetof(sc_real, name), NULL},
#include "hooks.def"
};
#pragma GCC diagnostic pop

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static _Atomic(const sc_real *) published;

/* Called through pointers of other types: harmless where the caller clears the stack, as on
 * x86-64. */
static CUresult absent(void)
{
    return CUDA_ERROR_NOT_INITIALIZED;
}

#define ABSENT(name) .name = (__typeof__(((sc_real *)0)->name))(void (*)(void))absent

static const sc_real no_driver = {
#define HOOK(name, base, version, stream) ABSENT(name),
#define NEED(name, base, version, stream) ABSENT(name),
#include "hooks.def"
};

static void *pointer_in(const sc_real *real, const row *wanted)
{
    void *found;

    memcpy(&found, (const char *)real + wanted->offset, sizeof(found));
    return found == (void *)(uintptr_t)absent ? NULL : found;
}

/* The driver as the core sees it. */

static int driver_mem_alloc(sc_address *address, size_t bytes)
{
    CUdeviceptr given = 0;
    const CUresult result = sc_real_find()->cuMemAlloc_v2(&given, bytes);

    if (result == CUDA_SUCCESS)
        *address = given;
    return (int)result;
}

static int driver_mem_free(sc_address address)
{
    return (int)sc_real_find()->cuMemFree_v2(address);
}

static int driver_mem_info(size_t *free_bytes, size_t *total_bytes)
{
    return (int)sc_real_find()->cuMemGetInfo_v2(free_bytes, total_bytes);
}

static int driver_mem_range(sc_address *base, size_t *bytes, sc_address inside)
{
    CUdeviceptr start = 0;
    const CUresult result = sc_real_find()->cuMemGetAddressRange_v2(&start, bytes, inside);

    if (result == CUDA_SUCCESS)
        *base = start;
    return (int)result;
}

static int driver_context_current(sc_context *context)
{
    CUcontext current = NULL;
    const CUresult result = sc_real_find()->cuCtxGetCurrent(&current);

    if (result == CUDA_SUCCESS)
        *context = (sc_context)current;
    return (int)result;
}

static int driver_context_device(int *device)
{
    return (int)sc_real_find()->cuCtxGetDevice(device);
}

static int driver_context_push(sc_context context)
{
    return (int)sc_real_find()->cuCtxPushCurrent_v2((CUcontext)context);
}

static int driver_context_pop(void)
{
    CUcontext popped = NULL;

    return (int)sc_real_find()->cuCtxPopCurrent_v2(&popped);
}

static int driver_context_wait(void)
{
    return (int)sc_real_find()->cuCtxSynchronize();
}

static int driver_host_register(void *memory, size_t bytes)
{
    return (int)sc_real_find()->cuMemHostRegister_v2(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);
}

static int driver_host_unregister(void *memory)
{
    return (int)sc_real_find()->cuMemHostUnregister(memory);
}

static const sc_driver driver = {
    .mem_alloc = driver_mem_alloc,
    .mem_free = driver_mem_free,
    .mem_info = driver_mem_info,
    .mem_range = driver_mem_range,
    .context_current = driver_context_current,
    .context_device = driver_context_device,
    .context_push = driver_context_push,
    .context_pop = driver_context_pop,
    .context_wait = driver_context_wait,
    .host_register = driver_host_register,
    .host_unregister = driver_host_unregister,
};

static const sc_engine_host host = {.driver = &driver,
                                    .copies = &sc_copies_of_driver,
                                    .site_text = sc_object_text,
                                    .site_object = sc_object_file,
                                    .stack = sc_unwind,
                                    .script = sc_script_text};

/* Half a driver is not served: a cache that can allocate but not free would only do harm. */
static bool has_what_the_engine_needs(const sc_real *real)
{
    static const size_t needed[] = {
        offsetof(sc_real, cuMemAlloc_v2),       offsetof(sc_real, cuMemFree_v2),
        offsetof(sc_real, cuMemGetInfo_v2),     offsetof(sc_real, cuMemGetAddressRange_v2),
        offsetof(sc_real, cuCtxGetCurrent),     offsetof(sc_real, cuCtxGetDevice),
        offsetof(sc_real, cuCtxPushCurrent_v2), offsetof(sc_real, cuCtxPopCurrent_v2),
        offsetof(sc_real, cuCtxSynchronize),
    };

    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        const row wanted = {.offset = needed[i]};

        if (pointer_in(real, &wanted) == NULL)
            return false;
    }
    return true;
}

static void fill(sc_real *real, void *libcuda)
{
    const sc_dlsym look_up = sc_dlsym_next();

    *real = no_driver;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        void *found = look_up(libcuda, rows[i].name);

        if (found != NULL)
            memcpy((char *)real + rows[i].offset, &found, sizeof(found));
    }
    (void)dlerror(); /* the program's own look-up succeeded, so nothing of its own is pending */
    real->serves = has_what_the_engine_needs(real);
}

static const sc_real *look(void)
{
    const sc_real *winner = NULL;
    sc_object object;
    sc_real *made;
    void *libcuda;

    if (!sc_object_named("libcuda.so", &object) || sc_dlsym_next() == NULL)
        return &no_driver;
    made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return &no_driver;
    libcuda = sc_object_pin(&object);
    if (libcuda == NULL) {
        (void)munmap(made, sizeof(*made));
        return &no_driver;
    }
    fill(made, libcuda);
    if (made->serves)
        sc_engine_attach(&host);
    if (atomic_compare_exchange_strong_explicit(&published, &winner, made, memory_order_acq_rel,
                                                memory_order_acquire))
        return made;
    (void)munmap(made, sizeof(*made));
    return winner;
}

const sc_real *sc_real_find(void)
{
    const sc_real *real = atomic_load_explicit(&published, memory_order_acquire);

    return real != NULL ? real : look();
}

bool sc_real_is_watched(const sc_real *real)
{
    return real->serves && !sc_engine_is_inside();
}

void *sc_real_hook_of(const sc_real *real, const void *found)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].hook != NULL && pointer_in(real, &rows[i]) == found)
            return rows[i].hook;
    return NULL;
}

static bool resolves_to(const sc_real *real, const row *wanted, cuuint64_t flags, const void *found)
{
    CUdriverProcAddressQueryResult status;
    void *answer = NULL;
    CUresult result =
        real->cuGetProcAddress_v2(wanted->base, &answer, wanted->version, flags, &status);

    if (result == CUDA_ERROR_NOT_INITIALIZED) /* CUDA 11: no such function */
        result = real->cuGetProcAddress(wanted->base, &answer, wanted->version, flags);
    return result == CUDA_SUCCESS && answer == found;
}

void *sc_real_hook_of_resolved(const sc_real *real, const char *symbol, const void *found)
{
    void *hook = sc_real_hook_of(real, found);

    for (size_t i = 0; hook == NULL && i < ROW_COUNT; i++) {
        const row *at = &rows[i];
        const cuuint64_t flags = at->stream >= STREAM_THREAD
                                     ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                     : CU_GET_PROC_ADDRESS_LEGACY_STREAM;

        if (at->hook != NULL && pointer_in(real, at) != NULL && strcmp(at->base, symbol) == 0 &&
            resolves_to(real, at, flags, found))
            hook = at->hook;
    }
    return hook;
}
