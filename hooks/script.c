/* SPDX-License-Identifier: MIT */
#include "script.h"
#include "bootstrap.h"
#include "glibc.h"
#include "script_lines.h"
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FRAMES_MOST = 512, DEPTH_MOST = 16, WINDOW = 256 };
enum { NAME_BYTES = 1024, NAME_USUAL = 160 };
enum { TYPE = 8, SIZE = 16, STATE = 32, CONTENT = 32 }; /* in any object, and in its kinds */
enum { HEADER = 72, FRAME_BYTES = 104, CODE_BYTES = 144 };

typedef struct layout {
    int minor;
    size_t cframe, current;
    size_t code, previous, at;
    size_t file, first, table, bytes;
    size_t ascii, wide;
} layout;

static const layout layouts[] = {
#define PYTHON(minor, cframe, current, code, previous, at, file, first, table, bytes, ascii, wide) \
    {minor, cframe, current, code, previous, at, file, first, table, bytes, ascii, wide},
#include "script_layout.def"
};

/* The interpreter in this process, written once. */
typedef struct interpreter {
    const layout *at;
    int (*is_initialized)(void);
    void *(*thread_state)(void);
    uintptr_t code_type, text_type, bytes_type;
} interpreter;

typedef enum stage { UNSEEN, LOOKING, ABSENT, PRESENT } stage;

static _Atomic(stage) looked;
static interpreter python;
static _Atomic(uintptr_t) main_state; /* of the main thread, once it has asked */

/* A copy of memory that may not be there, as far as it is: the bytes copied. What lies on a second
 * page is an element of its own, since the kernel copies elements whole or not at all. */
static size_t peek(uintptr_t from, void *to, size_t bytes)
{
    const size_t page = 4096, first = page - from % page;
    const size_t head = first < bytes ? first : bytes;
    const struct iovec local = {to, bytes};
    const struct iovec remote[] = {{(void *)from, head}, {(void *)(from + head), bytes - head}};
    const ssize_t got = from >= page ? process_vm_readv(getpid(), &local, 1, remote, 2, 0) : -1;

    return got > 0 ? (size_t)got : 0;
}

static uintptr_t word(const unsigned char *copy, size_t at)
{
    uintptr_t value;

    memcpy(&value, copy + at, sizeof(value));
    return value;
}

static uintptr_t pointer_at(uintptr_t from)
{
    uintptr_t found;

    return peek(from, &found, sizeof(found)) == sizeof(found) ? found : 0;
}

/* "3.11.7 (main, ...)" */
static const layout *layout_of(const char *version)
{
    const char *dot = strncmp(version, "3.", 2) == 0 ? version + 2 : "";
    int minor = 0;

    for (; *dot >= '0' && *dot <= '9' && minor < 1000; dot++)
        minor = minor * 10 + (*dot - '0');
    for (size_t i = 0; *dot == '.' && i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].minor == minor)
            return &layouts[i];
    return NULL;
}

static bool find(interpreter *found)
{
    void *const code = sc_dlsym_libc()(RTLD_DEFAULT, "PyCode_Type");
    void *const text = sc_dlsym_libc()(RTLD_DEFAULT, "PyUnicode_Type");
    void *const bytes = sc_dlsym_libc()(RTLD_DEFAULT, "PyBytes_Type");
    void *const version = sc_dlsym_libc()(RTLD_DEFAULT, "Py_GetVersion");
    void *const initialized = sc_dlsym_libc()(RTLD_DEFAULT, "Py_IsInitialized");
    void *const state = sc_dlsym_libc()(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    const char *(*get_version)(void);

    if (!code || !text || !bytes || !version || !initialized || !state)
        return false;
    memcpy(&get_version, &version, sizeof(version));
    memcpy(&found->is_initialized, &initialized, sizeof(initialized));
    memcpy(&found->thread_state, &state, sizeof(state));
    found->code_type = (uintptr_t)code;
    found->text_type = (uintptr_t)text;
    found->bytes_type = (uintptr_t)bytes;
    found->at = layout_of(get_version());
    return found->at != NULL;
}

/* The first thread looks; one that comes meanwhile goes without. */
static bool is_there(void)
{
    stage seen = UNSEEN;

    if (atomic_compare_exchange_strong(&looked, &seen, LOOKING)) {
        seen = sc_dlsym_libc() != NULL && find(&python) ? PRESENT : ABSENT;
        (void)dlerror();
        atomic_store(&looked, seen);
    }
    return seen == PRESENT;
}

/* Characters of any width as UTF-8. False: it does not fit. */
static bool put_character(char *out, size_t bytes, size_t *used, uint32_t c)
{
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const unsigned length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (bytes - *used <= length)
        return false;
    for (unsigned i = length; i-- > 1; c >>= 6)
        out[*used + i] = (char)(0x80 | (c & 0x3f));
    out[*used] = (char)(length == 1 ? c : marks[length] | c);
    *used += length;
    return true;
}

static uint32_t character(const unsigned char *raw, size_t i, unsigned width)
{
    uint32_t value = 0;

    memcpy(&value, raw + i * width, width);
    return value;
}

/* A str object's text, terminated. */
static bool read_text(uintptr_t object, char *out, size_t bytes)
{
    unsigned char raw[HEADER + NAME_BYTES];
    size_t have = peek(object, raw, HEADER + NAME_USUAL);
    size_t used = 0;

    if (have < HEADER || word(raw, TYPE) != python.text_type)
        return false;
    const size_t length = word(raw, SIZE);
    const unsigned state = raw[STATE];
    const unsigned width = state >> 2 & 7;
    const bool is_compact = (state & 32) != 0, is_ascii = (state & 64) != 0;
    const size_t header = python.at->ascii + (is_ascii ? 0 : python.at->wide);

    if (!is_compact || (width != 1 && width != 2 && width != 4) || length == 0 ||
        length > NAME_BYTES / width)
        return false;
    if (header + length * width > have)
        have = peek(object, raw, header + length * width);
    for (size_t i = 0; i < length; i++)
        if (have < header + length * width ||
            !put_character(out, bytes, &used, character(raw + header, i, width)))
            return false;
    out[used] = '\0';
    return true;
}

/* A table of lines, as it is read. */
typedef struct window {
    uintptr_t content;
    size_t size;
    size_t from, have;
    unsigned char bytes[CONTENT + WINDOW];
    const unsigned char *at;
} window;

static int table_byte(void *self, size_t at)
{
    window *table = self;

    if (at >= table->size)
        return -1;
    if (at < table->from || at >= table->from + table->have) {
        table->from = at;
        table->at = table->bytes;
        table->have = peek(table->content + at, table->bytes, WINDOW);
        if (table->have == 0)
            return -1;
    }
    return table->at[at - table->from];
}

static bool open_table(window *table, uintptr_t object)
{
    const size_t have = peek(object, table->bytes, sizeof(table->bytes));

    if (have < CONTENT || word(table->bytes, TYPE) != python.bytes_type)
        return false;
    table->content = object + CONTENT;
    table->size = word(table->bytes, SIZE);
    table->from = 0;
    table->have = have - CONTENT;
    table->at = table->bytes + CONTENT;
    return true;
}

typedef struct frame {
    uintptr_t code, previous;
    uintptr_t at; /* an instruction, or its number */
} frame;

static bool read_frame(uintptr_t from, frame *out)
{
    unsigned char copy[FRAME_BYTES];
    const layout *at = python.at;
    const size_t have = peek(from, copy, sizeof(copy));

    if (have < at->at + sizeof(uintptr_t) || have < at->code + sizeof(uintptr_t))
        return false;
    out->code = word(copy, at->code);
    out->previous = word(copy, at->previous);
    out->at = word(copy, at->at);
    return true;
}

typedef struct code {
    uintptr_t file, table;
    int first;
} code;

static bool read_code(uintptr_t from, code *out)
{
    unsigned char copy[CODE_BYTES];
    const layout *at = python.at;

    if (peek(from, copy, sizeof(copy)) < sizeof(copy) || word(copy, TYPE) != python.code_type)
        return false;
    out->file = word(copy, at->file);
    out->table = word(copy, at->table);
    memcpy(&out->first, copy + at->first, sizeof(out->first));
    return true;
}

/* Where the frame stands in its code. The first line, if the table does not say. */
static int line_of(const frame *one, const code *of)
{
    window table;
    int line;

    if (!open_table(&table, of->table))
        return of->first;
    if (python.at->bytes != 0)
        line = sc_lines_in_entries(table_byte, &table, of->first,
                                   (int64_t)(one->at - (one->code + python.at->bytes)));
    else
        line = sc_lines_in_pairs(table_byte, &table, of->first, 2 * (int64_t)(int)one->at);
    return line > 0 ? line : of->first;
}

static const char *after(const char *path, const char *part)
{
    const char *found = strstr(path, part);

    return found != NULL ? found + strlen(part) : NULL;
}

/* Below the folder of installed packages; NULL: not there. */
static const char *in_packages(const char *path)
{
    const char *found = after(path, "/site-packages/");

    return found != NULL ? found : after(path, "/dist-packages/");
}

/* Frames that say nothing about the program: the interpreter's own, PyTorch's and ours. */
static bool is_programs(const char *path)
{
    const char *package = in_packages(path);

    if (path[0] == '<' || strstr(path, "/shapecache/torch") != NULL)
        return false;
    return package == NULL || strncmp(package, "torch/", 6) != 0;
}

static uintptr_t innermost(uintptr_t state)
{
    const uintptr_t holder = python.at->cframe != 0 ? pointer_at(state + python.at->cframe) : state;

    return holder != 0 ? pointer_at(holder + python.at->current) : 0;
}

typedef struct place {
    uintptr_t file; /* a str object */
    int line;
} place;

/* The places of the program, innermost first; where all are others', the innermost of those. */
static unsigned walk(uintptr_t state, place *places, unsigned depth)
{
    uintptr_t from = innermost(state);
    char path[NAME_BYTES];
    unsigned count = 0;
    place spare = {0, 0};
    frame one;
    code of;

    for (int i = 0; from != 0 && count < depth && i < FRAMES_MOST; i++) {
        if (!read_frame(from, &one))
            break;
        if (read_code(one.code, &of) && read_text(of.file, path, sizeof(path))) {
            if (is_programs(path))
                places[count++] = (place){of.file, line_of(&one, &of)};
            else if (spare.file == 0 && path[0] != '<')
                spare = (place){of.file, line_of(&one, &of)};
        }
        from = one.previous;
    }
    if (count == 0 && spare.file != 0)
        places[count++] = spare;
    return count;
}

/* As people name it from where they work. */
static const char *short_name(const char *path)
{
    char folder[PATH_MAX];
    const char *package = in_packages(path);
    size_t length;

    if (package != NULL)
        return package;
    if (getcwd(folder, sizeof(folder)) == NULL)
        return path;
    length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static bool write_places(const place *places, unsigned count, const char *end, char *out,
                         size_t bytes)
{
    char path[NAME_BYTES];
    size_t used = 0;

    for (unsigned i = count; i-- > 0;) {
        if (!read_text(places[i].file, path, sizeof(path)))
            return false;
        const int length = snprintf(out + used, bytes - used, "%s:%d%s", short_name(path),
                                    places[i].line, i > 0 ? " > " : end);

        if (length < 0 || (size_t)length >= bytes - used)
            return false;
        used += (size_t)length;
    }
    return count > 0;
}

static bool is_main_thread(void)
{
    return syscall(SYS_gettid) == (long)getpid();
}

bool sc_script_text(char *out, size_t bytes, unsigned depth)
{
    place places[DEPTH_MOST];
    const char *end = "";
    uintptr_t state;
    unsigned count;

    if (!is_there())
        return false;
    if (out == NULL)
        return true;
    if (python.is_initialized() == 0)
        return false;
    state = (uintptr_t)python.thread_state();
    if (state != 0 && state != atomic_load(&main_state) && is_main_thread())
        atomic_store(&main_state, state);
    depth = depth < DEPTH_MOST ? depth : DEPTH_MOST;
    count = state != 0 ? walk(state, places, depth) : 0;
    if (count == 0) {
        state = atomic_load(&main_state);
        count = state != 0 ? walk(state, places, depth) : 0;
        end = " (another thread)";
    }
    return write_places(places, count, end, out, bytes);
}
