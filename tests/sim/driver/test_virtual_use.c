/* SPDX-License-Identifier: MIT
 * test_virtual_use.c - mapped memory shared with others, used wrongly, and used at random.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "virtual.h"

START_TEST(a_descriptor_imports_as_the_same_memory_in_this_process)
{
    CUmemGenericAllocationHandle handle, again = 0;
    CUdeviceptr address;
    char byte = 0;
    int file = -1;

    start();
    address = reserve(2 * UNIT);
    handle = create(UNIT);
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)file,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    ck_assert_int_eq(close(file), 0);
    ck_assert_uint_eq(mapped(), UNIT);
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    OK(cuMemMap(address + UNIT, UNIT, 0, again, 0));
    OK(cuMemRelease(handle));
    OK(cuMemRelease(again));
    allow(address, 2 * UNIT);
    OK(cuMemsetD8(address, 'x', 1));
    OK(cuMemcpyDtoH(&byte, address + UNIT, 1));
    ck_assert_int_eq(byte, 'x');
    OK(cuMemUnmap(address, 2 * UNIT));
    ck_assert_uint_eq(mapped(), 0);
}
END_TEST

START_TEST(what_is_no_shareable_handle_is_refused)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp wanted = properties();
    int file = -1, ends[2];

    start();
    wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    OK(cuMemCreate(&handle, UNIT, &wanted, 0));
    INVALID(
        cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ANSWERS(CUDA_ERROR_NOT_SUPPORTED,
            cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    INVALID(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)-1,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    ck_assert_int_eq(pipe(ends), 0);
    INVALID(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)ends[0],
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}
END_TEST

/* Sends, or (-1) receives, an open file. */
static int pass_file(int socket, int file)
{
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = "";
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    if (file < 0) {
        ck_assert_int_eq(recvmsg(socket, &message, 0), 1);
        memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
        return file;
    }
    *header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof file)};
    memcpy(CMSG_DATA(header), &file, sizeof file);
    ck_assert_int_eq(sendmsg(socket, &message, 0), 1);
    return file;
}

/* Runs in a process that has never called CUDA: it imports, checks, writes and exits. */
static void use_imported(int socket)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    char byte = 0;
    int file = pass_file(socket, -1);

    start();
    OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)file,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    address = reserve(UNIT);
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    allow(address, UNIT);
    OK(cuMemcpyDtoH(&byte, address, 1));
    ck_assert_int_eq(byte, 'a');
    OK(cuMemsetD8(address, 'b', 1));
    OK(cuCtxSynchronize());
    ck_assert_uint_eq(mapped(), 0); /* it is the exporter's */
    OK(cuMemUnmap(address, UNIT));
    OK(cuMemRelease(handle));
    _exit(0);
}

START_TEST(another_process_shares_the_memory_of_a_descriptor)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    int ends[2], file = -1, status = -1;
    char byte = 0;
    pid_t child;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    child = fork();
    if (child == 0)
        use_imported(ends[1]);
    start();
    (void)create(UNIT); /* so that what is shared is not the first */
    address = reserve(UNIT);
    handle = create(UNIT);
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    allow(address, UNIT);
    OK(cuMemsetD8(address, 'a', 1));
    OK(cuCtxSynchronize()); /* the other process has no order with the fill */
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    pass_file(ends[0], file);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    OK(cuMemcpyDtoH(&byte, address, 1));
    ck_assert_int_eq(byte, 'b');
}
END_TEST

static void copy_within_neighbouring_mappings(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    map_new(address, UNIT);
    map_new(address + UNIT, UNIT);
    OK(cuMemsetD8(address, 1, 2 * UNIT));
    OK(cuMemcpyDtoD(address + UNIT - 10, address, 20));
    OK(cuCtxSynchronize());
}

static void copy_across_the_end(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    map_new(address, UNIT);
    OK(cuMemsetD8(address + UNIT - 10, 1, 20));
    OK(cuCtxSynchronize());
}

static void copy_where_nothing_was_mapped(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    OK(cuMemsetD8(address, 1, 20));
    OK(cuCtxSynchronize());
}

static void copy_after_unmap(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    map_new(address, UNIT);
    OK(cuMemUnmap(address, UNIT));
    OK(cuMemsetD8(address, 1, 20));
    OK(cuCtxSynchronize());
}

static void copy_after_the_reservation_is_freed(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    OK(cuMemAddressFree(address, 4 * UNIT));
    OK(cuMemsetD8(address, 1, 20));
    OK(cuCtxSynchronize());
}

static void copy_without_access(void)
{
    CUdeviceptr address;

    start();
    address = reserve(4 * UNIT);
    OK(cuMemMap(address, UNIT, 0, create(UNIT), 0));
    OK(cuMemsetD8(address, 1, 20));
    OK(cuCtxSynchronize());
}

static void write_what_may_be_read(void)
{
    CUdeviceptr address;
    char byte;

    start();
    address = reserve(4 * UNIT);
    OK(cuMemMap(address, UNIT, 0, create(UNIT), 0));
    OK(set_access(address, UNIT, CU_MEM_ACCESS_FLAGS_PROT_READ));
    OK(cuMemcpyDtoH(&byte, address, 1));
    OK(cuMemsetD8(address, 1, 20));
    OK(cuCtxSynchronize());
}

static struct gate gate;

static void unmap_under_work(void)
{
    CUdeviceptr address;
    CUstream stream;

    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    address = reserve(4 * UNIT);
    map_new(address, UNIT);
    gate_hold(&gate, stream);
    OK(cuMemsetD8Async(address, 1, 20, stream));
    OK(cuMemUnmap(address, UNIT));
    map_new(address, UNIT);
    gate_open(&gate);
    OK(cuStreamSynchronize(stream));
    ck_assert_int_eq(*(char *)address, 0); /* the new memory was not touched */
}

static struct gate old_gate;

/* A cache that need not wait gives the memory to its next owner at another address, while (early)
 * or after the last one's work is done. */
static void reuse_at_another_address(bool early)
{
    CUmemGenericAllocationHandle handle;
    CUstream old, next;
    CUdeviceptr address;

    setenv("SIMCUDA_JUDGE", "deferred", 1);
    start();
    OK(cuStreamCreate(&old, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&next, CU_STREAM_NON_BLOCKING));
    address = reserve(4 * UNIT);
    handle = create(UNIT);
    OK(cuMemMap(address, UNIT, 0, handle, 0));
    OK(cuMemMap(address + 2 * UNIT, UNIT, 0, handle, 0));
    allow(address, UNIT);
    allow(address + 2 * UNIT, UNIT);
    simcuda_allocated((void *)(address + 4096), 4096);
    gate_hold(&old_gate, old);
    OK(cuMemsetD8Async(address + 4096, 1, 4096, old));
    simcuda_freed(simcuda_freeing((void *)(address + 4096)), 1);
    if (!early) {
        gate_open(&old_gate);
        OK(cuStreamSynchronize(old));
    }
    simcuda_allocated((void *)(address + 2 * UNIT), UNIT);
    OK(cuMemsetD8Async(address + 2 * UNIT, 2, 100, next)); /* what nobody else had */
    OK(cuMemsetD8Async(address + 2 * UNIT, 2, UNIT, next));
    OK(cuStreamSynchronize(next));
    if (early)
        gate_open(&old_gate);
    OK(cuStreamSynchronize(old));
}

static void reuse_early(void)
{
    reuse_at_another_address(true);
}

static void reuse_in_time(void)
{
    reuse_at_another_address(false);
}

static void free_by_another_way(void)
{
    CUdeviceptr address;

    start();
    address = reserve(UNIT);
    map_new(address, UNIT);
    ck_assert_ptr_null(simcuda_freeing((void *)address));
    INVALID(cuMemFree(address));
}

START_TEST(each_use_of_what_is_not_mapped_is_a_violation_of_its_kind)
{
    static const struct {
        void (*body)(void);
        const char *kind; /* NULL: none */
    } cases[] = {
        {copy_within_neighbouring_mappings, NULL},
        {copy_across_the_end, "\"out-of-bounds\""},
        {copy_where_nothing_was_mapped, "\"out-of-bounds\""},
        {copy_after_unmap, "\"use-after-free\""},
        {copy_after_the_reservation_is_freed, "\"use-after-free\""},
        {copy_without_access, "\"no-access\""},
        {write_what_may_be_read, "\"no-access\""},
        {unmap_under_work, "\"use-after-free\""},
        {free_by_another_way, "\"invalid-free\""},
        {reuse_early, "\"early-reuse\""},
        {reuse_in_time, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *report = report_of(cases[i].body);
        const char *violations = strstr(report, "\"violations\"");
        const char *end = violations ? strchr(violations, '}') : NULL;
        size_t length;

        ck_assert_ptr_nonnull(end);
        length = (size_t)(end - violations);
        if (cases[i].kind) {
            ck_assert_msg(memmem(violations, length, cases[i].kind, strlen(cases[i].kind)) != NULL,
                          "case %zu: %s", i, report);
            ck_assert_int_eq(number_in(violations, strtok(strdup(cases[i].kind), "\"")), 1);
        } else {
            ck_assert_msg(memchr(violations, '1', length) == NULL, "case %zu: %s", i, report);
        }
        free(report);
    }
}
END_TEST

/* What the test remembers: for each unit of the reservation the memory it shows, 0: none. */
#define UNITS   24
#define PIECES  12
#define ACTIONS 4000

struct model {
    CUdeviceptr address;
    CUmemGenericAllocationHandle handles[PIECES]; /* 0: none */
    size_t units[PIECES];                         /* of the piece; 0: it is nowhere any more */
    unsigned maps[PIECES];
    unsigned char written[PIECES][4]; /* the first byte of each unit */
    int piece[UNITS], first[UNITS];   /* shown there, -1: none; where its mapping begins */
};

static size_t alive(const struct model *model)
{
    size_t units = 0;

    for (int i = 0; i < PIECES; i++)
        units += model->handles[i] != 0 || model->maps[i] > 0 ? model->units[i] : 0;
    return units * UNIT;
}

static bool is_free(const struct model *model, int at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((size_t)at + i >= UNITS || model->piece[(size_t)at + i] >= 0)
            return false;
    return true;
}

static void act_on_piece(struct model *model, int piece, uint64_t random)
{
    if (model->handles[piece] != 0) {
        OK(cuMemRelease(model->handles[piece]));
        model->handles[piece] = 0;
    } else if (model->maps[piece] == 0) {
        model->units[piece] = 1 + random % 4;
        model->handles[piece] = create(model->units[piece] * UNIT);
        memset(model->written[piece], 0, sizeof model->written[piece]);
    }
}

static void act_map(struct model *model, int piece, int at)
{
    size_t count = model->units[piece];
    CUdeviceptr address = model->address + (size_t)at * UNIT;
    bool fits = is_free(model, at, count);

    if (model->handles[piece] == 0)
        return;
    ANSWERS(fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
            cuMemMap(address, count * UNIT, 0, model->handles[piece], 0));
    if (!fits)
        return;
    allow(address, count * UNIT);
    model->maps[piece]++;
    for (int i = at; i < at + (int)count; i++) {
        model->piece[i] = piece;
        model->first[i] = at;
    }
}

static void act_unmap(struct model *model, int at)
{
    int piece = model->piece[at];
    bool whole = piece >= 0 && model->first[at] == at;
    size_t count = piece >= 0 ? model->units[piece] : 1;

    ANSWERS(whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
            cuMemUnmap(model->address + (size_t)at * UNIT, count * UNIT));
    if (!whole)
        return;
    model->maps[piece]--;
    for (int i = at; i < at + (int)count; i++)
        model->piece[i] = -1;
}

static void act_write(struct model *model, int at, unsigned char byte)
{
    if (model->piece[at] < 0)
        return;
    OK(cuMemsetD8(model->address + (size_t)at * UNIT, byte, 1));
    OK(cuCtxSynchronize());
    model->written[model->piece[at]][at - model->first[at]] = byte;
}

static void compare(const struct model *model)
{
    unsigned char byte;

    for (int at = 0; at < UNITS; at++) {
        if (model->piece[at] < 0)
            continue;
        OK(cuMemcpyDtoH(&byte, model->address + (size_t)at * UNIT, 1));
        ck_assert_uint_eq(byte, model->written[model->piece[at]][at - model->first[at]]);
    }
    ck_assert_uint_eq(mapped(), alive(model));
}

START_TEST(random_maps_unmaps_and_writes_agree_with_a_naive_model)
{
    uint64_t state = seed();
    struct model model = {0};

    start();
    model.address = reserve(UNITS * UNIT);
    for (int i = 0; i < UNITS; i++)
        model.piece[i] = -1;
    for (int i = 0; i < ACTIONS; i++) {
        uint64_t random = next_random(&state);
        int piece = (int)(random >> 8 & 0xffff) % PIECES;
        int at = (int)(random >> 24 & 0xffff) % UNITS;

        switch (random % 4) {
        case 0:
            act_on_piece(&model, piece, random >> 40);
            break;
        case 1:
            act_map(&model, piece, at);
            break;
        case 2:
            act_unmap(&model, at);
            break;
        default:
            act_write(&model, at, (unsigned char)(random >> 48));
        }
        if (i % 16 == 0)
            compare(&model);
    }
    compare(&model);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {a_descriptor_imports_as_the_same_memory_in_this_process,
                                  what_is_no_shareable_handle_is_refused,
                                  another_process_shares_the_memory_of_a_descriptor,
                                  each_use_of_what_is_not_mapped_is_a_violation_of_its_kind,
                                  random_maps_unmaps_and_writes_agree_with_a_naive_model,
                                  NULL};

    return run_tests("virtual use", tests);
}
