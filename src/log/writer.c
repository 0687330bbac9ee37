/* SPDX-License-Identifier: MIT */
#include "log/writer.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
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

int sc_log_open(sc_log *log, const char *format, const sc_identity *identity, uint64_t most,
                uint64_t every)
{
    struct rlimit limit;

    *log = (sc_log){.fd = -1, .most = most, .every = every};
    /* a write beyond the process's own limit would raise SIGXFSZ, which kills */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < log->most)
        log->most = limit.rlim_cur;
    log->double_at = first_doubling(log);
    log->fd = sc_path_create(log->path, sizeof log->path, format, identity);
    return log->fd < 0 ? errno : 0;
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
    if (!fits(log, bytes, must_keep ? log->most : ordinary(log))) {
        log->dropped += bytes;
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
        if (log->every < UINT64_MAX / 2)
            log->every *= 2;
}

void sc_log_close(sc_log *log)
{
    if (log->fd >= 0)
        (void)close(log->fd);
    log->fd = -1;
}
