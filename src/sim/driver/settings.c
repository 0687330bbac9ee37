/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "calls.h"

#define PREFIX "SIMCUDA_"

extern char **environ;

static struct sim_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Digits at *text, which is moved behind them. False: no digit, or more than 64 bits. */
static bool parse_digits(const char **text, uint64_t *out)
{
    const char *c = *text;
    uint64_t value = 0;

    if (*c < '0' || *c > '9')
        return false;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
            return false;
    *text = c;
    *out = value;
    return true;
}

static bool parse_NUMBER(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    uint64_t value;

    if (!parse_digits(&text, &value) || *text != '\0' || value < least || value > most)
        return false;
    *out = value;
    return true;
}

static bool parse_TIME(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    return parse_NUMBER(text, least, most, out);
}

static bool parse_SIZE(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    static const struct {
        const char *unit;
        unsigned shift;
    } units[] = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    uint64_t value;

    if (!parse_digits(&text, &value))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text, units[i].unit) == 0) {
            if (value > most >> units[i].shift || value << units[i].shift < least)
                return false;
            *out = value << units[i].shift;
            return true;
        }
    return false;
}

static bool parse_CC(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    uint64_t major, minor;

    if (!parse_digits(&text, &major) || *text++ != '.' || !parse_digits(&text, &minor) ||
        *text != '\0' || major > 99 || minor > 9)
        return false;
    if (major * 10 + minor < least || major * 10 + minor > most)
        return false;
    *out = major * 10 + minor;
    return true;
}

static bool parse_TEXT(const char *text, uint64_t least, uint64_t most, const char **out)
{
    (void)least;
    (void)most;
    *out = text;
    return true;
}

static bool parse_JUDGE(const char *text, uint64_t least, uint64_t most, enum sim_judge_mode *out)
{
    static const char *const names[] = {
        [SIM_JUDGE_OFF] = "off", [SIM_JUDGE_SYNC] = "sync", [SIM_JUDGE_DEFERRED] = "deferred"};

    (void)least;
    (void)most;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum sim_judge_mode)i;
            return true;
        }
    return false;
}

static bool parse_DELAYS(const char *text, uint64_t least, uint64_t most,
                         struct sim_delay_list *out)
{
    struct sim_delay_list list = {.count = 0};

    (void)least;
    (void)most;
    while (*text != '\0') {
        struct sim_stream_delay *delay = &list.items[list.count];

        if (list.count++ == SIM_MAX_DELAYS || !parse_digits(&text, &delay->index) ||
            *text++ != ':' || !parse_digits(&text, &delay->ns))
            return false;
        if (*text == ',' && text[1] != '\0')
            text++;
        else if (*text != '\0')
            return false;
    }
    *out = list;
    return true;
}

static bool parse_FAIL(const char *text, uint64_t least, uint64_t most, struct sim_fail_list *out)
{
    struct sim_fail_list list = {.count = 0};

    (void)least;
    (void)most;
    while (*text != '\0') {
        struct sim_fail *fail = &list.items[list.count];
        size_t length = strcspn(text, ":,");
        uint64_t code = 0;

        if (list.count++ == SIM_MAX_FAILS || length == 0 || length >= sizeof fail->name)
            return false;
        memcpy(fail->name, text, length);
        fail->name[length] = '\0';
        text += length;
        if (!sim_calls_known(fail->name) || *text++ != ':' || !parse_digits(&text, &fail->at) ||
            fail->at == 0)
            return false;
        if (*text == ':') {
            text++;
            if (!parse_digits(&text, &code) || code == 0 || code > CUDA_ERROR_UNKNOWN)
                return false;
        } else {
            code = strstr(fail->name, "Alloc") || strcmp(fail->name, "cuMemCreate") == 0
                       ? CUDA_ERROR_OUT_OF_MEMORY
                       : CUDA_ERROR_ILLEGAL_ADDRESS;
        }
        fail->code = (int)code;
        if (*text == ',' && text[1] != '\0')
            text++;
        else if (*text != '\0')
            return false;
    }
    *out = list;
    return true;
}

static void warn_value(const char *name, const char *value, const char *form, const char *standard)
{
    fprintf(stderr, "simcuda: " PREFIX "%s=%s is not %s; using %s\n", name, value, form,
            *standard ? standard : "none");
}

static bool name_known(const char *name, size_t length)
{
    static const char *const names[] = {
#define SETTING(field, name, kind, standard, least, most, form, purpose) #name,
#include "settings.def"
#undef SETTING
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

static void warn_unknown(void)
{
    for (char **entry = environ; entry && *entry; entry++) {
        const char *name = *entry + strlen(PREFIX);
        size_t length;

        if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0)
            continue;
        length = strcspn(name, "=");
        if (!name_known(name, length))
            fprintf(stderr, "simcuda: " PREFIX "%.*s is no setting of the simulator; ignored\n",
                    (int)length, name);
    }
}

static void read_environment(void)
{
    const char *value;

#define SETTING(field, name, kind, standard, least, most, form, purpose)                           \
    (void)parse_##kind(standard, least, most, &settings.field);                                    \
    value = getenv(PREFIX #name);                                                                  \
    if (value && !parse_##kind(value, least, most, &settings.field))                               \
        warn_value(#name, value, form, standard);
#include "settings.def"
#undef SETTING
    if ((settings.granule & (settings.granule - 1)) != 0) {
        warn_value("GRANULE", getenv(PREFIX "GRANULE"), "a power of two", "2MiB");
        settings.granule = 2u << 20;
    }
    warn_unknown();
}

const struct sim_settings *sim_settings(void)
{
    pthread_once(&once, read_environment);
    return &settings;
}
