/* SPDX-License-Identifier: MIT
 * path.h - who this process is among others of its run, and file names made from that.
 *
 * %p pid, %h host, %e program, %r rank, %l local rank, %j run, %n first free number, %% a percent
 * sign. The rank comes from RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK or PMI_RANK, else 0; the run
 * from the RUN_ID option, TORCHELASTIC_RUN_ID unless it is "none", SLURM_JOB_ID, else start time
 * (UTC) and number of the process group, so that ranks started by one shell line agree; of several
 * ranks, one that leads a group of its own takes its parent's. Nothing here allocates. */
#ifndef SC_BASE_PATH_H
#define SC_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SC_PATH_BYTES = 4096 };

typedef struct sc_identity {
    long pid;
    uint32_t rank;
    uint32_t local_rank;
    uint32_t world; /* 1 when unknown */
    char host[256];
    char program[256];
    char run[256];
    bool is_run_given; /* by the setting or a launcher, not made up from a process */
} sc_identity;

/* `run_id` is the option's text ("" when not set); `environment` as in sc_options_read(). */
void sc_identity_read(sc_identity *identity, const char *run_id, char *const *environment);

/* A run's name made from a process: its start (UTC) and number, 20260713-142530-4711. */
void sc_path_name_run(char *out, size_t bytes, long pid);

/* Expand `format` with `number` for %n into out. False: does not fit, or an unknown placeholder. */
bool sc_path_expand(char *out, size_t bytes, const char *format, const sc_identity *identity,
                    uint32_t number);

/* The percent sign of the first unknown placeholder, within `format`; NULL: there is none. */
const char *sc_path_unknown(const char *format);

/* Create the file `format` names: missing folders 0777 less the umask, the file 0600 with O_EXCL,
 * never an existing one. Where the name is taken, %n counts up; without %n, ".1", ".2", ... is
 * appended, but not to the name of a folder, which is EISDIR. Returns the descriptor
 * (O_WRONLY|O_APPEND|O_CLOEXEC) and the path in out, or -1 with errno. */
int sc_path_create(char *out, size_t bytes, const char *format, const sc_identity *identity);

#endif
