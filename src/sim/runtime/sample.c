/* SPDX-License-Identifier: MIT
 * sample.c - see sample.h. */
#include "sample.h"

#include "bind.h"
#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

struct simrt_sample_record {
    void *pointer;
    size_t bytes;
    int device;
    UT_hash_handle hh;
};

typedef struct tally {
    uint64_t live;
    uint64_t large; /* mapped bytes of allocations of 1 MiB and more */
    uint64_t small; /* of the rest, before their sum is rounded */
} tally;

enum { BUFFER_BYTES = 64 * 1024, LINE_BYTES = 160 };

static const uint64_t mib = 1024 * 1024ull;

static const char header[] = "call,op,bytes,live,live_mapped,device_mapped,device_most\n";

static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below but `abandoned` */
static _Atomic bool abandoned;
static int file = -1;
static simrt_sample_record *records;
static tally tallies[SIMRT_MAX_DEVICES];
static uint64_t calls;
static char buffer[BUFFER_BYTES];
static size_t used;

static void open_file(void)
{
    const char *path = getenv("SIMCUDA_SAMPLES");

    if (path == NULL || *path == '\0')
        return;
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) {
        fprintf(stderr, "simcuda: SIMCUDA_SAMPLES: cannot write %s: %s\n", path, strerror(errno));
        return;
    }
    memcpy(buffer, header, sizeof(header) - 1);
    used = sizeof(header) - 1;
}

static bool is_on(void)
{
    pthread_once(&open_once, open_file);
    return file >= 0 && !atomic_load(&abandoned);
}

static void write_out(void)
{
    size_t done = 0;

    while (done < used) {
        ssize_t written = write(file, buffer + done, used - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            fprintf(stderr, "simcuda: SIMCUDA_SAMPLES: lines lost: %s\n", strerror(errno));
            break;
        }
        done += (size_t)written;
    }
    used = 0;
}

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static void account(const simrt_sample_record *record, bool add)
{
    tally *sum = &tallies[record->device];
    bool is_large = record->bytes >= mib;
    uint64_t mapped = round_up(record->bytes, is_large ? 2 * mib : 512);
    uint64_t *part = is_large ? &sum->large : &sum->small;

    sum->live = add ? sum->live + record->bytes : sum->live - record->bytes;
    *part = add ? *part + mapped : *part - mapped;
}

/* Under the lock, after account(). */
static void write_line(const char *op, const simrt_sample_record *record)
{
    const tally *sum = &tallies[record->device];
    uint64_t now = 0;
    uint64_t most = 0;
    int length;

    if (simrt_simulator_table.mapped_bytes != NULL)
        simrt_simulator_table.mapped_bytes(record->device, &now, &most);
    if (used + LINE_BYTES > BUFFER_BYTES)
        write_out();
    length = snprintf(buffer + used, LINE_BYTES,
                      "%" PRIu64 ",%s,%zu,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
                      ++calls, op, record->bytes, sum->live,
                      sum->large + round_up(sum->small, 2 * mib), now, most);
    used += (size_t)length;
}

void simrt_sample_allocated(void *pointer, size_t bytes)
{
    simrt_sample_record *record;

    if (!is_on())
        return;
    record = malloc(sizeof(*record));
    if (record == NULL) {
        fprintf(stderr, "simcuda: SIMCUDA_SAMPLES: out of memory, an allocation is missing\n");
        return;
    }
    record->pointer = pointer;
    record->bytes = bytes;
    record->device = simrt_device_current();
    pthread_mutex_lock(&lock);
    HASH_ADD_PTR(records, pointer, record);
    account(record, true);
    write_line("malloc", record);
    pthread_mutex_unlock(&lock);
}

simrt_sample_record *simrt_sample_freeing(void *pointer)
{
    simrt_sample_record *record = NULL;

    if (!is_on())
        return NULL;
    pthread_mutex_lock(&lock);
    HASH_FIND_PTR(records, &pointer, record);
    if (record != NULL)
        HASH_DEL(records, record);
    pthread_mutex_unlock(&lock);
    return record;
}

void simrt_sample_freed(simrt_sample_record *record, bool succeeded)
{
    if (record == NULL)
        return;
    pthread_mutex_lock(&lock);
    if (succeeded) {
        account(record, false);
        write_line("free", record);
    } else {
        HASH_ADD_PTR(records, pointer, record);
    }
    pthread_mutex_unlock(&lock);
    if (succeeded)
        free(record);
}

void simrt_sample_forget(int device)
{
    simrt_sample_record *record;
    simrt_sample_record *next;

    if (!is_on())
        return;
    pthread_mutex_lock(&lock);
    for (record = records; record != NULL; record = next) {
        next = record->hh.next;
        if (record->device == device) {
            account(record, false);
            /* NOLINTNEXTLINE(clang-analyzer-*): it loses track of uthash's list */
            HASH_DEL(records, record);
            free(record);
        }
    }
    pthread_mutex_unlock(&lock);
}

void simrt_sample_flush(void)
{
    if (file < 0 || atomic_load(&abandoned))
        return;
    pthread_mutex_lock(&lock);
    write_out();
    pthread_mutex_unlock(&lock);
}

void simrt_sample_abandon(void)
{
    atomic_store(&abandoned, true);
}
