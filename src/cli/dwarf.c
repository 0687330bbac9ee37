/* SPDX-License-Identifier: MIT */
#include "cli/dwarf.h"
#include "cli/command.h"
#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The loader's functions under the versions that every C library since 2.17 has (hooks/glibc.h). */
#if defined(__x86_64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.17");
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
#endif

enum { NAME_BYTES = 1024, ID_BYTES = 64, SOME = 8 };

/* Of libdwfl, declared here: neither its headers nor the library need be where the tool is built.
 */
typedef struct dwfl dwfl;
typedef struct dwfl_module dwfl_module;
typedef struct dwfl_line dwfl_line;
typedef struct elf elf;
typedef struct dwfl_callbacks {
    int (*find_elf)(dwfl_module *, void **, const char *, uint64_t, char **, elf **);
    int (*find_debuginfo)(dwfl_module *, void **, const char *, uint64_t, const char *,
                          const char *, uint32_t, char **);
    int (*section_address)(dwfl_module *, void **, const char *, uint64_t, const char *, uint32_t,
                           const void *, uint64_t *);
    char **debuginfo_path;
} dwfl_callbacks;

typedef struct dwarf_die {
    void *address, *unit, *abbreviation;
    long padding;
} dwarf_die;
typedef struct dwarf_attribute {
    unsigned code, form;
    unsigned char *value;
    void *unit;
} dwarf_attribute;

/* Of DWARF itself. */
enum {
    TAG_INLINED = 0x1d,
    TAG_FUNCTION = 0x2e,
    CALL_FILE = 0x58,
    CALL_LINE = 0x59,
    LINKAGE_NAME = 0x6e
};

/* X(MEMBER, TYPE, "symbol") */
#define FUNCTIONS(X)                                                                               \
    X(begin, dwfl *(*begin)(const dwfl_callbacks *), "dwfl_begin")                                 \
    X(end, void (*end)(dwfl *), "dwfl_end")                                                        \
    X(report, dwfl_module *(*report)(dwfl *, const char *, const char *, int),                     \
      "dwfl_report_offline")                                                                       \
    X(reported, int (*reported)(dwfl *, void *, void *), "dwfl_report_end")                        \
    X(get_elf, elf *(*get_elf)(dwfl_module *, uint64_t *), "dwfl_module_getelf")                   \
    X(build_id, int (*build_id)(dwfl_module *, const unsigned char **, uint64_t *),                \
      "dwfl_module_build_id")                                                                      \
    X(name, const char *(*name)(dwfl_module *, uint64_t), "dwfl_module_addrname")                  \
    X(symbols, int (*symbols)(dwfl_module *), "dwfl_module_getsymtab")                             \
    X(symbol, const char *(*symbol)(dwfl_module *, int, Elf64_Sym *, uint32_t *),                  \
      "dwfl_module_getsym")                                                                        \
    X(unit, dwarf_die *(*unit)(dwfl_module *, uint64_t, uint64_t *), "dwfl_module_addrdie")        \
    X(scopes, int (*scopes)(dwarf_die *, uint64_t, dwarf_die **), "dwarf_getscopes")               \
    X(scopes_of, int (*scopes_of)(dwarf_die *, dwarf_die **), "dwarf_getscopes_die")               \
    X(unit_of, dwarf_die *(*unit_of)(dwarf_die *, dwarf_die *, uint8_t *, uint8_t *),              \
      "dwarf_diecu")                                                                               \
    X(sources, int (*sources)(dwarf_die *, void **, size_t *), "dwarf_getsrcfiles")                \
    X(source, const char *(*source)(void *, size_t, uint64_t *, uint64_t *), "dwarf_filesrc")      \
    X(number_of, int (*number_of)(dwarf_attribute *, uint64_t *), "dwarf_formudata")               \
    X(tag, int (*tag)(dwarf_die *), "dwarf_tag")                                                   \
    X(die_name, const char *(*die_name)(dwarf_die *), "dwarf_diename")                             \
    X(attribute, dwarf_attribute *(*attribute)(dwarf_die *, unsigned, dwarf_attribute *),          \
      "dwarf_attr_integrate")                                                                      \
    X(text_of, const char *(*text_of)(dwarf_attribute *), "dwarf_formstring")                      \
    X(line, dwfl_line *(*line)(dwfl_module *, uint64_t), "dwfl_module_getsrc")                     \
    X(line_info,                                                                                   \
      const char *(*line_info)(dwfl_line *, uint64_t *, int *, int *, uint64_t *, uint64_t *),     \
      "dwfl_lineinfo")                                                                             \
    X(find_elf, __typeof__(((dwfl_callbacks *)0)->find_elf) find_elf, "dwfl_build_id_find_elf")    \
    X(find_debuginfo, __typeof__(((dwfl_callbacks *)0)->find_debuginfo) find_debuginfo,            \
      "dwfl_build_id_find_debuginfo")                                                              \
    X(section_address, __typeof__(((dwfl_callbacks *)0)->section_address) section_address,         \
      "dwfl_offline_section_address")

static struct {
    bool is_tried, is_there;
#define MEMBER(member, declaration, symbol) declaration;
    FUNCTIONS(MEMBER)
#undef MEMBER
} library;

/* A function's code, and its name. */
typedef struct function {
    uint64_t start, end;
    const char *name; /* in the file */
} function;

struct sc_dwarf {
    dwfl *session;
    dwfl_module *module;
    uint64_t bias; /* what is added to the file's addresses */
    dwfl_callbacks callbacks;
    unsigned lookups;    /* of symbols so far */
    function *functions; /* by where they start, once there have been some; NULL before */
    size_t function_count;
};

static bool find(void *handle, const char *symbol, void *out)
{
    void *found = dlsym(handle, symbol);

    memcpy(out, &found, sizeof found);
    return found != NULL;
}

/* The tool asks no server for files: libdw would, where this names one. */
static bool load(void)
{
    void *handle;

    if (library.is_tried)
        return library.is_there;
    library.is_tried = true;
    (void)unsetenv("DEBUGINFOD_URLS");
    handle = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
    library.is_there = handle != NULL;
#define FIND(member, declaration, symbol)                                                          \
    library.is_there = library.is_there && find(handle, symbol, &library.member);
    FUNCTIONS(FIND)
#undef FIND
    if (!library.is_there)
        sc_say("call sites stay offsets: libdw.so.1, of elfutils, is not to be found");
    return library.is_there;
}

static bool has_build_id(sc_dwarf *file, const char *wanted)
{
    const unsigned char *bytes;
    uint64_t where;
    char have[2 * ID_BYTES + 1] = "";
    int count = library.build_id(file->module, &bytes, &where);

    for (size_t i = 0; count > 0 && i < (size_t)count && i < ID_BYTES; i++)
        snprintf(have + 2 * i, 3, "%02x", bytes[i]);
    return count > 0 && !strcmp(have, wanted);
}

static bool open_session(sc_dwarf *file, const char *path)
{
    file->callbacks = (dwfl_callbacks){.find_elf = library.find_elf,
                                       .find_debuginfo = library.find_debuginfo,
                                       .section_address = library.section_address};
    file->session = library.begin(&file->callbacks);
    if (!file->session)
        return false;
    file->module = library.report(file->session, "", path, -1);
    (void)library.reported(file->session, NULL, NULL);
    return file->module && library.get_elf(file->module, &file->bias);
}

/* The path comes out of a log: a pipe would be waited for. The system call: fstat() of a new C
 * library is not in an old one. */
static bool is_regular(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool is_it = fd >= 0 && syscall(SYS_fstat, fd, &about) == 0 && S_ISREG(about.st_mode);

    if (fd >= 0)
        (void)close(fd);
    return is_it;
}

sc_dwarf_answer sc_dwarf_open(const char *path, const char *build_id, sc_dwarf **file)
{
    sc_dwarf *made;
    bool is_open;

    if (!is_regular(path))
        return SC_DWARF_NO_FILE;
    if (!load())
        return SC_DWARF_NO_READER;
    made = sc_need(sizeof *made);
    is_open = open_session(made, path);
    if (is_open && has_build_id(made, build_id)) {
        *file = made;
        return SC_DWARF_OPEN;
    }
    sc_dwarf_close(made);
    return is_open ? SC_DWARF_OTHER : SC_DWARF_NO_FILE;
}

void sc_dwarf_close(sc_dwarf *file)
{
    if (file->session)
        library.end(file->session);
    free(file->functions);
    free(file);
}

/* To be freed; NULL: not mangled, or nobody there who can tell. */
static char *demangle(const char *name)
{
    static bool is_tried;
    static char *(*demangler)(const char *, char *, size_t *, int *);
    void *handle;
    int status;

    if (strncmp(name, "_Z", 2) != 0)
        return NULL;
    if (!is_tried) {
        is_tried = true;
        handle = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        if (handle)
            (void)find(handle, "__cxa_demangle", &demangler);
    }
    return demangler ? demangler(name, NULL, NULL, &status) : NULL;
}

/* How many bytes at `at` are the name of an operator: its signs are no brackets. */
static size_t operator_at(const char *name, const char *at)
{
    static const char word[] = "operator";
    const char *end = at + sizeof word - 1;

    if (strncmp(at, word, sizeof word - 1) != 0 || isalnum((unsigned char)*end) || *end == '_' ||
        (at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '_')))
        return 0;
    if (!strncmp(end, "()", 2) || !strncmp(end, "[]", 2))
        return (size_t)(end + 2 - at);
    while (*end && strchr("<>=-", *end))
        end++;
    return (size_t)(end - at);
}

/* Where " const" and the like end, between a function's parameters and what is inside of it; `at`
 * where they are none. */
static const char *past_qualifiers(const char *name, const char *at)
{
    const char *end = at;

    if (at == name || at[-1] != ')')
        return at;
    while (isalpha((unsigned char)*end) || *end == ' ' || *end == '&')
        end++;
    return strncmp(end, "::", 2) != 0 ? at : end;
}

void sc_dwarf_shorten(const char *name, char *out, size_t bytes)
{
    static const char anonymous[] = "(anonymous namespace)";
    size_t used = 0, depth = 0;

    for (const char *at = name; *at && used + 1 < bytes; at++) {
        at = depth ? at : past_qualifiers(name, at);
        size_t kept = depth ? 0 : operator_at(name, at);

        if (!depth && !strncmp(at, anonymous, sizeof anonymous - 1))
            kept = sizeof anonymous - 1;
        if (kept && used + kept < bytes) {
            memcpy(out + used, at, kept);
            used += kept;
            at += kept - 1;
        } else if (*at == '<' || *at == '(') {
            depth++;
        } else if (*at == '>' || *at == ')') {
            depth -= depth > 0;
        } else if (!depth && *at == ' ' && !strstr(at, "(")) {
            break; /* const and the like, behind the parameters */
        } else if (!depth && *at == ' ') {
            used = 0; /* what was before is the result */
        } else if (!depth) {
            out[used++] = *at;
        }
    }
    out[used] = '\0';
    if (!used)
        snprintf(out, bytes, "%s", name);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int by_start(const void *left, const void *right)
{
    const function *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

static void read_functions(sc_dwarf *file)
{
    int count = library.symbols(file->module);
    uint32_t section;
    Elf64_Sym symbol;

    file->functions = sc_need((size_t)(count > 0 ? count : 0) * sizeof *file->functions);
    for (int i = 1; i < count; i++) {
        const char *name = library.symbol(file->module, i, &symbol, &section);

        if (name && *name && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size)
            file->functions[file->function_count++] =
                (function){symbol.st_value, symbol.st_value + symbol.st_size, name};
    }
    if (file->function_count)
        qsort(file->functions, file->function_count, sizeof *file->functions, by_start);
}

/* libdw goes through all symbols each time, of which a framework's library has half a million. */
static const char *symbol_at(sc_dwarf *file, uint64_t at)
{
    size_t low = 0, high;

    if (file->lookups++ < SOME)
        return library.name(file->module, at);
    if (!file->functions)
        read_functions(file);
    for (high = file->function_count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (file->functions[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && at < file->functions[low - 1].end)
        return file->functions[low - 1].name;
    return library.name(file->module, at);
}

/* The name with its namespaces, where there is one: in an unnamed namespace a function has it as a
 * symbol alone. */
static const char *name_of(dwarf_die *scope, const char *symbol)
{
    dwarf_attribute attribute;
    const char *name = NULL;

    if (library.attribute(scope, LINKAGE_NAME, &attribute))
        name = library.text_of(&attribute);
    if (name)
        return name; /* cppcheck-suppress returnDanglingLifetime ; the text lies in the file */
    if (library.tag(scope) == TAG_FUNCTION && symbol && !strncmp(symbol, "_Z", 2))
        return symbol;
    return library.die_name(scope);
}

static bool is_function(dwarf_die *scope)
{
    int tag = library.tag(scope);

    return tag == TAG_INLINED || tag == TAG_FUNCTION;
}

/* The function whose line it is: the innermost, inlined or not. Else the symbol that lies there. */
static const char *function_at(sc_dwarf *file, uint64_t at)
{
    uint64_t bias;
    dwarf_die *unit = library.unit(file->module, at, &bias), *scopes = NULL;
    int count = unit ? library.scopes(unit, at - bias, &scopes) : 0;
    const char *symbol = symbol_at(file, at), *name = NULL;

    for (int i = 0; i < count && !name; i++)
        if (is_function(&scopes[i]))
            name = name_of(&scopes[i], symbol);
    free(scopes);
    return name ? name : symbol;
}

/* Where an inlined function is called. */
static bool find_call(dwarf_die *inlined, const char **source, int *number)
{
    dwarf_attribute attribute;
    dwarf_die unit;
    uint64_t file, line;
    void *files;
    const char *name;

    if (library.number_of(library.attribute(inlined, CALL_FILE, &attribute), &file) ||
        library.number_of(library.attribute(inlined, CALL_LINE, &attribute), &line) ||
        !library.unit_of(inlined, &unit, NULL, NULL) || library.sources(&unit, &files, NULL))
        return false;
    name = library.source(files, file, NULL, NULL);
    if (!name || !line || line > INT_MAX)
        return false;
    *source = name;
    *number = (int)line;
    return true;
}

/* CUDA's header wraps cudaMalloc in a template for typed pointers. Inlined, its line is the same
 * for all; told is who called it. */
static void leave_wrapper(sc_dwarf *file, uint64_t at, const char **symbol, const char **source,
                          int *number)
{
    uint64_t bias;
    dwarf_die *unit = library.unit(file->module, at, &bias), *scopes = NULL, *around = NULL;
    int count = unit ? library.scopes(unit, at - bias, &scopes) : 0, i = 0;

    while (i < count && !is_function(&scopes[i]))
        i++;
    count = i < count ? library.scopes_of(&scopes[i], &around) : 0;
    for (i = 0; i < count && !strcmp(file_name(*source), SC_DWARF_WRAPPERS); i++) {
        if (library.tag(&around[i]) != TAG_INLINED || !find_call(&around[i], source, number))
            break;
        while (i + 1 < count && !is_function(&around[i + 1]))
            i++;
        if (i + 1 < count)
            *symbol = name_of(&around[i + 1], symbol_at(file, at));
    }
    free(around);
    free(scopes);
}

bool sc_dwarf_place(sc_dwarf *file, uint64_t address, char *out, size_t bytes, bool *has_line)
{
    uint64_t at = address + file->bias - 1, start;
    const char *symbol = function_at(file, at);
    dwfl_line *line = library.line(file->module, at);
    int number = 0, column;
    const char *source =
        line ? library.line_info(line, &start, &number, &column, NULL, NULL) : NULL;
    char *demangled, name[NAME_BYTES] = "";

    if (source && !strcmp(file_name(source), SC_DWARF_WRAPPERS))
        leave_wrapper(file, at, &symbol, &source, &number);
    demangled = symbol ? demangle(symbol) : NULL;
    if (symbol)
        sc_dwarf_shorten(demangled ? demangled : symbol, name, sizeof name);
    free(demangled);
    *has_line = source && number > 0;
    if (*has_line)
        snprintf(out, bytes, "%s%s%s:%d", name, symbol ? " " : "", file_name(source), number);
    else
        snprintf(out, bytes, "%s", name);
    return out[0] != '\0';
}
