/* SPDX-License-Identifier: MIT */
#include "fake.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201 };
enum { BLOCKS = 1 << 16, STACK = 8, PER_THREAD = 2 };
enum { RESOLVED = 0, NOT_FOUND = 1 };

#define MEMORY  ((size_t)8 << 30)
#define ADDRESS ((uint64_t)0x7f0000000000)

typedef struct block {
    uint64_t address;
    size_t bytes;
    bool is_live;
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block blocks[BLOCKS];
static unsigned block_count;
static unsigned live_count;
static size_t live_bytes;
static size_t memory = MEMORY;
static uint64_t next_address = ADDRESS;

static _Thread_local uintptr_t contexts[STACK];
static _Thread_local unsigned
    depth; /* contexts[depth] is current; [0] is where SetCurrent writes */

static atomic_bool are_twins;
static atomic_bool does_reenter;
static atomic_int capture_status;
static atomic_int primary_count;
static atomic_uintptr_t foreign_stream;

/* Controls. */

EXPORT fake_twins_type fake_twins;
EXPORT fake_memory_type fake_memory;
EXPORT fake_live_type fake_live;
EXPORT fake_capture_type fake_capture;
EXPORT fake_primary_type fake_primary;
EXPORT fake_reenter_type fake_reenter;
EXPORT fake_foreign_type fake_foreign;

void fake_twins(bool are)
{
    atomic_store(&are_twins, are);
}

void fake_memory(size_t bytes)
{
    memory = bytes;
}

unsigned fake_live(void)
{
    unsigned count;

    (void)pthread_mutex_lock(&lock);
    count = live_count;
    (void)pthread_mutex_unlock(&lock);
    return count;
}

void fake_capture(int status)
{
    atomic_store(&capture_status, status);
}

void fake_primary(int count)
{
    atomic_store(&primary_count, count);
}

void fake_foreign(uintptr_t stream)
{
    atomic_store(&foreign_stream, stream);
}

void fake_reenter(bool does)
{
    atomic_store(&does_reenter, does);
}

/* Memory. */

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes);
EXPORT int cuMemFree_v2(uint64_t address);
EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
EXPORT int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t inside);

static block *block_for(size_t bytes)
{
    block *made;

    for (unsigned i = block_count; i-- > 0;)
        if (!blocks[i].is_live && blocks[i].bytes == bytes)
            return &blocks[i];
    if (block_count == BLOCKS)
        return NULL;
    made = &blocks[block_count++];
    *made = (block){.address = next_address, .bytes = bytes};
    next_address += (bytes + 0x1fffff) & ~(uint64_t)0x1fffff;
    return made;
}

static int allocate(uint64_t *address, size_t bytes)
{
    block *made = NULL;

    if (contexts[depth] == 0)
        return INVALID_CONTEXT;
    if (address == NULL || bytes == 0)
        return INVALID_VALUE;
    (void)pthread_mutex_lock(&lock);
    if (live_bytes + bytes <= memory)
        made = block_for(bytes);
    if (made != NULL) {
        made->is_live = true;
        live_bytes += bytes;
        live_count++;
        *address = made->address;
    }
    (void)pthread_mutex_unlock(&lock);
    return made != NULL ? SUCCESS : OUT_OF_MEMORY;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    const int answer = fake_called("cuMemAlloc_v2");

    if (atomic_load(&does_reenter)) {
        void *program = dlopen(NULL, RTLD_NOW); /* we are linked to look into ourselves first */

        (void)((int (*)(uint64_t))(uintptr_t)dlsym(program, "cuMemFree_v2"))(ADDRESS - 1);
    }
    return answer != SUCCESS ? answer : allocate(address, bytes);
}

static int twin_alloc(uint64_t *address, size_t bytes)
{
    return cuMemAlloc_v2(address, bytes);
}

static block *block_at(uint64_t inside)
{
    for (unsigned i = 0; i < block_count; i++)
        if (blocks[i].is_live && inside - blocks[i].address < blocks[i].bytes)
            return &blocks[i];
    return NULL;
}

int cuMemFree_v2(uint64_t address)
{
    int answer = fake_called("cuMemFree_v2");
    block *gone;

    if (answer != SUCCESS || address == 0)
        return answer;
    (void)pthread_mutex_lock(&lock);
    gone = block_at(address);
    if (gone == NULL || gone->address != address) {
        answer = INVALID_VALUE;
    } else {
        gone->is_live = false;
        live_bytes -= gone->bytes;
        live_count--;
    }
    (void)pthread_mutex_unlock(&lock);
    return answer;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    const int answer = fake_called("cuMemGetInfo_v2");

    if (answer == SUCCESS) {
        (void)pthread_mutex_lock(&lock);
        *free_bytes = memory - live_bytes;
        *total_bytes = memory;
        (void)pthread_mutex_unlock(&lock);
    }
    return answer;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t inside)
{
    int answer = fake_called("cuMemGetAddressRange_v2");
    const block *found;

    (void)pthread_mutex_lock(&lock);
    found = block_at(inside);
    if (found == NULL) {
        answer = INVALID_VALUE;
    } else if (answer == SUCCESS) {
        *base = found->address;
        *bytes = found->bytes;
    }
    (void)pthread_mutex_unlock(&lock);
    return answer;
}

/* Contexts. */

EXPORT int cuCtxSetCurrent(uintptr_t context);
EXPORT int cuCtxGetCurrent(uintptr_t *context);
EXPORT int cuCtxGetDevice(int *device);
EXPORT int cuCtxPushCurrent_v2(uintptr_t context);
EXPORT int cuCtxPopCurrent_v2(uintptr_t *context);
EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active);
EXPORT int cuDevicePrimaryCtxRetain(uintptr_t *context, int device);
EXPORT int cuDevicePrimaryCtxRelease(int device);
EXPORT int cuDevicePrimaryCtxRelease_v2(int device);

int cuCtxSetCurrent(uintptr_t context)
{
    contexts[depth] = context;
    return fake_called("cuCtxSetCurrent");
}

int cuCtxGetCurrent(uintptr_t *context)
{
    *context = contexts[depth];
    return fake_called("cuCtxGetCurrent");
}

int cuCtxGetDevice(int *device)
{
    const int answer = fake_called("cuCtxGetDevice");

    if (contexts[depth] == 0)
        return INVALID_CONTEXT;
    *device = 0;
    return answer;
}

int cuCtxPushCurrent_v2(uintptr_t context)
{
    if (depth + 1 == STACK)
        return INVALID_VALUE;
    contexts[++depth] = context;
    return fake_called("cuCtxPushCurrent_v2");
}

int cuCtxPopCurrent_v2(uintptr_t *context)
{
    if (depth == 0)
        return INVALID_CONTEXT;
    *context = contexts[depth--];
    return fake_called("cuCtxPopCurrent_v2");
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active)
{
    (void)device;
    *flags = 0;
    *is_active = atomic_load(&primary_count) > 0;
    return fake_called("cuDevicePrimaryCtxGetState");
}

int cuDevicePrimaryCtxRetain(uintptr_t *context, int device)
{
    (void)device;
    atomic_fetch_add(&primary_count, 1);
    *context = FAKE_PRIMARY;
    return fake_called("cuDevicePrimaryCtxRetain");
}

static int release_primary(void)
{
    if (atomic_load(&primary_count) == 0)
        return INVALID_CONTEXT;
    atomic_fetch_sub(&primary_count, 1);
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease(int device)
{
    (void)device;
    (void)fake_called("cuDevicePrimaryCtxRelease");
    return release_primary();
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    (void)fake_called("cuDevicePrimaryCtxRelease_v2");
    return release_primary();
}

/* Streams. */

EXPORT int cuStreamGetCtx(uintptr_t stream, uintptr_t *context);
EXPORT int cuStreamIsCapturing(void *stream, int *status);

int cuStreamGetCtx(uintptr_t stream, uintptr_t *context)
{
    *context = stream == atomic_load(&foreign_stream) ? FAKE_PRIMARY : contexts[depth];
    return fake_called("cuStreamGetCtx");
}

int cuStreamIsCapturing(void *stream, int *status)
{
    (void)stream;
    *status = atomic_load(&capture_status);
    return fake_called("cuStreamIsCapturing");
}

/* The resolver: the newest of a base name's functions that is no newer than `version`. */

EXPORT int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);
EXPORT int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                               int *status);

static const fake_function *resolve(const char *symbol, int version, uint64_t flags)
{
    const fake_function *best = NULL;

    for (unsigned i = 0; i < fake_function_count; i++) {
        const fake_function *row = &fake_functions[i];
        const int wants_thread = row->has_thread && (flags & PER_THREAD) != 0;

        if (strcmp(row->base, symbol) == 0 && row->version <= version &&
            row->is_thread == wants_thread && (best == NULL || row->version > best->version))
            best = row;
    }
    return best;
}

static int answer_with(const fake_function *found, void **function)
{
    *function = found != NULL ? found->address : NULL;
    if (found != NULL && atomic_load(&are_twins) && strcmp(found->name, "cuMemAlloc_v2") == 0)
        *function = (void *)(uintptr_t)twin_alloc;
    return SUCCESS;
}

int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
    const int answer = fake_called("cuGetProcAddress");

    return answer != SUCCESS ? answer : answer_with(resolve(symbol, version, flags), function);
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                        int *status)
{
    const fake_function *found = resolve(symbol, version, flags);
    const int answer = fake_called("cuGetProcAddress_v2");

    if (answer != SUCCESS)
        return answer;
    if (status != NULL)
        *status = found != NULL ? RESOLVED : NOT_FOUND;
    if (symbol[0] == '\0') { /* something private: a pointer that is nobody's business */
        *function = (void *)(uintptr_t)cuMemAlloc_v2;
        return SUCCESS;
    }
    return answer_with(found, function);
}
