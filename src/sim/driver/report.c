/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "internal.h"
#include "judge.h"
#include "lock.h"
#include "process.h"
#include "settings.h"

#define MAX_LAYERS   16
#define MAX_KINDS    32
#define MAX_PRINTED  8 /* of each kind, on stderr */
#define KIND_LENGTH  48
#define MAX_NOTED    4 /* by one call */
#define INTERNAL_API __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static simcuda_counters layers[MAX_LAYERS];
static size_t layer_count;
static struct {
    char name[KIND_LENGTH];
    uint64_t count;
} kinds[MAX_KINDS];
static size_t kind_count;
static _Atomic uint64_t unchecked;

/* What the calling thread has noted under the lock; what does not fit repeats the last. */
static _Thread_local struct noted {
    const char *kind;
    char text[200];
} noted[MAX_NOTED];
static _Thread_local unsigned noted_count;

INTERNAL_API void simcuda_report_counters(const simcuda_counters *counters)
{
    pthread_mutex_lock(&lock);
    if (layer_count < MAX_LAYERS)
        layers[layer_count++] = *counters;
    pthread_mutex_unlock(&lock);
}

/* Counts one more of `kind` and returns how many there are. */
static uint64_t count_kind(const char *kind)
{
    size_t i = 0;
    uint64_t count = 0;

    pthread_mutex_lock(&lock);
    while (i < kind_count && strncmp(kinds[i].name, kind, KIND_LENGTH - 1) != 0)
        i++;
    if (i == kind_count && kind_count < MAX_KINDS) {
        snprintf(kinds[i].name, KIND_LENGTH, "%s", kind);
        kind_count++;
    }
    if (i < kind_count)
        count = ++kinds[i].count;
    pthread_mutex_unlock(&lock);
    return count;
}

INTERNAL_API void simcuda_violation(const char *kind, const char *format, ...)
{
    uint64_t count = count_kind(kind);
    char text[512];
    va_list arguments;

    if (count > MAX_PRINTED)
        return;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist*): it is started above */
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "simcuda: %s: %s%s\n", kind, text,
            count == MAX_PRINTED ? " (more of this kind are only counted)" : "");
}

void sim_report_locked(const char *kind, const char *format, ...)
{
    struct noted *slot = &noted[noted_count < MAX_NOTED ? noted_count : MAX_NOTED - 1];
    va_list arguments;

    noted_count++;
    slot->kind = kind;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist*): it is started above */
    vsnprintf(slot->text, sizeof slot->text, format, arguments);
    va_end(arguments);
}

void sim_report_flush(void)
{
    for (unsigned i = 0; i < noted_count; i++) {
        const struct noted *slot = &noted[i < MAX_NOTED ? i : MAX_NOTED - 1];

        simcuda_violation(slot->kind, "%s", slot->text);
    }
    noted_count = 0;
}

void sim_report_unchecked(void)
{
    atomic_fetch_add_explicit(&unchecked, 1, memory_order_relaxed);
}

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if ((unsigned char)*text >= ' ')
            fputc(*text, out);
    }
    fputc('"', out);
}

/* "name": {"function": calls, ...} for all functions called, or only the unsupported ones. */
static void write_calls(FILE *out, const char *name, bool only_unsupported)
{
    const char *separator = "";

    fprintf(out, "  \"%s\": {", name);
    for (size_t l = 0; l < layer_count; l++)
        for (size_t i = 0; i < layers[l].count; i++) {
            uint64_t count = atomic_load(&layers[l].counts[i]);

            if (count == 0 || (only_unsupported && !layers[l].unsupported[i]))
                continue;
            fprintf(out, "%s\n    ", separator);
            write_text(out, layers[l].names[i]);
            fprintf(out, ": %llu", (unsigned long long)count);
            separator = ",";
        }
    fprintf(out, "%s},\n", *separator ? "\n  " : "");
}

static void write_violations(FILE *out)
{
    fprintf(out, "  \"violations\": {");
    for (size_t i = 0; i < kind_count; i++) {
        fprintf(out, "%s\n    ", i > 0 ? "," : "");
        write_text(out, kinds[i].name);
        fprintf(out, ": %llu", (unsigned long long)kinds[i].count);
    }
    fprintf(out, "%s},\n", kind_count > 0 ? "\n  " : "");
}

/* Mapped bytes: of all devices together, then of each. */
static void write_memory(FILE *out)
{
    struct sim_device copies[16];
    int count = sim_device_count();
    unsigned long long live = 0, peak;

    sim_lock();
    for (int i = 0; i < count; i++) {
        copies[i] = *sim_device_find(i);
        live += sim_device_mapped_locked(&copies[i]);
    }
    peak = sim_devices_peak_locked();
    sim_unlock();
    fprintf(out, "  \"live\": %llu,\n  \"peak\": %llu,\n  \"devices\": [", live, peak);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s\n    {\"live\": %llu, \"peak\": %llu, \"memory\": %llu}", i > 0 ? "," : "",
                (unsigned long long)sim_device_mapped_locked(&copies[i]),
                (unsigned long long)copies[i].peak, (unsigned long long)copies[i].memory);
    fprintf(out, "%s]\n", count > 0 ? "\n  " : "");
}

static void write_report(FILE *out, uint64_t leaks, uint64_t leaked_bytes)
{
    pthread_mutex_lock(&lock);
    fprintf(out, "{\n");
    write_calls(out, "calls", false);
    write_calls(out, "unsupported", true);
    write_violations(out);
    fprintf(out, "  \"leaks\": %llu,\n  \"leaked_bytes\": %llu,\n", (unsigned long long)leaks,
            (unsigned long long)leaked_bytes);
    fprintf(out, "  \"unchecked\": %llu,\n", (unsigned long long)atomic_load(&unchecked));
    pthread_mutex_unlock(&lock);
    write_memory(out);
    fprintf(out, "}\n");
}

/* Opens the file that the setting names, in which %p is the process. */
static FILE *open_report(const char *path)
{
    const char *mark = strstr(path, "%p");
    char name[4096];
    int length;

    if (strcmp(path, "-") == 0)
        return stderr;
    if (!mark)
        return fopen(path, "we");
    length =
        snprintf(name, sizeof name, "%.*s%d%s", (int)(mark - path), path, (int)getpid(), mark + 2);
    return length > 0 && (size_t)length < sizeof name ? fopen(name, "we") : NULL;
}

/* A process that never called us writes nothing: a preload is in the shell and in `ls` too. */
__attribute__((destructor)) static void report_at_exit(void)
{
    uint64_t leaks, leaked_bytes;
    const char *path;
    FILE *out;

    if (!sim_process_reports())
        return;
    sim_judge_leaks(&leaks, &leaked_bytes);
    path = sim_settings()->report;
    if (*path == '\0')
        return;
    out = open_report(path);
    if (!out) {
        fprintf(stderr, "simcuda: cannot write the report to %s\n", path);
        return;
    }
    write_report(out, leaks, leaked_bytes);
    if (out == stderr)
        fflush(out);
    else
        fclose(out);
}
