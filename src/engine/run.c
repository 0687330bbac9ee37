/* SPDX-License-Identifier: MIT */
#include "engine/run.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include "log/record.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ARGV_BYTES = 16384, RECORD_BYTES = 262144 /* all of it, escaped at its worst */ };

static void list_arguments(sc_text *text)
{
    char *argv = malloc(ARGV_BYTES + 1);
    int fd = argv ? open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC) : -1;
    size_t used = 0;
    ssize_t got = 0;

    while (fd >= 0 && used < ARGV_BYTES) {
        got = read(fd, argv + used, ARGV_BYTES - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    if (fd >= 0)
        (void)close(fd);
    sc_text_char(text, '[');
    for (size_t at = 0, start = 0; at < used; at++) {
        if (argv[at] && at + 1 < used)
            continue;
        argv[at + (argv[at] != '\0')] = '\0'; /* the last one is cut where the buffer ends */
        sc_text_string(text, start ? "," : "");
        sc_text_json(text, argv + start);
        start = at + 1;
    }
    sc_text_char(text, ']');
    free(argv);
}

static void list_devices(sc_text *text)
{
    const sc_driver *driver = sc_process_driver();
    size_t free_bytes, total;
    int device;

    sc_text_char(text, '[');
    if (driver->context_device(&device) == SC_CUDA_SUCCESS && device >= 0 &&
        driver->mem_info(&free_bytes, &total) == SC_CUDA_SUCCESS) {
        sc_text_string(text, "{\"dev\":");
        sc_text_u64(text, (uint64_t)device);
        sc_text_string(text, ",\"total\":");
        sc_text_u64(text, total);
        sc_text_char(text, '}');
    }
    sc_text_char(text, ']');
}

/* {"WARMUP":{"value":"3","from":"default"},...} */
static void list_settings(sc_text *text)
{
    char value[SC_OPTION_TEXT_BYTES];

    sc_text_char(text, '{');
    for (int i = 0; i < SC_OPTION_COUNT; i++) {
        sc_options_print(&sc_process_self.options, i, value, sizeof value);
        sc_text_string(text, i ? "," : "");
        sc_text_json(text, sc_option_rows[i].name);
        sc_text_string(text, ":{\"value\":");
        sc_text_json(text, value);
        sc_text_string(text, ",\"from\":");
        sc_text_json(text, sc_process_self.is_set[i] ? "env" : "default");
        sc_text_char(text, '}');
    }
    sc_text_char(text, '}');
}

static uint64_t wall_clock_ns(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sc_run_record(void)
{
    const sc_identity *identity = &sc_process_self.identity;
    char *bytes = sc_logbook_is_open() ? malloc(RECORD_BYTES) : NULL;

    if (!bytes)
        return;
    sc_text text = sc_text_over(bytes, RECORD_BYTES);
    sc_record record = sc_record_begin(&text, SC_EV_RUN, 0);

    sc_record_u64(&record, SC_F_V, 1);
    sc_record_string(&record, SC_F_BUILD, SC_VERSION);
    sc_record_u64(&record, SC_F_PID, (uint64_t)identity->pid);
    sc_record_string(&record, SC_F_HOST, identity->host);
    sc_record_string(&record, SC_F_RUN, identity->run);
    sc_record_u64(&record, SC_F_T0, wall_clock_ns());
    sc_record_u64(&record, SC_F_RANK, identity->rank);
    sc_record_u64(&record, SC_F_WORLD, identity->world);
    sc_record_raw(&record, SC_F_DEVICES);
    list_devices(&text);
    sc_record_raw(&record, SC_F_CONFIG);
    list_settings(&text);
    sc_record_raw(&record, SC_F_ARGV);
    list_arguments(&text);
    if (sc_record_end(&record))
        sc_logbook_write(text.at, text.used, true);
    free(bytes);
}
