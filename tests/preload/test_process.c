/* SPDX-License-Identifier: MIT
 * Whole processes under libshapecache.so, beside the fake libcuda. argv[1] names the case;
 * test_process.py reads what is left behind. */
#include "check.h"
#include "driver_types.h"
#include "fake.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEYS = 6, STEPS = 20, THREADS = 64, ROUNDS = 300, HELD = 8 };

static void *libcuda;
static alloc_type *alloc;
static free_type *release;
static context_type *set_current;
static fake_calls_type *calls;
static fake_live_type *live;

static void open_driver(void)
{
    libcuda = must(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1");
    alloc = FIND(alloc_type, libcuda, "cuMemAlloc_v2");
    release = FIND(free_type, libcuda, "cuMemFree_v2");
    set_current = FIND(context_type, libcuda, "cuCtxSetCurrent");
    calls = FIND(fake_calls_type, libcuda, "fake_calls");
    live = FIND(fake_live_type, libcuda, "fake_live");
    (void)set_current(FAKE_CONTEXT);
}

static size_t size_of(int key)
{
    return (size_t)(key + 1) << 20;
}

static void one_step(void)
{
    uint64_t held[KEYS];

    for (int key = 0; key < KEYS; key++)
        CHECK(alloc(&held[key], size_of(key)) == SUCCESS, "an allocation succeeds");
    for (int key = 0; key < KEYS; key++)
        CHECK(release(held[key]) == SUCCESS, "a free succeeds");
}

/* After this the set is fixed and every buffer is parked. */
static void warm_up(void)
{
    unsigned before;

    for (int step = 0; step < STEPS; step++)
        one_step();
    before = calls("cuMemAlloc_v2");
    one_step();
    CHECK(calls("cuMemAlloc_v2") == before, "steps that repeat make no driver allocation");
}

static void frees_keep_their_errors(void)
{
    uint64_t address = 0;
    uint64_t again = 0;
    unsigned frees;

    warm_up();
    CHECK(alloc(&address, size_of(2)) == SUCCESS, "alloc");
    frees = calls("cuMemFree_v2");
    CHECK(release(address + 512) == INVALID_VALUE && calls("cuMemFree_v2") == frees + 1,
          "an address inside a block is the driver's error");
    CHECK(release(0x1234) == INVALID_VALUE && calls("cuMemFree_v2") == frees + 2,
          "an unknown address is the driver's error");
    CHECK(release(address) == SUCCESS && calls("cuMemFree_v2") == frees + 2, "a free parks");
    CHECK(release(address) == INVALID_VALUE, "a second free is an error");
    CHECK(alloc(&again, size_of(2)) == SUCCESS && again == address,
          "the buffer is handed out again, once");
    CHECK(alloc(&address, size_of(2)) == SUCCESS && again != address, "not twice");
}

static void *free_without_context(void *address)
{
    CHECK(release(*(uint64_t *)address) == SUCCESS, "a thread that has no context frees");
    return NULL;
}

static void a_thread_without_context_frees(void)
{
    pthread_t thread;
    uint64_t address = 0;
    uint64_t again = 0;
    unsigned before;

    warm_up();
    (void)alloc(&address, size_of(0));
    (void)pthread_create(&thread, NULL, free_without_context, &address);
    (void)pthread_join(thread, NULL);
    before = calls("cuMemAlloc_v2");
    CHECK(alloc(&again, size_of(0)) == SUCCESS && again == address &&
              calls("cuMemAlloc_v2") == before,
          "and the buffer is served again");
}

/* In a child everything is the driver's, our side is silent. */
static int child_is_inert(uint64_t held)
{
    const unsigned allocs = calls("cuMemAlloc_v2");
    const unsigned frees = calls("cuMemFree_v2");
    uint64_t address = 0;

    CHECK(alloc(&address, size_of(1)) == SUCCESS && calls("cuMemAlloc_v2") == allocs + 1,
          "a child's allocation goes to the driver");
    CHECK(release(address) == SUCCESS && release(held) == SUCCESS &&
              calls("cuMemFree_v2") == frees + 2,
          "so do its frees, also of its parent's blocks");
    CHECK(dlsym(libcuda, "cuMemAlloc_v2") == (void *)(uintptr_t)alloc, "look-ups still work");
    return check_failures != 0;
}

static void wait_for(long child)
{
    int status = -1;

    CHECK(child > 0 && waitpid((pid_t)child, &status, 0) == child && WIFEXITED(status) &&
              WEXITSTATUS(status) == 0,
          "the child was inert");
}

static void *keep_busy(void *stop)
{
    (void)set_current(FAKE_CONTEXT);
    while (!atomic_load((atomic_bool *)stop)) {
        uint64_t address = 0;

        CHECK(alloc(&address, size_of(3)) == SUCCESS && release(address) == SUCCESS, "busy");
    }
    return NULL;
}

static void children_are_inert(void)
{
    atomic_bool stop = false;
    pthread_t busy;
    uint64_t held = 0;
    long child;

    warm_up();
    (void)alloc(&held, size_of(4));
    child = fork();
    if (child == 0)
        exit(child_is_inert(held)); /* with destructors */
    wait_for(child);
    child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(child_is_inert(held));
    wait_for(child);
    (void)pthread_create(&busy, NULL, keep_busy, &stop); /* holds our locks at any moment */
    for (int i = 0; i < 50; i++) {
        child = fork();
        if (child == 0) {
            alarm(20); /* a lock inherited while held would hang here */
            uint64_t address = 0;

            (void)alloc(&address, size_of(3));
            (void)release(address);
            _exit(check_failures != 0);
        }
        wait_for(child);
    }
    atomic_store(&stop, true);
    (void)pthread_join(busy, NULL);
    CHECK(release(held) == SUCCESS, "the parent goes on");
    one_step();
}

static uint64_t held_until_the_end;

__attribute__((destructor)) static void free_late(void)
{
    if (held_until_the_end != 0) {
        uint64_t address = 0;

        CHECK(release(held_until_the_end) == SUCCESS, "a destructor frees");
        CHECK(alloc(&address, size_of(1)) == SUCCESS && release(address) == SUCCESS,
              "and allocates");
        if (check_failures != 0)
            _exit(1);
    }
}

static void destructors_still_free(void)
{
    warm_up();
    (void)alloc(&held_until_the_end, size_of(1));
}

static void a_closed_driver_stays_usable(void)
{
    warm_up();
    for (int i = 0; i < 3; i++)
        (void)dlclose(libcuda);
    one_step();
    open_driver();
    one_step();
}

static void the_rest_is_freed_by_the_driver_alone(void)
{
    const unsigned frees = calls("cuMemFree_v2");

    warm_up();
    CHECK(live() == KEYS, "every buffer is parked, none was given back");
    CHECK(calls("cuMemFree_v2") > frees, "before the set was fixed, frees were real");
}

/* As a daemon does: closes all it does not know, and files of its own get the numbers. The one it
 * has open from the start may be number 2. */
static void only_the_program_writes_to_its_files(void)
{
    enum { MOST = 256 };
    struct stat about;
    int own = open("own", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    CHECK(own >= 0 && unlink("own") == 0, "a file");
    warm_up();
    CHECK(open("/dev/null", O_RDONLY | O_CLOEXEC) == own + 1, "numbers are as without us");
    for (int number = own + 1; number < MOST; number++)
        CHECK(dup2(own, number) == number, "every other number is that file, too");
    warm_up();
    CHECK(alloc(&held_until_the_end, size_of(KEYS)) == SUCCESS, "a new shape has a notice");
    one_step();
    CHECK(fstat(own, &about) == 0 && about.st_size == 0, "nobody has written to it");
    held_until_the_end = 0;
}

/* Threads: no address may belong to two at once. */

static _Atomic(uint8_t) owned[1 << 20]; /* a byte for each 512 of 0.5 GiB of addresses */
static unsigned seed;

static atomic_uchar *mark_of(uint64_t address)
{
    return &owned[(address >> 21) % sizeof(owned)];
}

static void *churn(void *number)
{
    unsigned state = seed + (unsigned)(uintptr_t)number;
    uint64_t held[HELD] = {0};

    (void)set_current(FAKE_CONTEXT);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t *at;

        state = state * 1664525u + 1013904223u;
        at = &held[(state >> 8) % HELD];
        if (*at != 0) {
            CHECK(atomic_exchange(mark_of(*at), 0) == 1, "what is freed was owned once");
            CHECK(release(*at) == SUCCESS, "a free succeeds");
            *at = 0;
        } else {
            CHECK(alloc(at, size_of((int)((state >> 16) % KEYS))) == SUCCESS, "alloc succeeds");
            CHECK(atomic_exchange(mark_of(*at), 1) == 0, "what is handed out was nobody's");
        }
    }
    for (int i = 0; i < HELD; i++) {
        if (held[i] != 0) {
            atomic_store(mark_of(held[i]), 0);
            CHECK(release(held[i]) == SUCCESS, "a free succeeds");
        }
    }
    return NULL;
}

static void no_address_has_two_owners(void)
{
    pthread_t threads[THREADS];
    const char *given = getenv("SC_SEED");

    seed = given != NULL ? (unsigned)atoi(given) : (unsigned)getpid();
    (void)printf("SC_SEED=%u\n", seed);
    FIND(fake_memory_type, libcuda, "fake_memory")((size_t)64 << 30);
    for (uintptr_t i = 0; i < THREADS; i++)
        (void)pthread_create(&threads[i], NULL, churn, (void *)i);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"frees", frees_keep_their_errors},       {"no_context", a_thread_without_context_frees},
        {"children", children_are_inert},         {"destructor", destructors_still_free},
        {"closed", a_closed_driver_stays_usable}, {"exit", the_rest_is_freed_by_the_driver_alone},
        {"threads", no_address_has_two_owners},   {"files", only_the_program_writes_to_its_files},
    };

    open_driver();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return check_failures != 0 ? 1 : 7; /* 7: nobody may change it */
        }
    }
    return 2;
}
