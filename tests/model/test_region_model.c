/* SPDX-License-Identifier: MIT
 * Memory scopes against the slow and obvious way: every change of memory is written down, and what
 * a scope saw is looked up there when it ends.
 *
 * Three threads take turns on two devices: they allocate, free, end steps, trim, change devices,
 * and begin and end scopes. What is held is counted below the engine, by the driver's blocks. */
#include "engine/engine.h"
#include "shapecache/shapecache.h"
#include "support/fake_driver.h"
#include "support/seed.h"
#include "support/suite.h"
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

enum { DEVICES = 2, THREADS = 3, OPERATIONS = 60000, BLOCKS_MOST = 512, LIVE_MOST = 10, DEPTH = 6 };
static const uint64_t sizes[] = {100,     4096,    700000,  MIB,     3 * MIB, 3 * MIB + 1,
                                 4 * MIB, 8 * MIB, 5 * MIB, 5 * MIB, 2 * MIB, 6 * MIB};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Blocks of one kind on one device. */
typedef struct pile {
    unsigned count;
    struct {
        sc_address address;
        uint64_t bytes;
    } blocks[BLOCKS_MOST];
} pile;

typedef struct moment {
    uint64_t live, held;
} moment;

static struct {
    pile live, held;
    moment *history; /* the first is what there was in the beginning: nothing */
    size_t moments, room;
    bool has_allocated;
} devices[DEVICES];

typedef struct scope {
    int device; /* -1: none was current that had allocated */
    size_t since[DEVICES];
    moment before[DEVICES];
    uint64_t trimmed;
    unsigned flags;
} scope;

typedef struct worker {
    pthread_t thread;
    int device; /* current; -1: none */
    scope scopes[DEPTH];
    unsigned depth;
} worker;

static sc_random random_numbers;

static void put(pile *all, sc_address address, uint64_t bytes)
{
    ck_assert_uint_lt(all->count, BLOCKS_MOST);
    all->blocks[all->count].address = address;
    all->blocks[all->count++].bytes = bytes;
}

static bool take(pile *all, sc_address address)
{
    for (unsigned i = 0; i < all->count; i++) {
        if (all->blocks[i].address != address)
            continue;
        all->blocks[i] = all->blocks[--all->count];
        return true;
    }
    return false;
}

static uint64_t exact(const pile *all)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < all->count; i++)
        bytes += all->blocks[i].bytes;
    return bytes;
}

/* Pages of 2 MiB: from 1 MiB on of one's own, below it shared in units of 512 bytes. */
static uint64_t mapped(const pile *all)
{
    uint64_t own = 0, shared = 0;

    for (unsigned i = 0; i < all->count; i++) {
        uint64_t bytes = all->blocks[i].bytes;

        if (bytes >= MIB)
            own += (bytes + 2 * MIB - 1) / (2 * MIB);
        else
            shared += (bytes + 511) / 512;
    }
    return (own + (shared * 512 + 2 * MIB - 1) / (2 * MIB)) * 2 * MIB;
}

static void write_down(int device)
{
    if (devices[device].moments == devices[device].room) {
        devices[device].room = devices[device].room ? 2 * devices[device].room : 1024;
        devices[device].history =
            realloc(devices[device].history, devices[device].room * sizeof(moment));
        ck_assert_ptr_nonnull(devices[device].history);
    }
    devices[device].history[devices[device].moments++] =
        (moment){mapped(&devices[device].live), mapped(&devices[device].held)};
}

static moment now(int device)
{
    return devices[device].history[devices[device].moments - 1];
}

static moment most_since(int device, size_t first)
{
    moment most = {0, 0};

    for (size_t i = first; i < devices[device].moments; i++) {
        const moment *one = &devices[device].history[i];

        most.live = one->live > most.live ? one->live : most.live;
        most.held = one->held > most.held ? one->held : most.held;
    }
    return most;
}

static int device_of(sc_address address)
{
    for (int i = 0; i < DEVICES; i++)
        for (unsigned n = 0; n < devices[i].held.count; n++)
            if (devices[i].held.blocks[n].address == address)
                return i;
    return -1;
}

/* The driver, seen from below. What becomes live is written down when the program has it. */
static int counted_alloc(sc_address *address, size_t bytes)
{
    int device, result = fake_driver.mem_alloc(address, bytes);

    if (result != SC_CUDA_SUCCESS)
        return result;
    ck_assert_int_eq(fake_driver.context_device(&device), SC_CUDA_SUCCESS);
    put(&devices[device].held, *address, bytes);
    return result;
}

static int counted_free(sc_address address)
{
    int device = device_of(address), result = fake_driver.mem_free(address);

    ck_assert_int_eq(result, SC_CUDA_SUCCESS);
    ck_assert(take(&devices[device].held, address));
    return result;
}

static bool site_text(const void *address, char *out, size_t bytes)
{
    (void)address;
    return bytes > 4 && memcpy(out, "here", 5);
}

static void allocate(const worker *self)
{
    const uint64_t bytes = sizes[sc_random_below(&random_numbers, SIZES)];
    sc_address address;

    if (self->device < 0 || devices[self->device].live.count == LIVE_MOST)
        return;
    ck_assert_int_eq(sc_engine_alloc(&address, bytes, (const void *)0x10), SC_CUDA_SUCCESS);
    put(&devices[self->device].live, address, bytes);
    devices[self->device].has_allocated = true;
    write_down(self->device);
}

static void give_back(void)
{
    int device = (int)sc_random_below(&random_numbers, DEVICES);
    pile *live = &devices[device].live;

    if (live->count == 0)
        return;
    sc_address address = live->blocks[sc_random_below(&random_numbers, live->count)].address;

    ck_assert_int_eq(sc_engine_free(address), SC_CUDA_SUCCESS);
    ck_assert(take(live, address));
    write_down(device);
}

/* Where the engine finds a device: the current one, if it has allocated. */
static int known(const worker *self)
{
    return self->device >= 0 && devices[self->device].has_allocated ? self->device : -1;
}

static void trim(const worker *self)
{
    shapecache_status status = shapecache_trim(-1);

    if (known(self) < 0) {
        ck_assert_int_ne(status, SHAPECACHE_OK);
        return;
    }
    ck_assert_int_eq(status, SHAPECACHE_OK);
    write_down(self->device);
    ck_assert_uint_eq(now(self->device).held, now(self->device).live);
}

static uint64_t idle_bytes(int device)
{
    return exact(&devices[device].held) - exact(&devices[device].live);
}

static void begin(worker *self)
{
    const unsigned flags = (unsigned)sc_random_below(&random_numbers, 4);
    scope *one = &self->scopes[self->depth];

    if (self->depth == DEPTH)
        return;
    *one = (scope){.device = known(self), .flags = flags};
    if (one->device >= 0 && flags & SHAPECACHE_SCOPE_TRIM_BEFORE)
        one->trimmed = idle_bytes(one->device);
    ck_assert_int_eq(shapecache_scope_begin("scope", flags), SHAPECACHE_OK);
    self->depth++;
    for (int i = 0; i < DEVICES; i++) {
        write_down(i);
        one->since[i] = devices[i].moments - 1;
        one->before[i] = now(i);
    }
}

static void compare(const scope *one, int device, const shapecache_scope_info *info)
{
    const moment most = most_since(device, one->since[device]), before = one->before[device];

    ck_assert_int_eq(info->device, device);
    ck_assert_uint_eq(info->live_before, before.live);
    ck_assert_uint_eq(info->idle_before, before.held - before.live);
    ck_assert_uint_eq(info->live_peak, most.live);
    ck_assert_uint_eq(info->held_peak, most.held);
    ck_assert_uint_eq(info->live, now(device).live);
    ck_assert_uint_eq(info->idle, now(device).held - now(device).live);
    ck_assert_uint_eq(info->trimmed, one->trimmed);
}

static void end(worker *self)
{
    shapecache_scope_info info;

    if (self->depth == 0) {
        ck_assert_int_eq(shapecache_scope_end(&info), SHAPECACHE_ESCOPE);
        return;
    }
    scope *one = &self->scopes[--self->depth];
    int device = one->device >= 0 ? one->device : known(self);

    if (device >= 0 && one->flags & SHAPECACHE_SCOPE_TRIM_AFTER)
        one->trimmed += idle_bytes(device);
    shapecache_status status = shapecache_scope_end(&info);

    ck_assert_int_eq(status, device >= 0 ? SHAPECACHE_OK : SHAPECACHE_EOFF);
    if (device < 0)
        return;
    write_down(device);
    ck_assert_uint_eq(info.depth, self->depth);
    compare(one, device, &info);
}

static void look(void)
{
    for (int i = 0; i < DEVICES; i++) {
        shapecache_memory_info info;

        if (shapecache_memory(i, &info) != SHAPECACHE_OK) {
            ck_assert(!devices[i].has_allocated);
            continue;
        }
        const moment most = most_since(i, 0);

        ck_assert_uint_eq(info.live, now(i).live);
        ck_assert_uint_eq(info.held, now(i).held);
        ck_assert_uint_eq(info.live_peak, most.live);
        ck_assert_uint_eq(info.held_peak, most.held);
    }
}

static void change_device(worker *self)
{
    self->device = (int)sc_random_below(&random_numbers, DEVICES + 1) - 1;
    fake_set_current(self->device < 0 ? 0 : fake_primary(self->device));
}

static void step(const worker *self)
{
    if (known(self) < 0)
        return;
    ck_assert_int_eq(shapecache_step(-1), SHAPECACHE_OK);
    write_down(self->device);
}

static void act(worker *self)
{
    switch (sc_random_below(&random_numbers, 20)) {
    case 0:
        change_device(self);
        break;
    case 1:
        if (sc_random_below(&random_numbers, 4) == 0)
            trim(self);
        break;
    case 2:
        step(self);
        break;
    case 3:
    case 4:
        begin(self);
        break;
    case 5:
    case 6:
        end(self);
        break;
    case 7:
        if (sc_random_below(&random_numbers, 20) == 0)
            look();
        break;
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
    case 13:
        give_back();
        break;
    default:
        allocate(self);
    }
}

/* The turn of one thread at a time; who is next is chosen by the one that had it. */
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static worker workers[THREADS];
static unsigned turn, operations;

static void *work(void *argument)
{
    worker *self = argument;

    (void)pthread_mutex_lock(&table);
    while (operations < OPERATIONS) {
        if (turn != (unsigned)(self - workers)) {
            (void)pthread_cond_wait(&passed, &table);
            continue;
        }
        for (uint64_t i = sc_random_below(&random_numbers, 20); i > 0; i--, operations++)
            act(self);
        turn = (unsigned)sc_random_below(&random_numbers, THREADS);
        (void)pthread_cond_broadcast(&passed);
    }
    while (self->depth)
        end(self);
    (void)pthread_mutex_unlock(&table);
    return NULL;
}

START_TEST(every_scope_sees_what_a_complete_history_says)
{
    sc_driver driver = fake_driver;
    sc_engine_host host = {.driver = &driver, .site_text = site_text};

    driver.mem_alloc = counted_alloc;
    driver.mem_free = counted_free;
    (void)setenv("SHAPECACHE_LOG", "off", 1);
    (void)setenv("SHAPECACHE_SUMMARY", "off", 1);
    (void)setenv("SHAPECACHE_STEP", "api", 1);
    (void)setenv("SHAPECACHE_WARMUP", "1", 1);
    (void)setenv("SHAPECACHE_REARM", "1", 1);
    random_numbers = sc_random_new("test_region_model");
    fake_init(1024 * MIB);
    sc_engine_attach(&host);
    for (int i = 0; i < DEVICES; i++)
        write_down(i);
    for (int i = 0; i < THREADS; i++) {
        workers[i].device = -1;
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
    look();
    ck_assert(devices[0].has_allocated && devices[1].has_allocated);
    ck_assert(!fake_was_called_under_lock());
    for (int i = 0; i < DEVICES; i++)
        free(devices[i].history);
}
END_TEST

SC_SUITE("region model", every_scope_sees_what_a_complete_history_says)
