/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "die.h"

enum { FIRST_BYTES = 6, FIRST_BUFFER = 1 << 20 };

static const struct {
    const char *tool;
    const char *bytes;
    size_t count;
} packings[] = {
    {"xz", "\xfd\x37zXZ\0", 6},
    {"gzip", "\x1f\x8b", 2},
};

static _Noreturn void unreadable(const char *path)
{
    die(EXIT_INPUT, "%s: %s", path, strerror(errno));
}

static struct input read_all(const char *path, int file)
{
    size_t size = FIRST_BUFFER, used = 0;
    char *text = malloc(size), *larger = text;
    ssize_t count;

    while (larger != NULL) {
        count = read(file, text + used, size - used);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            unreadable(path);
        if (count == 0)
            return (struct input){path, text, used};
        used += (size_t)count;
        if (used == size) {
            larger = realloc(text, size *= 2);
            text = larger != NULL ? larger : text;
        }
    }
    free(text);
    die(EXIT_INPUT, "%s: no memory for more than %zu bytes of text", path, used);
}

/* The tool reads the file from its standard input: no name can be taken for an option. */
static pid_t start(const char *path, const char *tool, int file, int out)
{
    char *const arguments[] = {(char *)tool, (char *)"-dc", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int error;

    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, file, STDIN_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) != 0)
        die(EXIT_INPUT, "%s: no memory to start %s", path, tool);
    error = posix_spawnp(&child, tool, &actions, NULL, arguments, environ);
    if (error != 0)
        die(EXIT_INPUT, "%s: packed by %s, which cannot be started: %s", path, tool,
            strerror(error));
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

static struct input unpack(const char *path, const char *tool, int file)
{
    struct input input;
    int ends[2], status;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        unreadable(path);
    child = start(path, tool, file, ends[1]);
    close(ends[1]);
    input = read_all(path, ends[0]);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            unreadable(path);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        die(EXIT_INPUT, "%s: %s could not unpack it whole", path, tool);
    return input;
}

static struct input map(const char *path, int file, size_t length)
{
    void *text = "";

    if (length > 0)
        text = mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, 0);
    if (text == MAP_FAILED)
        unreadable(path);
    if (length > 0)
        madvise(text, length, MADV_SEQUENTIAL);
    return (struct input){path, text, length};
}

struct input input_open(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    char first[FIRST_BYTES] = {0};
    struct input input;
    struct stat about;
    ssize_t count;

    if (file < 0 || fstat(file, &about) != 0)
        unreadable(path);
    if (!S_ISREG(about.st_mode)) {
        input = read_all(path, file);
    } else {
        count = pread(file, first, sizeof first, 0);
        if (count < 0)
            unreadable(path);
        for (size_t i = 0; i < sizeof packings / sizeof packings[0]; i++)
            if ((size_t)count >= packings[i].count &&
                memcmp(first, packings[i].bytes, packings[i].count) == 0) {
                input = unpack(path, packings[i].tool, file);
                goto done;
            }
        input = map(path, file, (size_t)about.st_size);
    }
done:
    close(file);
    return input;
}
