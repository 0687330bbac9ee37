/* SPDX-License-Identifier: MIT */
#include "cli/html.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/html_data.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Each part and its end, by html_files.S. */
#define FILE(symbol, name)   extern const char sc_html_##symbol[], sc_html_##symbol##_end[];
#define SCRIPT(symbol, name) extern const char sc_html_##symbol[], sc_html_##symbol##_end[];
#include "cli/html_files.def"

typedef struct part {
    const char *name, *begin, *end;
} part;

static const part parts[] = {
#define FILE(symbol, name) {#symbol, sc_html_##symbol, sc_html_##symbol##_end},
#include "cli/html_files.def"
};

static const part scripts[] = {
#define SCRIPT(symbol, name) {#symbol, sc_html_##symbol, sc_html_##symbol##_end},
#include "cli/html_files.def"
};

static void put(FILE *out, const char *begin, const char *end)
{
    (void)fwrite(begin, 1, (size_t)(end - begin), out);
}

/* JSON text with nothing in it that HTML or an old JavaScript could take for its own: outside
 * strings none of these stands. */
static void put_data(FILE *out, const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '<' || *at == '>' || *at == '&') {
            fprintf(out, "\\u%04x", (unsigned)*at);
        } else if (end - at >= 3 &&
                   (!memcmp(at, "\xe2\x80\xa8", 3) || !memcmp(at, "\xe2\x80\xa9", 3))) {
            fprintf(out, "\\u20%02x", (unsigned char)at[2] - 0x80U);
            at += 2;
        } else {
            putc(*at, out);
        }
    }
}

/* As text of an element. */
static void put_text(FILE *out, const char *at, const char *end)
{
    for (; at < end; at++)
        if (*at == '<')
            fputs("&lt;", out);
        else if (*at == '&')
            fputs("&amp;", out);
        else
            putc(*at, out);
}

static bool is_name(const char *name, size_t length, const char *wanted)
{
    return strlen(wanted) == length && !memcmp(name, wanted, length);
}

/* What stands for {{name}}. */
static void put_named(FILE *out, const char *name, size_t length, const char *data, size_t bytes)
{
    if (is_name(name, length, "data"))
        put_data(out, data, data + bytes);
    if (is_name(name, length, "scripts"))
        for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
            put(out, scripts[i].begin, scripts[i].end);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!is_name(name, length, parts[i].name))
            continue;
        if (parts[i].begin == sc_html_license || parts[i].begin == sc_html_notice)
            put_text(out, parts[i].begin, parts[i].end);
        else
            put(out, parts[i].begin, parts[i].end);
    }
}

static void put_page(FILE *out, const char *data, size_t bytes)
{
    const char *at = sc_html_page, *open, *close;

    while ((open = strstr(at, "{{")) && (close = strstr(open, "}}"))) {
        put(out, at, open);
        put_named(out, open + 2, (size_t)(close - open - 2), data, bytes);
        at = close + 2;
    }
    put(out, at, sc_html_page_end);
}

bool sc_html_write(const sc_report *report, FILE *out)
{
    char *data = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&data, &bytes);
    bool is_good;

    if (!memory) {
        sc_say("out of memory");
        exit(SC_EXIT_FAILED);
    }
    sc_emit_to(memory);
    is_good = sc_html_data_emit(report);
    sc_emit_to(NULL);
    is_good = fclose(memory) == 0 && is_good;
    if (is_good)
        put_page(out, data, bytes);
    free(data);
    return is_good;
}

/* The system call: fstat() of a new C library is not in an old one. */
int sc_html_check(const char *path)
{
    struct stat about;
    int fd = open(path, O_PATH | O_CLOEXEC);
    bool is_pipe = fd >= 0 && syscall(SYS_fstat, fd, &about) == 0 && !S_ISREG(about.st_mode) &&
                   !S_ISDIR(about.st_mode);

    if (fd >= 0)
        (void)close(fd);
    if (strcmp(path, "-") != 0 && !is_pipe)
        return 0;
    return sc_usage(&sc_command_report, "report: --html reads a log twice: it wants files");
}
