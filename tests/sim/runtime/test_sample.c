/* SPDX-License-Identifier: MIT
 * test_sample.c - SIMCUDA_SAMPLES, written by a child process and read when it has ended. Two
 * devices. */
#include "run.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct sample {
    unsigned long long call, bytes, live, live_mapped, device_mapped, device_most;
    char op[8];
} sample;

enum { MAX_SAMPLES = 8192 };

static char path[] = "/tmp/simrt_sample.XXXXXX";
static sample samples[MAX_SAMPLES];
static size_t sample_count;

static void setup(void)
{
    int file = mkstemp(path);

    ck_assert_int_ge(file, 0);
    close(file);
    ck_assert_int_eq(setenv("SIMCUDA_SAMPLES", path, 1), 0);
}

static void teardown(void)
{
    unlink(path);
}

static void read_samples(void)
{
    char line[256];
    FILE *file = fopen(path, "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
    ck_assert_str_eq(line, "call,op,bytes,live,live_mapped,device_mapped,device_most\n");
    for (sample_count = 0; fgets(line, sizeof(line), file) != NULL; sample_count++) {
        sample *s = &samples[sample_count];

        ck_assert_uint_lt(sample_count, MAX_SAMPLES);
        ck_assert_int_eq(sscanf(line, "%llu,%7[a-z],%llu,%llu,%llu,%llu,%llu\n", &s->call, s->op,
                                &s->bytes, &s->live, &s->live_mapped, &s->device_mapped,
                                &s->device_most),
                         7);
        ck_assert_uint_eq(s->call, sample_count + 1);
        ck_assert_uint_ge(s->device_most, s->device_mapped);
    }
    fclose(file);
}

/* Runs `program` to its exit in a process of its own. */
static void record(void (*program)(void))
{
    int status = -1;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        program();
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    read_samples();
}

static void expect(size_t index, const char *op, size_t bytes, size_t live, size_t live_mapped)
{
    const sample *s = &samples[index];

    ck_assert_uint_lt(index, sample_count);
    ck_assert_str_eq(s->op, op);
    ck_assert_uint_eq(s->bytes, bytes);
    ck_assert_uint_eq(s->live, live);
    ck_assert_uint_eq(s->live_mapped, live_mapped);
}

static void allocate_by_the_rule(void)
{
    void *pointer[4];

    ok(cudaMalloc(&pointer[0], MIB + 1));     /* 2 MiB */
    ok(cudaMalloc(&pointer[1], 1));           /* 512 B, of a block of 2 MiB */
    ok(cudaMalloc(&pointer[2], MIB - 1));     /* in the same block */
    ok(cudaMalloc(&pointer[3], 2 * MIB + 1)); /* 4 MiB */
    ok(cudaFree(pointer[0]));
    ok(cudaFree(pointer[2]));
    ok(cudaFree(pointer[1]));
    ok(cudaFree(pointer[3]));
}

START_TEST(each_allocation_and_free_is_a_line_with_what_the_program_holds)
{
    record(allocate_by_the_rule);
    ck_assert_uint_eq(sample_count, 8);
    expect(0, "malloc", MIB + 1, MIB + 1, 2 * MIB);
    expect(1, "malloc", 1, MIB + 2, 4 * MIB);
    expect(2, "malloc", MIB - 1, 2 * MIB + 1, 4 * MIB);
    expect(3, "malloc", 2 * MIB + 1, 4 * MIB + 2, 8 * MIB);
    expect(4, "free", MIB + 1, 3 * MIB + 1, 6 * MIB);
    expect(5, "free", MIB - 1, 2 * MIB + 2, 6 * MIB);
    expect(6, "free", 1, 2 * MIB + 1, 4 * MIB);
    expect(7, "free", 2 * MIB + 1, 0, 0);
}
END_TEST

START_TEST(without_a_cache_the_device_holds_what_the_program_does)
{
    record(allocate_by_the_rule);
    for (size_t i = 0; i < sample_count; i++)
        ck_assert_uint_eq(samples[i].device_mapped, samples[i].live_mapped);
    ck_assert_uint_eq(samples[4].device_most, 8 * MIB);
    ck_assert_uint_eq(samples[7].device_most, 4 * MIB);
}
END_TEST

static void allocate_many_small_ones(void)
{
    void *pointer = NULL;

    for (int i = 0; i < 4097; i++)
        ok(cudaMalloc(&pointer, 1));
}

START_TEST(small_allocations_take_512_bytes_each_of_whole_blocks)
{
    record(allocate_many_small_ones);
    ck_assert_uint_eq(sample_count, 4097);
    expect(4095, "malloc", 1, 4096, 2 * MIB);
    expect(4096, "malloc", 1, 4097, 4 * MIB);
    ck_assert_uint_eq(samples[4096].device_mapped, 4 * MIB);
}
END_TEST

static void allocate_in_vain(void)
{
    void *pointer = NULL;
    char local = 0;

    ok(cudaMalloc(&pointer, 0));
    ok(cudaFree(pointer));
    ck_assert_int_eq(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMalloc(&pointer, (size_t)1 << 50), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cudaFree(&local), cudaErrorInvalidValue);
    ok(cudaMalloc(&pointer, 7));
    ok(cudaFree(pointer));
    ck_assert_int_eq(cudaFree(pointer), cudaErrorInvalidValue);
}

START_TEST(calls_without_memory_and_calls_that_fail_are_no_lines)
{
    record(allocate_in_vain);
    ck_assert_uint_eq(sample_count, 2);
    expect(0, "malloc", 7, 7, 2 * MIB);
    expect(1, "free", 7, 0, 0);
}
END_TEST

static void fail_one_free(void)
{
    void *pointer = NULL;

    ck_assert_int_eq(setenv("SIMCUDA_FAIL", "cuMemFree_v2:1:1", 1), 0);
    ok(cudaMalloc(&pointer, 3 * MIB));
    ck_assert_int_eq(cudaFree(pointer), cudaErrorInvalidValue);
    ok(cudaFree(pointer));
}

START_TEST(memory_that_could_not_be_freed_is_still_the_programs)
{
    record(fail_one_free);
    ck_assert_uint_eq(sample_count, 2);
    expect(0, "malloc", 3 * MIB, 3 * MIB, 4 * MIB);
    expect(1, "free", 3 * MIB, 0, 0);
}
END_TEST

static void use_two_devices(void)
{
    void *first = NULL;
    void *second = NULL;

    ok(cudaMalloc(&first, MIB));
    ok(cudaSetDevice(1));
    ok(cudaMalloc(&second, 3 * MIB));
    ok(cudaFree(first));
    ok(cudaDeviceReset());
    ok(cudaMalloc(&second, 5 * MIB));
}

START_TEST(each_line_is_about_the_device_of_its_memory)
{
    record(use_two_devices);
    ck_assert_uint_eq(sample_count, 4);
    expect(0, "malloc", MIB, MIB, 2 * MIB);
    expect(1, "malloc", 3 * MIB, 3 * MIB, 4 * MIB);
    expect(2, "free", MIB, 0, 0);
    expect(3, "malloc", 5 * MIB, 5 * MIB, 6 * MIB); /* the reset took the rest */
}
END_TEST

static void *allocate_and_free(void *unused)
{
    (void)unused;
    for (int i = 0; i < 400; i++) {
        void *pointer = NULL;

        ok(cudaMalloc(&pointer, MIB));
        ok(cudaFree(pointer));
    }
    return NULL;
}

static void use_four_threads(void)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, allocate_and_free, NULL), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}

START_TEST(threads_lose_no_line_and_end_with_nothing_held)
{
    record(use_four_threads);
    ck_assert_uint_eq(sample_count, 3200); /* more than one buffer full */
    ck_assert_uint_eq(samples[3199].live, 0);
    ck_assert_uint_eq(samples[3199].live_mapped, 0);
}
END_TEST

static void fork_in_between(void)
{
    void *pointer = NULL;
    int status = -1;
    pid_t child;

    ok(cudaMalloc(&pointer, 1));
    child = fork();
    if (child == 0)
        exit(0); /* with lines in its copy of the buffer */
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ok(cudaFree(pointer));
}

START_TEST(a_forked_child_writes_nothing)
{
    record(fork_in_between);
    ck_assert_uint_eq(sample_count, 2);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        each_allocation_and_free_is_a_line_with_what_the_program_holds,
        without_a_cache_the_device_holds_what_the_program_does,
        small_allocations_take_512_bytes_each_of_whole_blocks,
        calls_without_memory_and_calls_that_fail_are_no_lines,
        memory_that_could_not_be_freed_is_still_the_programs,
        each_line_is_about_the_device_of_its_memory,
        threads_lose_no_line_and_end_with_nothing_held,
        a_forked_child_writes_nothing,
    };

    return run_tests_in("sample", tests, sizeof(tests) / sizeof(tests[0]), setup, teardown);
}
