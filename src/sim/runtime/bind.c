/* SPDX-License-Identifier: MIT
 * bind.c - see bind.h. */
#include "bind.h"

#include "counters.h"
#include "error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

simrt_driver simrt_driver_table;
simrt_driver simrt_per_thread_table;
simrt_simulator simrt_simulator_table;

/* Where each driver function's pointer goes. dlsym's void * becomes a function pointer by its
 * bytes, which POSIX promises and ISO C does not let one write as a cast. */
static const struct {
    const char *name;
    int version;
    bool has_twin;
    size_t offset;
} wanted[] = {
#define DRIVER(name, version) {#name, version, false, offsetof(simrt_driver, name)},
#define STREAM(name, version) {#name, version, true, offsetof(simrt_driver, name)},
#include "driver.def"
};

/* The driver has per-thread default streams since then. */
enum { PER_THREAD_SINCE = 7000 };

/* Until CUDA 11 the resolver did not say why it found nothing. */
#if SIMRT_VERSION < 12000
#define RESOLVER "cuGetProcAddress"
typedef PFN_cuGetProcAddress_v11030 resolver;
#else
#define RESOLVER "cuGetProcAddress_v2"
typedef PFN_cuGetProcAddress_v12000 resolver;
#endif

static pthread_once_t bind_once = PTHREAD_ONCE_INIT;
static pthread_once_t initialise_once = PTHREAD_ONCE_INIT;
static cudaError_t bind_result;
static cudaError_t initialise_result;
static _Atomic bool touched;

static CUresult missing(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static void store(void *where, void *function)
{
    memcpy(where, &function, sizeof(function));
}

static void *ask(resolver find, const char *name, int version, cuuint64_t flags)
{
    void *function = NULL;
#if SIMRT_VERSION < 12000
    CUresult result = find(name, &function, version, flags);
#else
    CUdriverProcAddressQueryResult found;
    CUresult result = find(name, &function, version, flags, &found);
#endif

    return result == CUDA_SUCCESS ? function : NULL;
}

static void resolve(resolver find, size_t row, simrt_driver *table, int version, cuuint64_t flags)
{
    char *slot = (char *)table + wanted[row].offset;
    void *function = ask(find, wanted[row].name, version, flags);
    CUresult (*fallback)(void) = missing;

    if (function != NULL)
        store(slot, function);
    else
        memcpy(slot, &fallback, sizeof(fallback));
}

static void resolve_all(resolver find)
{
    (void)ask(find, "", 0, CU_GET_PROC_ADDRESS_DEFAULT);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        resolve(find, i, &simrt_driver_table, wanted[i].version, CU_GET_PROC_ADDRESS_DEFAULT);
    simrt_per_thread_table = simrt_driver_table;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        int version = wanted[i].version;

        if (wanted[i].has_twin)
            resolve(find, i, &simrt_per_thread_table,
                    version < PER_THREAD_SINCE ? PER_THREAD_SINCE : version,
                    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    }
}

/* The driver's report reads our counters at exit. The shared library is marked never to be
 * unloaded; what the archive was linked into, a plugin, say, may not be. The program itself, which
 * has no name to open it by, stays anyway. */
static void stay_loaded(void)
{
    Dl_info self;

    if (dladdr(&simrt_counters, &self) != 0)
        (void)dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    (void)dlerror();
}

static void bind(void)
{
    resolver find = NULL;
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);

    bind_result = cudaErrorInsufficientDriver;
    if (handle == NULL)
        return;
    store(&find, dlsym(handle, RESOLVER));
    if (find == NULL) {
        dlclose(handle);
        return;
    }
    resolve_all(find);
    store(&simrt_simulator_table.report_counters, dlsym(handle, "simcuda_report_counters"));
    store(&simrt_simulator_table.mapped_bytes, dlsym(handle, "simcuda_mapped_bytes"));
    store(&simrt_simulator_table.allocated, dlsym(handle, "simcuda_allocated"));
    store(&simrt_simulator_table.freeing, dlsym(handle, "simcuda_freeing"));
    store(&simrt_simulator_table.freed, dlsym(handle, "simcuda_freed"));
    store(&simrt_simulator_table.kernel, dlsym(handle, "simcuda_kernel"));
    if (simrt_simulator_table.report_counters != NULL) {
        stay_loaded();
        simrt_simulator_table.report_counters(&simrt_counters);
    }
    bind_result = cudaSuccess;
}

cudaError_t simrt_bind(void)
{
    pthread_once(&bind_once, bind);
    return bind_result;
}

static void initialise(void)
{
    int version = 0;

    atomic_store(&touched, true);
    initialise_result = simrt_error(simrt_driver_table.cuInit(0));
    if (initialise_result != cudaSuccess)
        return;
    initialise_result = simrt_error(simrt_driver_table.cuDriverGetVersion(&version));
    if (initialise_result == cudaSuccess && version < SIMRT_VERSION / 1000 * 1000)
        initialise_result = cudaErrorInsufficientDriver;
}

cudaError_t simrt_bind_initialised(void)
{
    cudaError_t error = simrt_bind();

    if (error != cudaSuccess)
        return error;
    pthread_once(&initialise_once, initialise);
    return initialise_result;
}

bool simrt_bind_touched(void)
{
    return atomic_load(&touched);
}
