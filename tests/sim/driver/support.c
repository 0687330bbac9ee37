/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_NOTES 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int notes[MAX_NOTES];
static size_t notes_used;

void with(const char *name, const char *value)
{
    char full[64];

    snprintf(full, sizeof full, "SIMCUDA_%s", name);
    ck_assert_int_eq(setenv(full, value, 1), 0);
}

CUcontext start(void)
{
    CUcontext context;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    return context;
}

static void hold(void *argument)
{
    struct gate *gate = argument;

    sem_post(&gate->entered);
    while (sem_wait(&gate->opened) != 0)
        continue;
}

void gate_hold(struct gate *gate, CUstream stream)
{
    sem_init(&gate->entered, 0, 0);
    sem_init(&gate->opened, 0, 0);
    OK(cuLaunchHostFunc(stream, hold, gate));
}

void gate_reached(struct gate *gate)
{
    while (sem_wait(&gate->entered) != 0)
        continue;
}

void gate_open(struct gate *gate)
{
    sem_post(&gate->opened);
}

static void add_note(void *argument)
{
    pthread_mutex_lock(&lock);
    notes[notes_used++] = (int)(intptr_t)argument;
    pthread_mutex_unlock(&lock);
}

void note(CUstream stream, int number)
{
    OK(cuLaunchHostFunc(stream, add_note, (void *)(intptr_t)number));
}

static void note_kernel(const simcuda_launch *launch, void **args)
{
    (void)launch;
    add_note((void *)(intptr_t) * (int *)args[0]);
}

static unsigned touches_nothing(const simcuda_launch *launch, void **args, simcuda_range *ranges)
{
    (void)launch;
    (void)args;
    (void)ranges;
    return 0;
}

void note_by_kernel(CUstream stream, int number)
{
    static const size_t sizes[] = {sizeof(int)};
    static CUfunction kernel;
    void *arguments[] = {&number};

    if (!kernel) {
        ck_assert_int_eq(simcuda_kernel("note", note_kernel, sizes, 1, touches_nothing), 0);
        kernel = function("note");
    }
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

size_t note_count(void)
{
    size_t count;

    pthread_mutex_lock(&lock);
    count = notes_used;
    pthread_mutex_unlock(&lock);
    return count;
}

int note_at(size_t i)
{
    int number;

    ck_assert_uint_lt(i, note_count());
    pthread_mutex_lock(&lock);
    number = notes[i];
    pthread_mutex_unlock(&lock);
    return number;
}

CUfunction function(const char *name)
{
    CUmodule module;
    CUfunction found;

    OK(cuModuleLoadData(&module, "an image"));
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

size_t mapped(void)
{
    size_t unused, total;

    OK(cuMemGetInfo(&unused, &total));
    return total - unused;
}

/* Everything in a file that a child wrote. */
static char *read_all(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);

    ck_assert_ptr_nonnull(text);
    if (file) {
        (void)!fread(text, 1, (1 << 20) - 1, file);
        fclose(file);
    }
    unlink(path);
    return text;
}

static void temporary(char *path, size_t bytes)
{
    int fd;

    snprintf(path, bytes, "/tmp/simcuda-test-XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void run_child(void (*body)(void), const char *stderr_path)
{
    pid_t child = fork();
    int status;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (stderr_path && !freopen(stderr_path, "w", stderr))
            _exit(9);
        body();
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status %x",
                  (unsigned)status);
}

char *stderr_of(void (*body)(void))
{
    char path[64];

    temporary(path, sizeof path);
    run_child(body, path);
    return read_all(path);
}

char *report_of(void (*body)(void))
{
    char path[64];

    temporary(path, sizeof path);
    unlink(path);
    with("REPORT", path);
    run_child(body, NULL);
    return read_all(path);
}

long long number_in(const char *report, const char *key)
{
    char quoted[96];
    const char *found;

    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    found = strstr(report, quoted);
    return found ? strtoll(found + strlen(quoted), NULL, 10) : -1;
}

uint64_t seed(void)
{
    const char *given = getenv("SC_SEED");
    uint64_t value = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);

    printf("SC_SEED=%llu\n", (unsigned long long)value);
    fflush(stdout);
    return value;
}

uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15ull; /* splitmix64 */

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

int run_tests(const char *name, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    for (; *tests; tests++)
        tcase_add_test(tcase, *tests);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
