/* SPDX-License-Identifier: MIT
 * settings.h - the SIMCUDA_* environment, read once per process from the table in settings.def.
 *
 * A bad value keeps the default and says so in one line on stderr, as does a SIMCUDA_ name that the
 * table lacks: a mistyped setting must not look like a simulator that ignores it. The struct is
 * written once, before any other thread can see it, and never changes; its texts live until exit.
 */
#ifndef SC_SIM_SETTINGS_H
#define SC_SIM_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#define SIM_MAX_DELAYS 16
#define SIM_MAX_FAILS  32

struct sim_stream_delay {
    uint64_t index; /* creation number of the stream */
    uint64_t ns;
};

struct sim_delay_list {
    struct sim_stream_delay items[SIM_MAX_DELAYS];
    size_t count;
};

/* What a free promises of the work enqueued before it, see judge.h. */
enum sim_judge_mode { SIM_JUDGE_OFF, SIM_JUDGE_SYNC, SIM_JUDGE_DEFERRED };

struct sim_fail {
    char name[64];
    uint64_t at; /* which call fails, from 1 */
    int code;
};

struct sim_fail_list {
    struct sim_fail items[SIM_MAX_FAILS];
    size_t count;
};

#define SIM_TYPE_NUMBER uint64_t
#define SIM_TYPE_SIZE   uint64_t
#define SIM_TYPE_TIME   uint64_t
#define SIM_TYPE_CC     uint64_t
#define SIM_TYPE_TEXT   const char *
#define SIM_TYPE_FAIL   struct sim_fail_list
#define SIM_TYPE_DELAYS struct sim_delay_list
#define SIM_TYPE_JUDGE  enum sim_judge_mode

struct sim_settings {
#define SETTING(field, name, kind, standard, least, most, form, purpose) SIM_TYPE_##kind field;
#include "settings.def"
#undef SETTING
};

/* What the environment said when the process first called us. */
const struct sim_settings *sim_settings(void);

#endif
