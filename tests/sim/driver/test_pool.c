/* SPDX-License-Identifier: MIT
 * test_pool.c - memory pools: allocation in stream order, what a pool keeps, whose pool is used. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define CHUNK (32 * MIB)

static struct gate gate, other_gate;

static CUstream new_stream(void)
{
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static CUdeviceptr alloc(size_t bytes, CUstream stream)
{
    CUdeviceptr address = 0;

    OK(cuMemAllocAsync(&address, bytes, stream));
    return address;
}

static CUmemoryPool standard(void)
{
    CUmemoryPool pool = NULL;

    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    return pool;
}

static cuuint64_t get(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    cuuint64_t value = 0;

    OK(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static void keep(CUmemoryPool pool, cuuint64_t bytes)
{
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
}

static CUmemPoolProps properties(void)
{
    return (CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
}

static CUmemoryPool create(void)
{
    CUmemPoolProps wanted = properties();
    CUmemoryPool pool = NULL;

    OK(cuMemPoolCreate(&pool, &wanted));
    return pool;
}

START_TEST(a_device_says_that_it_has_pools)
{
    int value = 0;

    start();
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
    ck_assert_int_eq(value, 1);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
    ck_assert_int_eq(value, CU_MEM_HANDLE_TYPE_NONE);
}
END_TEST

START_TEST(a_pool_takes_chunks_of_the_device_and_counts_what_is_used)
{
    CUstream stream;
    CUdeviceptr small, large;

    start();
    stream = new_stream();
    ck_assert_uint_eq(mapped(), 0);
    small = alloc(1000, stream);
    ck_assert_uint_eq(mapped(), CHUNK);
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), CHUNK);
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024);
    large = alloc(CHUNK + 1, stream);
    ck_assert_uint_eq(mapped(), 2 * CHUNK + 2 * MIB);
    OK(cuMemFreeAsync(large, stream));
    OK(cuMemFreeAsync(small, stream));
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_HIGH), CHUNK + 512 + 1024);
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 2 * CHUNK + 2 * MIB);
}
END_TEST

START_TEST(memory_is_usable_in_stream_order_and_reads_back)
{
    CUstream stream;
    CUdeviceptr address;
    char text[6] = "";

    start();
    stream = new_stream();
    gate_hold(&gate, stream);
    address = alloc(100, stream);
    ck_assert_uint_eq(address % 512, 0);
    OK(cuMemcpyHtoDAsync(address, "hello", 6, stream));
    gate_open(&gate);
    OK(cuMemcpyDtoHAsync(text, address, 6, stream));
    OK(cuStreamSynchronize(stream));
    ck_assert_str_eq(text, "hello");
}
END_TEST

START_TEST(a_stream_gets_back_at_once_what_was_freed_on_it)
{
    CUstream stream;
    CUdeviceptr first, second;

    start();
    stream = new_stream();
    gate_hold(&gate, stream);
    first = alloc(MIB, stream);
    OK(cuMemFreeAsync(first, stream));
    second = alloc(MIB, stream);
    ck_assert_uint_eq(second, first);
    ck_assert_uint_eq(mapped(), CHUNK);
    gate_open(&gate);
}
END_TEST

START_TEST(another_stream_gets_it_only_when_the_free_is_done)
{
    CUstream stream, other;
    CUdeviceptr first, second, third;

    start();
    keep(standard(), UINT64_MAX);
    stream = new_stream();
    other = new_stream();
    first = alloc(MIB, stream);
    gate_hold(&gate, stream);
    OK(cuMemFreeAsync(first, stream));
    second = alloc(MIB, other);
    ck_assert_uint_ne(second, first);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    third = alloc(MIB, other);
    ck_assert_uint_eq(third, first);
}
END_TEST

START_TEST(a_stream_waits_for_another_rather_than_run_out_of_memory)
{
    CUstream stream, other;
    CUdeviceptr first, second = 0;
    char byte = 0;

    with("MEMORY", "32MiB");
    start();
    stream = new_stream();
    other = new_stream();
    first = alloc(30 * MIB, stream);
    gate_hold(&gate, stream);
    OK(cuMemsetD8Async(first, 'x', 1, stream));
    OK(cuMemFreeAsync(first, stream));
    OK(cuMemAllocAsync(&second, 30 * MIB, other));
    ck_assert_uint_eq(second, first);
    OK(cuMemsetD8Async(second, 'y', 1, other));
    ANSWERS(CUDA_ERROR_NOT_READY, cuStreamQuery(other));
    gate_open(&gate);
    OK(cuMemcpyDtoHAsync(&byte, second, 1, other));
    OK(cuStreamSynchronize(other));
    ck_assert_int_eq(byte, 'y');
}
END_TEST

START_TEST(without_such_waits_allowed_it_runs_out)
{
    CUstream stream, other;
    CUdeviceptr address;
    int no = 0;

    with("MEMORY", "32MiB");
    start();
    OK(cuMemPoolSetAttribute(standard(), CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &no));
    stream = new_stream();
    other = new_stream();
    address = alloc(30 * MIB, stream);
    gate_hold(&gate, stream);
    OK(cuMemFreeAsync(address, stream));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, 30 * MIB, other));
    gate_open(&gate);
}
END_TEST

START_TEST(more_than_the_device_has_is_out_of_memory)
{
    CUdeviceptr address;

    with("MEMORY", "16MiB");
    start();
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, 100 * GIB, NULL));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, 17 * MIB, NULL));
    address = alloc(16 * MIB, NULL); /* a chunk does not fit, this does */
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, 1, NULL));
}
END_TEST

static size_t mapped_after(CUresult (*wait)(CUstream stream, CUevent event))
{
    CUstream stream = new_stream();
    CUdeviceptr address = alloc(MIB, stream);
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuMemFreeAsync(address, stream));
    OK(cuEventRecord(event, stream));
    OK(wait(stream, event));
    return mapped();
}

static CUresult wait_stream(CUstream stream, CUevent event)
{
    (void)event;
    return cuStreamSynchronize(stream);
}

static CUresult wait_event(CUstream stream, CUevent event)
{
    (void)stream;
    return cuEventSynchronize(event);
}

static CUresult wait_context(CUstream stream, CUevent event)
{
    (void)stream;
    (void)event;
    return cuCtxSynchronize();
}

START_TEST(each_way_to_wait_gives_back_what_is_above_the_threshold)
{
    start();
    ck_assert_uint_eq(mapped_after(wait_stream), 0);
    ck_assert_uint_eq(mapped_after(wait_event), 0);
    ck_assert_uint_eq(mapped_after(wait_context), 0);
    keep(standard(), CHUNK);
    ck_assert_uint_eq(mapped_after(wait_stream), CHUNK);
    ck_assert_uint_eq(mapped_after(wait_context), CHUNK);
}
END_TEST

START_TEST(nothing_goes_back_that_an_operation_may_still_use)
{
    CUstream stream;
    CUdeviceptr address;

    start();
    stream = new_stream();
    address = alloc(MIB, stream);
    gate_hold(&gate, stream);
    OK(cuMemFreeAsync(address, stream));
    OK(cuMemPoolTrimTo(standard(), 0));
    ck_assert_uint_eq(mapped(), CHUNK);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_trim_leaves_what_it_is_told_to)
{
    CUdeviceptr addresses[3];

    start();
    keep(standard(), UINT64_MAX);
    for (int i = 0; i < 3; i++)
        addresses[i] = alloc(CHUNK, NULL);
    for (int i = 0; i < 3; i++)
        OK(cuMemFreeAsync(addresses[i], NULL));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(mapped(), 3 * CHUNK);
    OK(cuMemPoolTrimTo(standard(), CHUNK + 1));
    ck_assert_uint_eq(mapped(), 2 * CHUNK);
    OK(cuMemPoolTrimTo(standard(), 0));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(what_a_pool_keeps_is_there_for_others_when_the_device_runs_out)
{
    CUdeviceptr address, plain;

    with("MEMORY", "64MiB");
    start();
    keep(standard(), UINT64_MAX);
    address = alloc(60 * MIB, NULL);
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&plain, 60 * MIB));
    OK(cuMemFreeAsync(address, NULL));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(mapped(), 60 * MIB);
    OK(cuMemAlloc(&plain, 60 * MIB));
}
END_TEST

START_TEST(cuMemFree_waits_and_gives_the_memory_to_the_pool)
{
    CUdeviceptr address;

    start();
    keep(standard(), UINT64_MAX);
    address = alloc(MIB, NULL);
    OK(cuMemsetD8Async(address, 1, MIB, NULL));
    OK(cuMemFree(address));
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    INVALID(cuMemFree(address));
    INVALID(cuMemFreeAsync(address, NULL));
    ck_assert_uint_eq(alloc(MIB, NULL), address);
}
END_TEST

START_TEST(calls_that_make_no_sense_are_invalid)
{
    CUdeviceptr address = 0, plain;
    CUmemPoolProps wanted = properties();
    CUmemoryPool pool;

    start();
    INVALID(cuMemAllocAsync(NULL, 1, NULL));
    INVALID(cuMemAllocAsync(&address, 0, NULL));
    INVALID(cuMemFreeAsync(0, NULL));
    address = alloc(MIB, NULL);
    INVALID(cuMemFreeAsync(address + 512, NULL));
    ANSWERS(CUDA_ERROR_INVALID_HANDLE, cuMemFreeAsync(address, (CUstream)standard()));
    INVALID(cuMemAllocFromPoolAsync(&address, MIB, (CUmemoryPool)&plain, NULL));
    OK(cuMemAlloc(&plain, MIB));
    INVALID(cuMemFreeAsync(plain, NULL));
    INVALID(cuMemPoolCreate(NULL, &wanted));
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    INVALID(cuMemPoolCreate(&pool, &wanted));
    wanted = properties();
    wanted.location.id = 1;
    ANSWERS(CUDA_ERROR_INVALID_DEVICE, cuMemPoolCreate(&pool, &wanted));
    wanted = properties();
    wanted.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&pool, &wanted));
    INVALID(cuMemPoolDestroy(standard()));
}
END_TEST

START_TEST(a_high_water_mark_can_only_be_reset)
{
    CUdeviceptr address;
    cuuint64_t value = 5;

    start();
    address = alloc(MIB, NULL);
    OK(cuMemFreeAsync(address, NULL));
    INVALID(cuMemPoolSetAttribute(standard(), CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
    value = 0;
    OK(cuMemPoolSetAttribute(standard(), CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    INVALID(cuMemPoolSetAttribute(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
    INVALID(cuMemPoolGetAttribute(standard(), (CUmemPool_attribute)99, &value));
}
END_TEST

START_TEST(a_pool_of_ones_own_is_used_when_it_is_named_or_current)
{
    CUmemoryPool pool, found = NULL;
    CUdeviceptr address = 0;
    void *of = NULL;

    start();
    pool = create();
    OK(cuMemAllocFromPoolAsync(&address, MIB, pool, NULL));
    ck_assert_uint_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), MIB);
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    ck_assert_ptr_eq(of, pool);
    OK(cuDeviceGetMemPool(&found, 0));
    ck_assert_ptr_eq(found, standard());
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuDeviceGetMemPool(&found, 0));
    ck_assert_ptr_eq(found, pool);
    (void)alloc(MIB, NULL);
    ck_assert_uint_eq(get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 2 * MIB);
    OK(cuMemPoolDestroy(pool));
    OK(cuDeviceGetMemPool(&found, 0));
    ck_assert_ptr_eq(found, standard());
    INVALID(cuDeviceSetMemPool(0, pool));
}
END_TEST

START_TEST(a_destroyed_pool_goes_with_its_last_allocation)
{
    CUmemoryPool pool;
    CUdeviceptr address = 0;

    start();
    pool = create();
    OK(cuMemAllocFromPoolAsync(&address, MIB, pool, NULL));
    OK(cuMemPoolDestroy(pool));
    ck_assert_uint_eq(mapped(), CHUNK);
    OK(cuMemsetD8(address, 1, MIB));
    OK(cuMemFreeAsync(address, NULL));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(a_pool_has_no_more_than_its_most)
{
    CUmemPoolProps wanted = properties();
    CUmemoryPool pool;
    CUdeviceptr address;

    start();
    wanted.maxSize = 4 * MIB;
    OK(cuMemPoolCreate(&pool, &wanted));
    ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&address, 5 * MIB, pool, NULL));
    OK(cuMemAllocFromPoolAsync(&address, 4 * MIB, pool, NULL));
}
END_TEST

START_TEST(a_pointer_from_a_pool_answers_for_its_own_allocation)
{
    CUdeviceptr address, base = 0;
    CUcontext context = (CUcontext)1;
    size_t bytes = 0;
    int answer = 9;

    start();
    address = alloc(1000, NULL);
    OK(cuMemGetAddressRange(&base, &bytes, address + 999));
    ck_assert_uint_eq(base, address);
    ck_assert_uint_eq(bytes, 1000);
    OK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    ck_assert_int_eq(answer, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address));
    ck_assert_int_eq(answer, 0);
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address));
    ck_assert_ptr_null(context);
    ANSWERS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, address + 2000));
}
END_TEST

START_TEST(access_from_another_device_is_said_of_the_pool)
{
    CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1},
                            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemLocation other = desc.location;
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_MAX;

    with("DEVICES", "2");
    start();
    OK(cuMemPoolGetAccess(&flags, standard(), &other));
    ck_assert_int_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemPoolSetAccess(standard(), &desc, 1));
    OK(cuMemPoolGetAccess(&flags, standard(), &other));
    ck_assert_int_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    desc = (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                             .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE};
    INVALID(cuMemPoolSetAccess(standard(), &desc, 1));
}
END_TEST

START_TEST(the_end_of_a_context_frees_what_was_allocated_on_its_streams)
{
    CUcontext context;

    start();
    OK(cuCtxCreate(&context, NULL, 0, 0));
    (void)alloc(MIB, NULL);
    OK(cuCtxDestroy(context));
    start();
    ck_assert_uint_eq(mapped(), 0);
    ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
}
END_TEST

/* The program told the judge of it, as libcudart does. */
static CUdeviceptr alloc_told(size_t bytes, CUstream stream)
{
    CUdeviceptr address = alloc(bytes, stream);

    simcuda_allocated((void *)address, bytes);
    return address;
}

static void free_told(CUdeviceptr address, CUstream stream)
{
    simcuda_allocation *allocation = simcuda_freeing((void *)address);

    OK(cuMemFreeAsync(address, stream));
    simcuda_freed(allocation, 1);
}

static void use_in_order(void)
{
    CUstream stream;
    CUdeviceptr address;

    start();
    stream = new_stream();
    gate_hold(&gate, stream);
    for (int i = 0; i < 3; i++) { /* the same address each time, before the first was used */
        address = alloc_told(MIB, stream);
        OK(cuMemsetD8Async(address, 1, MIB, stream));
        free_told(address, stream);
    }
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
}

static void use_behind_an_event(void)
{
    CUstream stream, other;
    CUdeviceptr address;
    CUevent event;

    start();
    stream = new_stream();
    other = new_stream();
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    gate_hold(&gate, stream);
    address = alloc_told(MIB, stream);
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(other, event, 0));
    OK(cuMemsetD8Async(address, 1, MIB, other));
    gate_open(&gate);
    OK(cuStreamSynchronize(other));
    free_told(address, stream);
    OK(cuStreamSynchronize(stream));
}

static void use_before_the_allocation_is_reached(void)
{
    CUstream stream, other;
    CUdeviceptr address;

    start();
    stream = new_stream();
    other = new_stream();
    gate_hold(&gate, stream);
    address = alloc_told(MIB, stream);
    OK(cuMemsetD8Async(address, 1, MIB, other));
    OK(cuStreamSynchronize(other));
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
}

static void use_on_another_stream_after_the_free(void)
{
    CUstream stream, other;
    CUdeviceptr address;

    start();
    keep(standard(), UINT64_MAX);
    stream = new_stream();
    other = new_stream();
    address = alloc_told(MIB, stream);
    OK(cuStreamSynchronize(stream));
    gate_hold(&other_gate, other);
    OK(cuMemsetD8Async(address, 1, MIB, other));
    free_told(address, stream);
    OK(cuStreamSynchronize(stream));
    gate_open(&other_gate);
    OK(cuStreamSynchronize(other));
}

static void use_after_the_free_was_called(void)
{
    CUstream stream;
    CUdeviceptr address;

    start();
    stream = new_stream();
    address = alloc_told(MIB, stream);
    free_told(address, stream);
    OK(cuMemsetD8Async(address, 1, MIB, stream));
    OK(cuCtxSynchronize());
}

static void use_beyond_the_end(void)
{
    CUdeviceptr address;

    start();
    address = alloc(1000, NULL);
    OK(cuMemsetD8Async(address, 1, 1001, NULL));
    OK(cuCtxSynchronize());
}

static void use_what_was_never_allocated(void)
{
    CUdeviceptr address;

    start();
    address = alloc(1000, NULL);
    OK(cuMemsetD8Async(address + MIB, 1, 1, NULL));
    OK(cuCtxSynchronize());
}

static void use_from_a_device_without_access(void)
{
    CUcontext other;
    CUdeviceptr address;

    setenv("SIMCUDA_DEVICES", "2", 1);
    start();
    address = alloc(1000, NULL);
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    OK(cuCtxSetCurrent(other));
    OK(cuMemsetD8Async(address, 1, 1, NULL));
    OK(cuCtxSynchronize());
}

START_TEST(each_use_out_of_order_is_a_violation_of_its_kind)
{
    static const struct {
        void (*body)(void);
        const char *kind; /* NULL: none */
    } cases[] = {
        {use_in_order, NULL},
        {use_behind_an_event, NULL},
        {use_before_the_allocation_is_reached, "early-use"},
        {use_on_another_stream_after_the_free, "use-after-free"},
        {use_after_the_free_was_called, "use-after-free"},
        {use_beyond_the_end, "out-of-bounds"},
        {use_what_was_never_allocated, "out-of-bounds"},
        {use_from_a_device_without_access, "no-access"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *report = report_of(cases[i].body);
        const char *violations = strstr(report, "\"violations\"");

        ck_assert_ptr_nonnull(violations);
        if (cases[i].kind)
            ck_assert_msg(number_in(violations, cases[i].kind) == 1, "case %zu: %s", i, violations);
        else
            ck_assert_msg(strchr(violations, '}') - strchr(violations, '{') == 1, "case %zu: %s", i,
                          violations);
        free(report);
    }
}
END_TEST

/* Random work on three streams, each of which fills what it allocates and checks that nobody else
 * has written there. */
#define STREAMS 3
#define PIECES  40
#define ACTIONS 3000

struct held {
    CUdeviceptr address;
    size_t bytes;
    int stream;
    unsigned char byte;
};

static size_t sum_of(const struct held *held)
{
    size_t sum = 0;

    for (int i = 0; i < PIECES; i++)
        sum += (held[i].bytes + 511) / 512 * 512;
    return sum;
}

static void check_alone(const struct held *held)
{
    for (int i = 0; i < PIECES; i++)
        for (int j = 0; j < i; j++)
            ck_assert(held[i].bytes == 0 || held[j].bytes == 0 ||
                      held[i].address + held[i].bytes <= held[j].address ||
                      held[j].address + held[j].bytes <= held[i].address);
}

static void act(struct held *piece, const CUstream *streams, uint64_t random)
{
    unsigned char ends[2];

    if (piece->bytes > 0) {
        OK(cuMemcpyDtoHAsync(ends, piece->address, 1, streams[piece->stream]));
        OK(cuMemcpyDtoHAsync(ends + 1, piece->address + piece->bytes - 1, 1,
                             streams[piece->stream]));
        ck_assert_uint_eq(ends[0], piece->byte);
        ck_assert_uint_eq(ends[1], piece->byte);
        OK(cuMemFreeAsync(piece->address, streams[piece->stream]));
        piece->bytes = 0;
        return;
    }
    *piece = (struct held){.bytes = 1 + (random >> 16) % (random & 1 ? 4096 : 3 * MIB),
                           .stream = (int)(random >> 1 & 0xff) % STREAMS,
                           .byte = (unsigned char)(random >> 9)};
    piece->address = alloc(piece->bytes, streams[piece->stream]);
    OK(cuMemsetD8Async(piece->address, piece->byte, piece->bytes, streams[piece->stream]));
}

START_TEST(random_allocations_on_several_streams_never_share_memory)
{
    struct held held[PIECES] = {0};
    CUstream streams[STREAMS];
    uint64_t state = seed();

    with("MEMORY", "256MiB");
    start();
    for (int i = 0; i < STREAMS; i++)
        streams[i] = new_stream();
    for (int i = 0; i < ACTIONS; i++) {
        uint64_t random = next_random(&state);

        act(&held[random % PIECES], streams, random >> 8);
        ck_assert_uint_eq(get(standard(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), sum_of(held));
        if (i % 64 == 0)
            check_alone(held);
        if (random % 101 == 0)
            OK(cuCtxSynchronize());
    }
    for (int i = 0; i < PIECES; i++)
        if (held[i].bytes > 0)
            act(&held[i], streams, 0);
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {a_device_says_that_it_has_pools,
                                  a_pool_takes_chunks_of_the_device_and_counts_what_is_used,
                                  memory_is_usable_in_stream_order_and_reads_back,
                                  a_stream_gets_back_at_once_what_was_freed_on_it,
                                  another_stream_gets_it_only_when_the_free_is_done,
                                  a_stream_waits_for_another_rather_than_run_out_of_memory,
                                  without_such_waits_allowed_it_runs_out,
                                  more_than_the_device_has_is_out_of_memory,
                                  each_way_to_wait_gives_back_what_is_above_the_threshold,
                                  nothing_goes_back_that_an_operation_may_still_use,
                                  a_trim_leaves_what_it_is_told_to,
                                  what_a_pool_keeps_is_there_for_others_when_the_device_runs_out,
                                  cuMemFree_waits_and_gives_the_memory_to_the_pool,
                                  calls_that_make_no_sense_are_invalid,
                                  a_high_water_mark_can_only_be_reset,
                                  a_pool_of_ones_own_is_used_when_it_is_named_or_current,
                                  a_destroyed_pool_goes_with_its_last_allocation,
                                  a_pool_has_no_more_than_its_most,
                                  a_pointer_from_a_pool_answers_for_its_own_allocation,
                                  access_from_another_device_is_said_of_the_pool,
                                  the_end_of_a_context_frees_what_was_allocated_on_its_streams,
                                  each_use_out_of_order_is_a_violation_of_its_kind,
                                  random_allocations_on_several_streams_never_share_memory,
                                  NULL};

    return run_tests("pool", tests);
}
