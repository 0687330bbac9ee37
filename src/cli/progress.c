/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"
#include "base/clock.h"
#include "cli/emit.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 24, NAME = 28 };
static const uint64_t EACH_NS = 100000000;

static struct {
    const char *path;
    uint64_t bytes, done;
    uint64_t drawn_ns; /* 0: not drawn yet */
    bool is_wanted;    /* of this log */
    bool is_visible;
} now;

static bool is_off;

void sc_progress_off(void)
{
    is_off = true;
}

static bool is_terminal(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDERR_FILENO) && !(kind && !strcmp(kind, "dumb"));
}

void sc_progress_begin(const char *path, uint64_t bytes)
{
    const char *slash = strrchr(path, '/');

    now.path = slash && slash[1] ? slash + 1 : path;
    now.bytes = bytes;
    now.done = now.drawn_ns = 0;
    now.is_wanted = !is_off && bytes >= SC_PROGRESS_FROM && is_terminal();
}

/* The path comes from a command line or a folder: it must not drive the terminal. */
static void draw(void)
{
    char bar[BAR + 1], name[NAME + 1], size[16];
    uint64_t done = now.done < now.bytes ? now.done : now.bytes; /* it may grow meanwhile */
    size_t filled = (size_t)((double)done / (double)now.bytes * BAR);

    memset(bar, '-', BAR);
    memset(bar, '#', filled);
    bar[BAR] = '\0';
    snprintf(name, sizeof name, "%s", now.path);
    for (char *at = name; *at; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
            *at = '?';
    fprintf(stderr, "\rreading %s [%s] %3u%% of %s\033[K", name, bar,
            (unsigned)((double)done / (double)now.bytes * 100), sc_emit_size(size, now.bytes));
    (void)fflush(stderr);
    now.is_visible = true;
}

void sc_progress_add(uint64_t bytes)
{
    uint64_t time;

    if (!now.is_wanted)
        return;
    now.done += bytes;
    time = sc_clock_ns();
    if (now.drawn_ns && time - now.drawn_ns < EACH_NS)
        return;
    now.drawn_ns = time;
    draw();
}

void sc_progress_clear(void)
{
    if (!now.is_visible)
        return;
    fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    now.is_visible = false;
}

void sc_progress_end(void)
{
    sc_progress_clear();
    now.is_wanted = false;
}
