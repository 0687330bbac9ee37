/* SPDX-License-Identifier: MIT */
#include "engine/logbook.h"
#include "base/clock.h"
#include "engine/device.h"
#include "engine/process.h"
#include "engine/site.h"
#include "engine/thread.h"
#include "log/writer.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COMMON_BYTES = 64 << 10, SAY_BYTES = 2048 };
static const size_t SHAPE_ROW_BYTES = 2048, FIRST_WALK_BYTES = 64 << 10;

static sc_mutex file_lock;
static sc_log file = {.fd = -1};
static atomic_bool is_open;
static atomic_bool has_events;
static atomic_bool is_tight;
static atomic_bool is_degraded; /* has just been, and nobody has said so */
static atomic_bool is_busy;     /* somebody is writing: others need not wait for it */
static atomic_ullong every = 1;
static bool is_stderr_closed; /* from the start: whatever has its number now is something else */

static sc_mutex common_lock;
static sc_outbox common;

bool sc_logbook_is_open(void)
{
    return atomic_load_explicit(&is_open, memory_order_relaxed);
}

bool sc_logbook_has_events(void)
{
    return atomic_load_explicit(&has_events, memory_order_relaxed);
}

bool sc_logbook_is_tight(void)
{
    return atomic_load_explicit(&is_tight, memory_order_relaxed);
}

const char *sc_logbook_path(void)
{
    return file.path[0] ? file.path : NULL;
}

uint64_t sc_logbook_now(void)
{
    return sc_clock_ns() - sc_process_self.t0;
}

uint64_t sc_logbook_every(void)
{
    return atomic_load_explicit(&every, memory_order_relaxed);
}

/* One write(2), without what may come of it in the program's own thread: SIGPIPE where nobody reads
 * the pipe any more and SIGXFSZ where the file may not grow, which both kill, and a cancellation,
 * for which a cudaMalloc is no place. */
static void write_quietly(int fd, const char *bytes, size_t count)
{
    static const struct timespec now = {0, 0};
    sigset_t fatal, before, pending;
    int cancellation;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    (void)sigpending(&pending);
    (void)sigemptyset(&fatal);
    if (!sigismember(&pending, SIGPIPE))
        (void)sigaddset(&fatal, SIGPIPE);
    if (!sigismember(&pending, SIGXFSZ))
        (void)sigaddset(&fatal, SIGXFSZ);
    (void)sigprocmask(SIG_BLOCK, &fatal, &before); /* of this thread alone, on Linux */
    if (write(fd, bytes, count) < 0 && (errno == EPIPE || errno == EFBIG))
        (void)sigtimedwait(&fatal, NULL, &now);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)pthread_setcancelstate(cancellation, &cancellation);
}

void sc_logbook_load(void)
{
    int saved_errno = errno;

    is_stderr_closed = fcntl(STDERR_FILENO, F_GETFD) < 0;
    errno = saved_errno;
}

void sc_logbook_say(const char *text)
{
    char bytes[SAY_BYTES];
    sc_text line = sc_text_over(bytes, sizeof bytes - 1);

    if (is_stderr_closed)
        return;
    sc_text_string(&line, "shapecache[");
    sc_text_u64(&line, (uint64_t)getpid());
    sc_text_string(&line, "] ");
    sc_text_string(&line, text);
    bytes[line.used++] = '\n';
    write_quietly(STDERR_FILENO, bytes, line.used);
}

static void say_warning(const char *sentence)
{
    char bytes[SAY_BYTES];
    sc_text line = sc_text_over(bytes, sizeof bytes);

    sc_text_string(&line, "warn: ");
    sc_text_string(&line, sentence);
    sc_logbook_say(sc_text_terminate(&line));
}

/* Why there is no log, with what may stand in its setting. */
static void say_no_log(const char *format, int error)
{
    const char *unknown = sc_path_unknown(format);
    char bytes[SAY_BYTES];
    sc_text line = sc_text_over(bytes, sizeof bytes);

    if (unknown) {
        sc_text_string(&line, "SHAPECACHE_LOG has ");
        sc_text_bytes(&line, unknown, unknown[1] > ' ' && unknown[1] < 0x7f ? 2 : 1);
        sc_text_string(&line, ", which stands for nothing: %p, %h, %e, %r, %l, %j and %n do, and "
                              "%% is a percent sign; no log is written");
    } else if (error == EISDIR) {
        size_t length = strlen(file.path);

        sc_text_string(&line, "SHAPECACHE_LOG names a folder, ");
        sc_text_string(&line, file.path);
        sc_text_string(&line, ": name a file in it, such as ");
        sc_text_string(&line, file.path);
        sc_text_string(&line, length && file.path[length - 1] == '/' ? "" : "/");
        sc_text_string(&line, "r%r.jsonl; no log is written");
    } else {
        sc_text_string(&line, "cannot create the log ");
        sc_text_string(&line, error != EINVAL && error != ENAMETOOLONG ? file.path : format);
        sc_text_string(&line, ": ");
        sc_text_string(&line, strerror(error));
    }
    say_warning(sc_text_terminate(&line));
}

void sc_logbook_open(void)
{
    const sc_options *options = &sc_process_self.options;

    if (sc_text_same(options->log, "off"))
        return;
    if (!sc_outbox_init(&common, COMMON_BYTES)) {
        say_warning("no memory for the log; none is written");
        return;
    }
    int error = sc_log_open(&file, options->log, &sc_process_self.identity, options->log_max,
                            options->log_every);

    if (error) {
        say_no_log(options->log, error);
        file.path[0] = '\0';
        return;
    }
    file.is_detailed = options->log_level == SC_LEVEL_EVENT;
    atomic_store(&has_events, file.is_detailed);
    atomic_store(&every, options->log_every);
    atomic_store(&is_open, true);
}

/* `level`: of the log from here on, or NULL. */
static void warn(const char *sentence, const char *level)
{
    if (sc_logbook_is_open()) {
        sc_lock(&common_lock);
        sc_record record = sc_outbox_begin(&common, SC_EV_WARN, sc_logbook_now(), true);

        sc_record_string(&record, SC_F_TEXT, sentence);
        sc_record_string(&record, SC_F_LEVEL, level);
        sc_outbox_end(&common, &record, true);
        sc_unlock(&common_lock);
    }
    say_warning(sentence);
}

void sc_logbook_warn(const char *sentence)
{
    warn(sentence, NULL);
}

void sc_logbook_mark(const char *name)
{
    if (!sc_logbook_is_open())
        return;
    sc_lock(&common_lock);
    sc_record record = sc_outbox_begin(&common, SC_EV_MARK, sc_logbook_now(), false);

    sc_record_string(&record, SC_F_NAME, name);
    sc_outbox_end(&common, &record, false);
    sc_unlock(&common_lock);
}

static void introduce(uint32_t number)
{
    const sc_site_object *object = sc_site_object_of(number);

    if (!sc_site_is_first_mention(number))
        return;
    sc_lock(&common_lock);
    uint64_t dropped = common.dropped;
    sc_record record = sc_outbox_begin(&common, SC_EV_SITE, sc_logbook_now(), false);

    sc_record_string(&record, SC_F_SITE, sc_site_text(number));
    if (object) {
        sc_record_string(&record, SC_F_OBJECT, object->path);
        sc_record_string(&record, SC_F_BUILD_ID, object->build_id[0] ? object->build_id : NULL);
    }
    sc_outbox_end(&common, &record, false);
    if (common.dropped != dropped)
        sc_site_forget_mention(number); /* introduced later is better than never */
    sc_unlock(&common_lock);
}

/* The places of a chain come first: whoever looks for their lines needs each alone. */
void sc_logbook_site(uint32_t number)
{
    const uint32_t *chain = sc_site_chain(number);

    for (; chain && *chain; chain++)
        introduce(*chain);
    introduce(number);
}

/* A write is where a thread may be cancelled; it must not take the lock with it. */
static void lock_file(int *cancellation)
{
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancellation);
    sc_lock(&file_lock);
}

static void unlock_file(int cancellation)
{
    sc_unlock(&file_lock);
    (void)pthread_setcancelstate(cancellation, &cancellation);
}

/* Under the file's lock. */
static void write_batch(const sc_lines *lines)
{
    if (!sc_log_is_tight(&file, lines->text.used)) {
        sc_log_write(&file, lines->text.at, lines->text.used, false);
        return;
    }
    file.is_detailed = false; /* what is lost may be rows of requests */
    file.dropped += lines->text.used;
    for (unsigned i = 0; i < lines->kept; i++) {
        file.dropped -= lines->keep[i].bytes;
        sc_log_write(&file, lines->text.at + lines->keep[i].at, lines->keep[i].bytes, true);
    }
    atomic_store(&is_tight, true);
}

static void write_common(void)
{
    sc_lock(&common_lock);
    const sc_lines *lines = sc_outbox_swap(&common);

    sc_unlock(&common_lock);
    write_batch(lines);
}

/* Rows of shapes, as many as there are, in memory that grows. Not the program's heap: the end of
 * the run may come in a signal handler that interrupted malloc(). */
typedef struct walk {
    sc_journal *journal;
    sc_text text;
    uint64_t dropped;
} walk;

static void grow(sc_text *text)
{
    size_t size = text->size ? 2 * text->size : FIRST_WALK_BYTES;
    char *at = text->at
                   ? mremap(text->at, text->size, size, MREMAP_MAYMOVE)
                   : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at != MAP_FAILED) {
        text->at = at;
        text->size = size;
    }
}

static void walk_shape(void *self, const sc_shape_row *row)
{
    walk *rows = self;

    if (rows->text.size - rows->text.used < SHAPE_ROW_BYTES)
        grow(&rows->text);
    if (!sc_journal_shape(rows->journal, &rows->text, row))
        rows->dropped++;
}

static void write_shapes(sc_device *device, bool is_last)
{
    walk rows = {.journal = &device->journal};

    sc_lock(&device->lock);
    device->journal.is_walk_due = false;
    sc_cache_each_shape(device->cache, !is_last, walk_shape, &rows);
    device->journal.outbox.dropped += rows.dropped;
    sc_unlock(&device->lock);
    write_common(); /* the sites they name */
    sc_log_write(&file, rows.text.at, rows.text.used, false);
    if (rows.text.at)
        (void)munmap(rows.text.at, rows.text.size);
}

/* Under the file's lock: what a write of any kind ends with. */
static void after_writing(void)
{
    atomic_store(&every, file.every);
    if (!file.is_detailed && atomic_exchange(&has_events, false))
        atomic_store(&is_degraded, true);
    if (file.fd < 0) {
        atomic_store(&is_open, false);
        atomic_store(&has_events, false);
    }
}

static void write_waiting(bool is_last)
{
    static const sc_lines *batches[SC_DEVICE_MOST]; /* the file's lock guards it */
    bool is_walk_due[SC_DEVICE_MOST] = {false};

    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device)) {
        sc_lock(&device->lock);
        batches[device->ordinal] = sc_outbox_swap(&device->journal.outbox);
        is_walk_due[device->ordinal] = is_last || device->journal.is_walk_due;
        sc_unlock(&device->lock);
    }
    write_common();
    for (int i = 0; i < SC_DEVICE_MOST; i++) {
        if (batches[i])
            write_batch(batches[i]);
        batches[i] = NULL;
    }
    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device))
        if (is_walk_due[device->ordinal])
            write_shapes(device, is_last);
}

/* What the journals want said on stderr. */
static void say_notices(void)
{
    char bytes[SC_NOTICE_BYTES];

    for (sc_device *device = sc_device_next(NULL); device; device = sc_device_next(device)) {
        sc_lock(&device->lock);
        size_t used = device->journal.notices.used;

        memcpy(bytes, device->journal.notice_bytes, used);
        sc_text_clear(&device->journal.notices);
        sc_unlock(&device->lock);
        for (size_t at = 0; at < used; at += strlen(bytes + at) + 1)
            sc_logbook_say(bytes + at);
    }
}

void sc_logbook_write(const char *lines, size_t bytes, bool must_keep)
{
    int cancellation;

    if (!sc_logbook_is_open())
        return;
    lock_file(&cancellation);
    write_common();
    sc_log_write(&file, lines, bytes, must_keep);
    after_writing();
    unlock_file(cancellation);
}

/* False: the log has just been found broken. */
static bool write_all(bool is_last)
{
    int cancellation;
    bool is_sound = true;

    lock_file(&cancellation);
    if (sc_logbook_is_open()) { /* still: another thread may have closed it */
        atomic_store(&is_busy, true);
        write_waiting(is_last);
        after_writing();
        is_sound = file.fd >= 0;
        atomic_store(&is_busy, false);
    }
    unlock_file(cancellation);
    return is_sound;
}

static void flush(bool is_last)
{
    bool must_wait = is_last || sc_logbook_has_events();

    if (sc_logbook_is_open() && (must_wait || !atomic_load(&is_busy)) && !write_all(is_last))
        say_warning("the log could not be written; nothing more is logged");
    if (atomic_exchange(&is_degraded, false))
        warn("the log is three quarters full (SHAPECACHE_LOG_MAX): rows of single requests end "
             "here, level event is step from now on",
             "step");
    say_notices();
}

void sc_logbook_flush(void)
{
    flush(false);
}

void sc_logbook_flush_all(void)
{
    flush(true);
}

void sc_logbook_close(void)
{
    int cancellation;

    lock_file(&cancellation);
    atomic_store(&is_open, false);
    atomic_store(&has_events, false);
    sc_log_close(&file);
    unlock_file(cancellation);
}
