/* SPDX-License-Identifier: MIT */
#include "engine/process.h"
#include "base/clock.h"
#include "base/text.h"
#include "engine/declared.h"
#include "engine/logbook.h"
#include "engine/run.h"
#include "engine/thread.h"
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static const uint64_t PATIENCE_NS = 1000000000;

sc_process sc_process_self = {.closing = SC_REASON_SET_FIXED};

/* The loader honours a preload of the system's even in a program with more rights than its user:
 * neither the environment nor the folder it runs in is to be trusted there. */
static bool is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

static char *const *trusted_environment(void)
{
    static char *const nothing[] = {NULL};

    return is_privileged() || !environ ? nothing : environ;
}

/* A page that reads 1 here and 0 in every child; NULL: this kernel cannot. */
static const volatile unsigned char *parent_page(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *page =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, bytes);
        return NULL;
    }
    page[0] = 1;
    return page;
}

/* compute-sanitizer would lose its use-after-free and leak checks, a debugger its view of memory.
 */
static bool has_tool(char *const *environment)
{
    static const char *const marks[] = {"CUDA_INJECTION64_PATH=", "NV_SANITIZER_", "CUDBG_"};

    for (; *environment; environment++) {
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            if (strncmp(*environment, marks[i], strlen(marks[i])) == 0)
                return true;
    }
    return false;
}

/* PyTorch keeps what it asks for, unless it is told not to: then each tensor is a request. */
static bool has_caching_off(char *const *environment)
{
    static const char name[] = "PYTORCH_NO_CUDA_MEMORY_CACHING=";

    for (; *environment; environment++)
        if (strncmp(*environment, name, sizeof name - 1) == 0)
            return true;
    return false;
}

static bool is_scripted(void)
{
    const sc_engine_host *host = atomic_load(&sc_process_self.host);

    return host->script && host->script(NULL, 0, 0);
}

/* What options have to complain about waits here until there is a log. */
typedef struct complaints {
    sc_text text;
    char bytes[8192];
} complaints;

static void complain(void *self, const char *sentence)
{
    complaints *all = self;

    sc_text_string(&all->text, sentence);
    sc_text_char(&all->text, '\0');
}

static void tell_complaints(complaints *all)
{
    size_t at = 0;

    if (all->text.used == sizeof all->bytes)
        all->text.used--;
    all->bytes[all->text.used] = '\0';
    while (at < all->text.used) {
        sc_logbook_warn(all->bytes + at);
        at += strlen(all->bytes + at) + 1;
    }
}

static sc_stage start(void)
{
    sc_process *process = &sc_process_self;
    char *const *environment = trusted_environment();
    static complaints all; /* start runs once; the program's stack may be small */

    all.text = sc_text_over(all.bytes, sizeof all.bytes);
    sc_options_read(&process->options, process->is_set, environment, complain, &all);
    if (process->options.mode == SC_MODE_OFF)
        return SC_STAGE_OFF;
    process->parent_page = parent_page();
    if (!process->parent_page)
        return SC_STAGE_OFF;
    sc_in_force_read(&process->force, environment);
    sc_identity_read(&process->identity, process->options.run_id, environment);
    process->t0 = sc_clock_ns();
    if (!process->is_set[SC_OPTION_summary] && process->identity.rank > 0)
        process->options.summary = SC_SUMMARY_LINE;
    process->passes_hoarders = process->options.mode == SC_MODE_ON && !has_caching_off(environment);
    process->is_scripted = is_scripted();
    if (!is_privileged())
        sc_logbook_open();
    sc_run_record();
    tell_complaints(&all);
    sc_declared_load();
    if (!process->options.gate)
        sc_logbook_warn(
            "SHAPECACHE_GATE=0: no gate, no cap and no trim; memory held may grow without end");
    if (has_tool(environment))
        atomic_store(&process->closing, SC_REASON_TOOL);
    return SC_STAGE_ON;
}

/* A request that passed while another thread starts the cache would be one that no log knows, and
 * its block a stranger for ever. Starting takes a few milliseconds and waits for nobody; the bound
 * is for a child forked meanwhile, in which the thread that starts is not there. */
static void wait_for_start(void)
{
    static const struct timespec moment = {0, 50000};
    const uint64_t began = sc_clock_ns();

    while (atomic_load(&sc_process_self.stage) == SC_STAGE_STARTING &&
           sc_clock_ns() - began < PATIENCE_NS)
        (void)nanosleep(&moment, NULL);
}

void sc_process_start(void)
{
    sc_process *process = &sc_process_self;
    sc_stage idle = SC_STAGE_IDLE;
    sc_context context = 0;

    if (!sc_process_may_start())
        return;
    /* without a context nothing can be allocated: a process that only tries leaves no trace */
    if (sc_process_driver()->context_current(&context) != SC_CUDA_SUCCESS || !context)
        return;
    /* opening a file is where a thread may be cancelled, and so is a sleep; a cudaMalloc is not */
    int cancellation;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    if (atomic_compare_exchange_strong(&process->stage, &idle, SC_STAGE_STARTING))
        atomic_store_explicit(&process->stage, start(), memory_order_release);
    else
        wait_for_start();
    (void)pthread_setcancelstate(cancellation, &cancellation);
}

/* What a start would complain about is no matter where nothing starts. */
static void ignore(void *self, const char *sentence)
{
    (void)self;
    (void)sentence;
}

bool sc_process_would_start(void)
{
    /* not the process's own, which another thread may be about to start with; and not on the
     * stack, which may be small */
    static sc_options options;

    if (atomic_load(&sc_process_self.stage) != SC_STAGE_IDLE)
        return false;
    sc_options_read(&options, NULL, trusted_environment(), ignore, NULL);
    return options.mode != SC_MODE_OFF;
}

bool sc_process_end(void)
{
    sc_stage on = SC_STAGE_ON;

    return sc_process_is_on() &&
           atomic_compare_exchange_strong(&sc_process_self.stage, &on, SC_STAGE_DONE);
}
