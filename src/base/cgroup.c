/* SPDX-License-Identifier: MIT */
#include "base/cgroup.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { LIST_BYTES = 8192, PATH_BYTES = 4096 };
static const uint64_t NO_LIMIT = UINT64_C(1) << 60; /* version 1 says so by a number near 2^63 */

/* The file's text, cut where it is longer. False: it cannot be read. */
static bool read_text(const char *path, char *out, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = 1;

    if (fd < 0)
        return false;
    while (got > 0 && used < bytes - 1) {
        got = read(fd, out + used, bytes - 1 - used);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            used += (size_t)got;
    }
    (void)close(fd);
    out[used] = '\0';
    return got >= 0;
}

/* The limit that a group's file says; 0: none. */
static uint64_t read_limit(const char *mount, const char *group, size_t group_length,
                           const char *file)
{
    char path[PATH_BYTES], number[32];
    sc_text text = sc_text_over(path, sizeof path);
    uint64_t bytes;

    sc_text_string(&text, mount);
    sc_text_bytes(&text, group, group_length);
    sc_text_char(&text, '/');
    sc_text_string(&text, file);
    if (text.used == text.size || !read_text(sc_text_terminate(&text), number, sizeof number))
        return 0;
    number[strcspn(number, "\n")] = '\0';
    return sc_parse_u64(number, &bytes) && bytes < NO_LIMIT ? bytes : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return !a || (b && b < a) ? b : a;
}

/* The least of the group's and its ancestors', the root included. */
static uint64_t climb(const char *mount, const char *group, size_t length, const char *file)
{
    uint64_t bytes = 0;

    while (length) {
        bytes = least(bytes, read_limit(mount, group, length, file));
        while (length && group[--length] != '/')
            ;
    }
    return least(bytes, read_limit(mount, "", 0, file));
}

/* "4:memory:/path" or "0::/path": the controllers between the colons. */
static bool names_memory(const char *controllers, size_t length)
{
    static const char memory[] = "memory";

    for (size_t at = 0; at < length; at += strcspn(controllers + at, ",:") + 1)
        if (strncmp(controllers + at, memory, sizeof memory - 1) == 0 &&
            strchr(",:", controllers[at + sizeof memory - 1]))
            return true;
    return false;
}

static uint64_t limit_of_line(const char *line, size_t length, const char *mount)
{
    const char *controllers = memchr(line, ':', length), *group;
    char version_1[PATH_BYTES];
    sc_text text = sc_text_over(version_1, sizeof version_1);

    if (!controllers ||
        !(group = memchr(controllers + 1, ':', length - (size_t)(controllers + 1 - line))))
        return 0;
    controllers++;
    size_t named = (size_t)(group++ - controllers);
    size_t group_length = length - (size_t)(group - line);

    if (!named)
        return climb(mount, group, group_length, "memory.max");
    if (!names_memory(controllers, named))
        return 0;
    sc_text_string(&text, mount);
    sc_text_string(&text, "/memory");
    return text.used < text.size
               ? climb(sc_text_terminate(&text), group, group_length, "memory.limit_in_bytes")
               : 0;
}

uint64_t sc_cgroup_memory(const char *proc, const char *mount)
{
    char list[LIST_BYTES];
    uint64_t bytes = 0;

    if (!read_text(proc, list, sizeof list))
        return 0;
    for (const char *line = list; *line;) {
        size_t length = strcspn(line, "\n");

        bytes = least(bytes, limit_of_line(line, length, mount));
        line += length + (line[length] != '\0');
    }
    return bytes;
}
