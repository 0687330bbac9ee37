/* SPDX-License-Identifier: MIT */
#include "log/writer.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHUNKS = 16 };
static const uint64_t KEPT = UINT64_C(1) << 20;

/* Bytes that lines which need not be kept may fill. */
static uint64_t ordinary(const sc_log *log)
{
    return log->most > 2 * KEPT ? log->most - KEPT : log->most / 2;
}

static uint64_t first_doubling(const sc_log *log)
{
    uint64_t at = log->most / 4 * 3;

    return at < ordinary(log) ? at : ordinary(log) / 4 * 3;
}

/* The descriptor at a number that no program counts on. The lowest free one is what the program's
 * next open() would get without us, and in a process that was started with stderr closed it is
 * stderr's. Where none is to be had it stays, except among those three. */
static int out_of_the_way(int fd)
{
    /* below 64: to grow its table of descriptors the kernel stops a process with threads for ms */
    static const int floors[] = {48, STDERR_FILENO + 1};
    int moved = -1;

    if (fd < 0)
        return fd;
    for (size_t i = 0; moved < 0 && i < sizeof floors / sizeof *floors; i++)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, floors[i]);
    if (moved < 0 && fd > STDERR_FILENO)
        return fd;
    int error = errno;

    (void)close(fd);
    errno = error;
    return moved;
}

/* The system call: fstat() of a new C library is not in an old one. */
static bool look_at(int fd, struct stat *about)
{
    return syscall(SYS_fstat, fd, about) == 0;
}

/* False: the program has closed our descriptor, as those do that close all they do not know, and
 * the number may be a file of its own by now. */
static bool is_ours(const sc_log *log)
{
    struct stat about;

    return look_at(log->fd, &about) && about.st_dev == log->device && about.st_ino == log->inode;
}

/* Bytes that the process may have in one file: a write beyond them raises SIGXFSZ, which kills. */
static uint64_t allowed(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                   : UINT64_MAX;
}

int sc_log_open(sc_log *log, const char *format, const sc_identity *identity, uint64_t most,
                uint64_t every)
{
    struct stat about = {.st_dev = 0};

    *log = (sc_log){.fd = -1, .most = allowed() < most ? allowed() : most, .every = every};
    log->double_at = first_doubling(log);
    log->fd = out_of_the_way(sc_path_create(log->path, sizeof log->path, format, identity));
    if (log->fd < 0)
        return errno;
    (void)look_at(log->fd, &about);
    log->device = about.st_dev;
    log->inode = about.st_ino;
    return 0;
}

static bool write_whole(int fd, const char *bytes, size_t count)
{
    while (count) {
        ssize_t done = write(fd, bytes, count);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        count -= (size_t)done;
    }
    return true;
}

static bool fits(const sc_log *log, size_t bytes, uint64_t limit)
{
    return log->written <= limit && bytes <= limit - log->written;
}

bool sc_log_is_tight(const sc_log *log, size_t bytes)
{
    return !fits(log, bytes, ordinary(log));
}

void sc_log_write(sc_log *log, const char *lines, size_t bytes, bool must_keep)
{
    if (log->fd < 0 || bytes == 0)
        return;
    if (!fits(log, bytes, must_keep ? log->most : ordinary(log)) || !fits(log, bytes, allowed())) {
        log->dropped += bytes;
        return;
    }
    if (!is_ours(log)) {
        log->dropped += bytes;
        log->fd = -1;
        return;
    }
    if (!write_whole(log->fd, lines, bytes)) {
        /* half a line may be out; if it cannot be cut off, readers skip it */
        if (ftruncate(log->fd, (off_t)log->written) != 0)
            log->dropped += bytes;
        sc_log_close(log);
        return;
    }
    log->written += bytes;
    uint64_t chunk = (ordinary(log) - first_doubling(log)) / CHUNKS + 1;

    for (; log->written >= log->double_at; log->double_at += chunk)
        if (log->is_detailed)
            log->is_detailed = false;
        else if (log->every < UINT64_MAX / 2)
            log->every *= 2;
}

void sc_log_close(sc_log *log)
{
    if (log->fd >= 0 && is_ours(log))
        (void)close(log->fd);
    log->fd = -1;
}
