/* SPDX-License-Identifier: MIT
 * test_archive.c - what it means to have libcudart inside, linked from libcudart_static.a: argument
 * 1 is a plugin so linked, argument 2 the archive. This program is linked with it, too. */
#include "run.h"
#include "sim/simcuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *plugin_path;
static const char *archive_path;

/* A name that is free for the program to use, though libcudart has a function so called. */
int simrt_bind(void);

int simrt_bind(void)
{
    return 4711;
}

START_TEST(the_program_is_served_by_the_copy_inside)
{
    void *pointer = NULL;
    Dl_info found;
    void *function = NULL;
    cudaError_t (*allocate)(void **, size_t) = cudaMalloc;

    ok(cudaMalloc(&pointer, MIB));
    ok(cudaFree(pointer));
    memcpy(&function, &allocate, sizeof(function));
    ck_assert_int_ne(dladdr(function, &found), 0);
    ck_assert_ptr_null(strstr(found.dli_fname, "libcudart"));
    ck_assert_ptr_null(dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD));
    ck_assert_int_eq(simrt_bind(), 4711);
}
END_TEST

START_TEST(what_is_not_modelled_is_inside_and_says_so)
{
    struct cudaMemPoolPtrExportData data;
    int nothing = 0;

    fails(cudaErrorNotSupported, cudaMemPoolExportPointer(&data, &nothing));
}
END_TEST

static void do_nothing(const simcuda_launch *launch, void **arguments)
{
    (void)launch;
    (void)arguments;
}

START_TEST(a_weak_reference_finds_the_registration_of_kernels)
{
    ck_assert(simcuda_kernel != NULL);
    ck_assert_int_eq(simcuda_kernel("kernel", do_nothing, NULL, 0, NULL), 0);
}
END_TEST

static void use_plugin(void)
{
    void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    int (*allocate)(void **, size_t);
    void *function;
    void *pointer = NULL;

    if (plugin == NULL || dlsym(plugin, "cudaMalloc") != NULL)
        _exit(1);
    function = dlsym(plugin, "plugin_allocate");
    memcpy(&allocate, &function, sizeof(allocate));
    if (allocate(&pointer, MIB) != 0 || pointer == NULL)
        _exit(2);
    dlclose(plugin);
    exit(0);
}

START_TEST(a_plugin_keeps_its_copy_to_itself_and_may_be_closed)
{
    char path[] = "/tmp/simrt_archive.XXXXXX";
    char report[16384] = "";
    int status = -1;
    FILE *file;
    pid_t child;

    ck_assert_int_ge(mkstemp(path), 0);
    ck_assert_int_eq(setenv("SIMCUDA_REPORT", path, 1), 0);
    child = fork();
    if (child == 0)
        use_plugin();
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(report, 1, sizeof(report) - 1, file), 0);
    fclose(file);
    unlink(path);
    ck_assert_msg(strstr(report, "\"cudaMalloc\": 1\n") != NULL, "%s", report);
}
END_TEST

/* Of several members the linker takes the first that defines a name: the weak "not supported" ones,
 * perhaps. */
START_TEST(the_archive_is_one_member)
{
    char magic[8];
    char header[60];
    unsigned members = 0;
    FILE *archive = fopen(archive_path, "r");

    ck_assert_ptr_nonnull(archive);
    ck_assert_uint_eq(fread(magic, 1, sizeof(magic), archive), sizeof(magic));
    while (fread(header, 1, sizeof(header), archive) == sizeof(header)) {
        char digits[11] = "";
        long bytes;

        memcpy(digits, header + 48, 10);
        bytes = strtol(digits, NULL, 10);
        if (strncmp(header, "/ ", 2) != 0 && strncmp(header, "// ", 3) != 0) /* the linker's own */
            members++;
        ck_assert_int_eq(fseek(archive, bytes + bytes % 2, SEEK_CUR), 0);
    }
    fclose(archive);
    ck_assert_uint_eq(members, 1);
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {
        the_program_is_served_by_the_copy_inside,
        what_is_not_modelled_is_inside_and_says_so,
        a_weak_reference_finds_the_registration_of_kernels,
        a_plugin_keeps_its_copy_to_itself_and_may_be_closed,
        the_archive_is_one_member,
    };

    if (argc != 3)
        return EXIT_FAILURE;
    plugin_path = argv[1];
    archive_path = argv[2];
    return run_tests("archive", tests, sizeof(tests) / sizeof(tests[0]));
}
