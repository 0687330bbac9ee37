/* SPDX-License-Identifier: MIT
 * test_pool_use.c - memory of pools used out of order, and allocated at random. */
#include <stdlib.h>
#include <string.h>

#include "pools.h"

static struct gate gate, other_gate;

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
    const TTest *const tests[] = {each_use_out_of_order_is_a_violation_of_its_kind,
                                  random_allocations_on_several_streams_never_share_memory, NULL};

    return run_tests("pool use", tests);
}
