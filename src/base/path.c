/* SPDX-License-Identifier: MIT */
#include "base/path.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A launcher tells rank, local rank and world by names of its own; all three are taken from the
 * first one that tells a rank, for `salloc` leaves SLURM_NTASKS in shells where nothing runs as a
 * task. */
static const struct {
    const char *rank, *local_rank, *world;
} launchers[] = {
    {"RANK", "LOCAL_RANK", "WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
};

/* The value, or "" when absent. */
static const char *value_of(char *const *environment, const char *name)
{
    size_t length = strlen(name);

    for (; *environment; environment++)
        if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
            return *environment + length + 1;
    return "";
}

static bool number_of(char *const *environment, const char *name, uint32_t *out)
{
    uint64_t value;

    if (!sc_parse_u64(value_of(environment, name), &value) || value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

/* Copy as one component of a path: nothing that would leave the folder or spoil a terminal. */
static void copy_component(char *out, size_t bytes, const char *from)
{
    sc_text text = sc_text_over(out, bytes);

    for (; *from; from++) {
        bool is_kept = *from != '/' && (unsigned char)*from >= 0x20;

        sc_text_bytes(&text, is_kept ? from : "_", 1);
    }
    sc_text_terminate(&text);
    if (!strcmp(out, ".") || !strcmp(out, ".."))
        out[0] = '_';
}

/* The first bytes of a file in /proc; false when it cannot be read. */
static bool read_start(const char *path, char *out, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count;

    if (fd < 0)
        return false;
    count = read(fd, out, bytes - 1);
    (void)close(fd);
    if (count < 0)
        return false;
    out[count] = '\0';
    return true;
}

/* When a process began, in clock ticks since boot: field 22 of its stat. The name in field 2 may
 * hold anything, so count from the last parenthesis. */
static bool start_ticks(long pid, uint64_t *ticks)
{
    char path[64], stat[1024];
    sc_text text = sc_text_over(path, sizeof path);
    char *at, *end;

    sc_text_string(&text, "/proc/");
    sc_text_i64(&text, pid);
    sc_text_string(&text, "/stat");
    if (!read_start(sc_text_terminate(&text), stat, sizeof stat))
        return false;
    at = strrchr(stat, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at || !(end = strchr(at + 1, ' ')))
        return false;
    *end = '\0';
    return sc_parse_u64(at + 1, ticks);
}

/* The wall clock's second at boot, which the kernel keeps: two processes that each subtracted the
 * age of the boot from now could disagree by one. Its line follows one as long as the machine has
 * interrupts. */
static bool boot_second(uint64_t *second)
{
    static const char label[] = "\nbtime ";
    char part[4096];
    size_t kept = 0;
    ssize_t count;
    bool is_found = false;
    int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    while (!is_found && (count = read(fd, part + kept, sizeof part - 1 - kept)) > 0) {
        char *at, *end;

        kept += (size_t)count;
        part[kept] = '\0';
        at = memmem(part, kept, label, sizeof label - 1);
        if (at && (end = strchr(at + 1, '\n'))) {
            *end = '\0';
            is_found = sc_parse_u64(at + sizeof label - 1, second);
            break;
        }
        if (kept > 64) { /* enough for the label and its number */
            memmove(part, part + kept - 64, 64);
            kept = 64;
        }
    }
    (void)close(fd);
    return is_found;
}

/* Wall clock seconds at which a process began; now, where /proc does not say. */
static uint64_t start_second(long pid)
{
    uint64_t ticks, boot;
    long per_second = sysconf(_SC_CLK_TCK);
    struct timespec now;

    if (per_second > 0 && start_ticks(pid, &ticks) && boot_second(&boot))
        return boot + ticks / (uint64_t)per_second;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec;
}

static void text_two(sc_text *text, uint64_t value)
{
    if (value < 10)
        sc_text_char(text, '0');
    sc_text_u64(text, value);
}

/* 20260713-142530 in UTC. gmtime_r would do, but takes a lock and may read a time zone file. */
static void text_time(sc_text *text, uint64_t second)
{
    uint64_t days = second / 86400 + 719468; /* since 1 March of year 0: leap days come last */
    uint64_t era = days / 146097, day = days % 146097;
    uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    uint64_t rest = day - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * rest + 2) / 153;

    sc_text_u64(text, era * 400 + year + (month >= 10));
    text_two(text, month < 10 ? month + 3 : month - 9);
    text_two(text, rest - (153 * month + 2) / 5 + 1);
    sc_text_char(text, '-');
    text_two(text, second % 86400 / 3600);
    text_two(text, second % 3600 / 60);
    text_two(text, second % 60);
}

void sc_path_name_run(char *out, size_t bytes, long pid)
{
    sc_text text = sc_text_over(out, bytes);

    text_time(&text, start_second(pid));
    sc_text_char(&text, '-');
    sc_text_i64(&text, pid);
    sc_text_terminate(&text);
}

/* Ranks of one run started by one shell line share a process group; those of torchrun and its like
 * are each a group of their own and share the process that started them. */
static long run_leader(bool is_one_of_many)
{
    long leader = getpgrp();

    return is_one_of_many && leader == getpid() ? getppid() : leader;
}

void sc_identity_read(sc_identity *identity, const char *run_id, char *const *environment)
{
    char host[sizeof identity->host];
    const char *elastic = value_of(environment, "TORCHELASTIC_RUN_ID");
    const char *slurm = value_of(environment, "SLURM_JOB_ID");

    *identity = (sc_identity){.pid = getpid(), .world = 1};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (number_of(environment, launchers[i].rank, &identity->rank)) {
            (void)number_of(environment, launchers[i].local_rank, &identity->local_rank);
            (void)number_of(environment, launchers[i].world, &identity->world);
            break;
        }
    }
    if (gethostname(host, sizeof host))
        host[0] = '\0';
    host[sizeof host - 1] = '\0';
    copy_component(identity->host, sizeof identity->host, host);
    copy_component(identity->program, sizeof identity->program, program_invocation_short_name);
    identity->is_run_given = true;
    if (*run_id) {
        copy_component(identity->run, sizeof identity->run, run_id);
    } else if (*elastic && strcmp(elastic, "none") != 0) {
        copy_component(identity->run, sizeof identity->run, elastic);
    } else if (*slurm) {
        copy_component(identity->run, sizeof identity->run, slurm);
    } else {
        identity->is_run_given = false;
        sc_path_name_run(identity->run, sizeof identity->run, run_leader(identity->world > 1));
    }
}

/* What the letter after a percent sign stands for; false: nothing. */
static bool put(sc_text *text, char letter, const sc_identity *identity, uint32_t number)
{
    switch (letter) {
    case 'p':
        sc_text_i64(text, identity->pid);
        break;
    case 'h':
        sc_text_string(text, identity->host);
        break;
    case 'e':
        sc_text_string(text, identity->program);
        break;
    case 'r':
        sc_text_u64(text, identity->rank);
        break;
    case 'l':
        sc_text_u64(text, identity->local_rank);
        break;
    case 'j':
        sc_text_string(text, identity->run);
        break;
    case 'n':
        sc_text_u64(text, number);
        break;
    case '%':
        sc_text_char(text, '%');
        break;
    default:
        return false;
    }
    return true;
}

/* NULL, or the percent sign of the first unknown placeholder. What does not fit shows in the text.
 */
static const char *expand(sc_text *text, const char *format, const sc_identity *identity,
                          uint32_t number)
{
    for (; *format; format++)
        if (*format != '%')
            sc_text_char(text, *format);
        else if (!put(text, *++format, identity, number))
            return format - 1;
    return NULL;
}

const char *sc_path_unknown(const char *format)
{
    static const sc_identity nobody;
    char none[1];
    sc_text text = sc_text_over(none, sizeof none);

    return expand(&text, format, &nobody, 0);
}

bool sc_path_expand(char *out, size_t bytes, const char *format, const sc_identity *identity,
                    uint32_t number)
{
    sc_text text = sc_text_over(out, bytes);
    bool is_known = !expand(&text, format, identity, number);

    sc_text_terminate(&text);
    return is_known && !text.is_full;
}

static bool is_counted(const char *format)
{
    for (; *format; format++) {
        if (*format == '%' && *++format == 'n')
            return true;
        if (!*format)
            return false;
    }
    return false;
}

/* The folders of `path`, as far as they are missing; whether that helped shows when the file is
 * opened. The error that kept one from being made, or ENOENT: below it all are ENOENT. */
static int make_folders(char *path)
{
    int error = ENOENT;

    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) && errno != EEXIST && errno != ENOENT)
            error = errno;
        *slash = '/';
    }
    return error;
}

static int open_new(const char *path)
{
    int fd;

    do
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static bool is_folder(const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

int sc_path_create(char *out, size_t bytes, const char *format, const sc_identity *identity)
{
    enum { MOST = 100000 };
    bool has_number = is_counted(format);

    for (uint32_t number = 0; number < MOST; number++) {
        sc_text text = sc_text_over(out, bytes);
        int fd;

        if (expand(&text, format, identity, number + 1)) {
            errno = EINVAL;
            return -1;
        }
        if (!has_number && number) {
            sc_text_char(&text, '.');
            sc_text_u64(&text, number);
        }
        sc_text_terminate(&text);
        if (text.is_full) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = open_new(out);
        if (fd < 0 && errno == ENOENT && *out) {
            int error = make_folders(out);

            fd = open_new(out);
            if (fd < 0 && errno == ENOENT)
                errno = error;
        }
        if (fd >= 0 || errno != EEXIST)
            return fd;
        if (!has_number && !number && is_folder(out)) {
            errno = EISDIR;
            return -1;
        }
    }
    errno = EEXIST;
    return -1;
}
