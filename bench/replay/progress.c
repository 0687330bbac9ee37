/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const double terminal_every = 0.2;

double progress_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct progress progress_start(uint64_t total, const char *unit, double every)
{
    bool is_terminal = isatty(STDERR_FILENO);

    if (is_terminal && every > terminal_every)
        every = terminal_every;
    return (struct progress){is_terminal, every, progress_seconds(), total, unit};
}

void progress_tell(struct progress *progress, uint64_t done, uint64_t requests, uint64_t live)
{
    double now = progress_seconds();

    if (now - progress->last < progress->every)
        return;
    progress->last = now;
    fprintf(stderr, "%sreplay: %llu of %llu %s, %llu requests, %.1f MiB live%s",
            progress->is_terminal ? "\r\033[K" : "", (unsigned long long)done,
            (unsigned long long)progress->total, progress->unit, (unsigned long long)requests,
            (double)live / (1 << 20), progress->is_terminal ? "" : "\n");
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->is_terminal)
        fputs("\r\033[K", stderr);
}
