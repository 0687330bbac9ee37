/* SPDX-License-Identifier: MIT */
#include "arena/pinned.h"
#include "base/clock.h"
#include "base/text.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#define HAS(feature) __has_feature(feature)
#else
#define HAS(feature) 0
#endif

/* Under the versions that every C library since 2.17 has; a sanitizer wants to see the plain ones.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) &&      \
    !HAS(thread_sanitizer) && !HAS(address_sanitizer)
__asm__(".symver pthread_create,pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_join,pthread_join@GLIBC_2.2.5");
#endif

enum { LOOSE, LOCKING, LOCKED, REFUSED };
enum { PREFERRED = 1, NODES_MOST = 1024 }; /* MPOL_PREFERRED */

/* Where the pages are to come from. A kernel without nodes, or that forbids it, changes nothing. */
static void prefer(void *at, uint64_t bytes, int64_t node)
{
    unsigned long mask[NODES_MOST / (8 * sizeof(unsigned long))] = {0};
    const size_t bits = 8 * sizeof mask[0];

    if (node < 0 || node >= NODES_MOST - 1)
        return;
    mask[(size_t)node / bits] = 1UL << ((size_t)node % bits);
    (void)syscall(SYS_mbind, at, bytes, PREFERRED, mask, (unsigned long)NODES_MOST, 0U);
}

bool sc_pinned_map(sc_pinned *pinned, const sc_driver *driver, sc_context context, uint64_t bytes,
                   uint64_t chunk, int64_t node)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t whole = (bytes + page - 1) / page * page;

    *pinned = (sc_pinned){.driver = driver, .context = context, .bytes = whole};
    pinned->chunk = chunk == 0 || chunk >= whole ? whole : (chunk + page - 1) / page * page;
    pinned->chunks = (uint32_t)((whole + pinned->chunk - 1) / pinned->chunk);
    pinned->states = calloc(pinned->chunks + 1, sizeof *pinned->states);
    if (!pinned->states || whole < bytes)
        return false;
    void *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) {
        free(pinned->states);
        pinned->states = NULL;
        return false;
    }
    prefer(at, whole, node);
    pinned->at = at;
    return true;
}

static uint64_t chunk_bytes(const sc_pinned *pinned, uint32_t chunk)
{
    uint64_t left = pinned->bytes - chunk * pinned->chunk;

    return left < pinned->chunk ? left : pinned->chunk;
}

/* The caller has claimed it. */
static void lock(sc_pinned *pinned, uint32_t chunk)
{
    uint64_t bytes = chunk_bytes(pinned, chunk), began = sc_clock_ns();
    int result = pinned->driver->host_register(pinned->at + chunk * pinned->chunk, bytes);
    bool is_locked = result == SC_CUDA_SUCCESS;

    (void)atomic_fetch_add(&pinned->ns, sc_clock_ns() - began);
    if (is_locked) {
        (void)atomic_fetch_add(&pinned->locked, bytes);
    } else {
        atomic_store(&pinned->result, result);
        (void)atomic_fetch_add(&pinned->refused, 1);
    }
    atomic_store(&pinned->states[chunk], is_locked ? LOCKED : REFUSED);
    (void)atomic_fetch_add(&pinned->states[pinned->chunks], 1);
    (void)syscall(SYS_futex, &pinned->states[pinned->chunks], FUTEX_WAKE_PRIVATE, INT32_MAX, NULL,
                  NULL, 0);
}

static bool claim(sc_pinned *pinned, uint32_t chunk)
{
    unsigned loose = LOOSE;

    return atomic_compare_exchange_strong(&pinned->states[chunk], &loose, LOCKING);
}

bool sc_pinned_lock_all(sc_pinned *pinned)
{
    for (uint32_t i = 0; i < pinned->chunks && !atomic_load(&pinned->refused); i++)
        if (claim(pinned, i))
            lock(pinned, i);
    return atomic_load(&pinned->refused) == 0;
}

static void *help(void *self)
{
    sc_pinned *pinned = self;

    if (pinned->driver->context_push(pinned->context) != SC_CUDA_SUCCESS)
        return NULL;
    for (uint32_t i = 0; i < pinned->chunks && !atomic_load(&pinned->is_ending); i++)
        if (claim(pinned, i))
            lock(pinned, i);
    (void)pinned->driver->context_pop();
    return NULL;
}

bool sc_pinned_start(sc_pinned *pinned)
{
    sigset_t all, before;

    (void)sigfillset(&all); /* the program's signals are for the program's threads */
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pinned->has_helper = pthread_create(&pinned->helper, NULL, help, pinned) == 0;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pinned->has_helper;
}

void sc_pinned_use(sc_pinned *pinned, uint64_t offset, uint64_t bytes)
{
    uint32_t last = (uint32_t)((offset + bytes - 1) / pinned->chunk);

    for (uint32_t i = (uint32_t)(offset / pinned->chunk); i <= last; i++) {
        if (claim(pinned, i))
            lock(pinned, i);
        for (;;) {
            unsigned seen = atomic_load(&pinned->states[pinned->chunks]);

            if (atomic_load(&pinned->states[i]) != LOCKING)
                break;
            (void)syscall(SYS_futex, &pinned->states[pinned->chunks], FUTEX_WAIT_PRIVATE, seen,
                          NULL, NULL, 0);
        }
    }
}

static void end_helper(sc_pinned *pinned)
{
    atomic_store(&pinned->is_ending, true);
    if (pinned->has_helper)
        (void)pthread_join(pinned->helper, NULL);
    pinned->has_helper = false;
}

void sc_pinned_abandon(sc_pinned *pinned)
{
    if (!pinned->at)
        return;
    end_helper(pinned);
    (void)munmap(pinned->at, pinned->bytes);
    free(pinned->states);
    *pinned = (sc_pinned){.at = NULL};
}

void sc_pinned_unmap(sc_pinned *pinned, bool is_idle)
{
    if (!pinned->at)
        return;
    end_helper(pinned);
    for (uint32_t i = 0; is_idle && i < pinned->chunks; i++) {
        char *at = pinned->at + i * pinned->chunk;

        if (atomic_load(&pinned->states[i]) == LOCKED &&
            pinned->driver->host_unregister(at) != SC_CUDA_SUCCESS)
            (void)pinned->driver->host_unregister(at);
    }
    if (is_idle)
        (void)munmap(pinned->at, pinned->bytes);
    free(pinned->states);
    *pinned = (sc_pinned){.at = NULL};
}

int64_t sc_pinned_node(const char *sysfs, const char *bus)
{
    char path[128], number[32];
    sc_text text = sc_text_over(path, sizeof path);
    uint64_t node;

    sc_text_string(&text, sysfs);
    sc_text_string(&text, "/bus/pci/devices/");
    for (const char *c = bus; *c; c++) /* the kernel names devices in lower case */
        sc_text_char(&text, (char)(*c >= 'A' && *c <= 'F' ? *c - 'A' + 'a' : *c));
    sc_text_string(&text, "/numa_node");
    int fd = text.used < text.size ? open(sc_text_terminate(&text), O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd < 0 ? -1 : read(fd, number, sizeof number - 1);

    if (fd >= 0)
        (void)close(fd);
    if (got <= 0)
        return -1;
    number[got] = '\0';
    number[strcspn(number, "\n")] = '\0';
    return sc_parse_u64(number, &node) && node < NODES_MOST ? (int64_t)node : -1;
}
