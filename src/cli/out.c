/* SPDX-License-Identifier: MIT */
#include "cli/out.h"
#include "cli/command.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* False: it is not there. The system call: fstat() of a new C library is not in an old one. */
static bool look(const char *path, struct stat *about)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    bool is_there = fd >= 0 && syscall(SYS_fstat, fd, about) == 0;

    if (fd >= 0)
        (void)close(fd);
    return is_there;
}

static bool is_special(const char *path)
{
    struct stat about;

    return look(path, &about) && !S_ISREG(about.st_mode);
}

int sc_out_check(const char *path, const sc_logs *logs, const sc_command *command)
{
    struct stat out, log;

    if (!path || !look(path, &out) || !S_ISREG(out.st_mode))
        return 0;
    for (unsigned i = 0; i < logs->count; i++) {
        bool is_stdin = !strcmp(logs->at[i], "-");
        bool is_there =
            is_stdin ? syscall(SYS_fstat, STDIN_FILENO, &log) == 0 : look(logs->at[i], &log);

        if (is_there && out.st_dev == log.st_dev && out.st_ino == log.st_ino)
            return sc_usage(command,
                            "%s: %s is the log that is read, and would be lost: name "
                            "another file to write to",
                            command->name, path);
    }
    return 0;
}

/* Always false. */
static bool cannot(const sc_out *out)
{
    sc_say("%s: cannot write %s: %s", out->command, out->path, strerror(errno));
    return false;
}

bool sc_out_open(sc_out *out, const char *path, const char *command)
{
    *out = (sc_out){.file = stdout, .path = path, .command = command};
    if (!path)
        return true;
    if (!is_special(path)) {
        size_t room = strlen(path) + 32;

        out->aside = sc_need(room);
        snprintf(out->aside, room, "%s.%ld", path, (long)getpid());
    }
    out->file = out->aside ? fopen(out->aside, "wxe") : fopen(path, "we");
    if (out->file)
        return true;
    cannot(out);
    free(out->aside);
    return false;
}

bool sc_out_close(sc_out *out, bool is_good)
{
    bool is_kept = true;

    if (!out->path)
        return true; /* the tool's end looks after it */
    is_kept = !ferror(out->file);
    is_kept = fclose(out->file) == 0 && is_kept;
    if (is_good && is_kept && out->aside)
        is_kept = rename(out->aside, out->path) == 0;
    if (is_good && !is_kept)
        cannot(out);
    if (out->aside && !(is_good && is_kept))
        (void)unlink(out->aside);
    free(out->aside);
    return is_kept;
}
