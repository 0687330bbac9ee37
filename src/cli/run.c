/* SPDX-License-Identifier: MIT */
#include "base/path.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/driver.h"
#include "cli/emit.h"
#include "cli/torch.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libshapecache.so"
#define DRIVER  SC_DRIVER_NAME
#define RUNTIME "libcudart.so.13"

/* The simulator's libraries: the driver and its runtime, which a run needs, and stand-ins for those
 * above them, each preloaded if it is there. */
static const char *const sim_names[] = {
    DRIVER,
    RUNTIME,
    "libcublas.so.13",
    "libcublasLt.so.13",
    "libcudnn.so.9",
    "libnccl.so.2",
    "libcusparse.so.12",
    "libcufft.so.12",
    "libcusolver.so.12",
    "libnvidia-ml.so.1",
};

enum { SIMS = sizeof sim_names / sizeof *sim_names, NEEDED_SIMS = 2, PRELOADS = 1 + SIMS };

typedef struct run_request {
    bool is_simulated, is_dry;
    sc_torch torch;
    char **command; /* NULL-terminated */
} run_request;

/* Files found for this run; "" when not wanted. */
typedef struct run_files {
    char library[SC_PATH_BYTES];
    char sim_folder[SC_PATH_BYTES];
    char sims[SIMS][SC_PATH_BYTES]; /* in the order of sim_names */
} run_files;

/* SC_EXIT_USAGE: an option with a value that it cannot have, or no option at all. */
static int refuse(const char *option)
{
    const char *value = strchr(option, '=');
    size_t length = value ? (size_t)(value - option) : strlen(option);
    static const char *const flags[] = {"--sim", "--dry-run", "-n"};

    if (value && length == strlen("--torch") && !strncmp(option, "--torch", length))
        return sc_usage(&sc_command_run,
                        "run: \"%.64s\": --torch wants tensors, pluggable or segments", option);
    if (value && length == strlen("--offload") && !strncmp(option, "--offload", length))
        return sc_usage(&sc_command_run, "run: \"%.64s\": --offload wants a size such as 16GiB",
                        option);
    for (size_t i = 0; value && i < sizeof flags / sizeof *flags; i++)
        if (length == strlen(flags[i]) && !strncmp(option, flags[i], length))
            return sc_usage(&sc_command_run, "run: \"%.64s\": %s takes no value", option, flags[i]);
    return sc_usage(&sc_command_run,
                    "run: no option \"%.64s\" (options of the program come after its name)",
                    option);
}

/* 0, or the exit status. */
static int parse(run_request *request, int count, char **arguments)
{
    int i = 0;

    for (; i < count && arguments[i][0] == '-'; i++) {
        if (!strcmp(arguments[i], "--")) {
            i++;
            break;
        }
        if (!strcmp(arguments[i], "--sim"))
            request->is_simulated = true;
        else if (!strcmp(arguments[i], "-n") || !strcmp(arguments[i], "--dry-run"))
            request->is_dry = true;
        else if (sc_torch_parse(&request->torch, arguments[i]))
            continue;
        else
            return refuse(arguments[i]);
    }
    if (i == count)
        return sc_usage(&sc_command_run, "run: which program?");
    if (request->torch.offload && request->torch.view == SC_TORCH_NONE)
        return sc_usage(&sc_command_run, "run: --offload wants --torch");
    request->command = arguments + i;
    return 0;
}

static bool join(char out[SC_PATH_BYTES], const char *folder, const char *rest)
{
    int length = snprintf(out, SC_PATH_BYTES, "%s/%s", folder, rest);

    return length > 0 && length < SC_PATH_BYTES;
}

static void cut_last(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash)
        *slash = '\0';
}

/* The folder this tool lies in, and the one above. */
static bool own_folders(char folder[SC_PATH_BYTES], char above[SC_PATH_BYTES])
{
    ssize_t length = readlink("/proc/self/exe", folder, SC_PATH_BYTES - 1);

    if (length <= 0) {
        sc_say("run: cannot tell where shapecache lies: /proc/self/exe: %s", strerror(errno));
        return false;
    }
    folder[length] = '\0';
    cut_last(folder);
    memcpy(above, folder, (size_t)length + 1);
    cut_last(above);
    return true;
}

/* The loader splits LD_PRELOAD at blanks and colons and knows no way to quote them. */
static bool can_be_preloaded(const char *path)
{
    if (!path[strcspn(path, " :\t\n")])
        return true;
    sc_say("run: the loader cannot preload \"%s\", because of the blank or colon in its path; move "
           "shapecache to a folder without",
           path);
    return false;
}

static bool find_simulator(run_files *found, const char *folder, const char *place)
{
    if (!join(found->sim_folder, folder, place))
        return false;
    for (int i = 0; i < SIMS; i++)
        if (!join(found->sims[i], found->sim_folder, sim_names[i]) ||
            access(found->sims[i], R_OK) != 0) {
            if (i < NEEDED_SIMS)
                return false;
            found->sims[i][0] = '\0';
        }
    return true;
}

/* Everything lies beside the tool, as built, or in ../lib, as installed. */
static bool find_all(run_request *request, run_files *found)
{
    static char folder[SC_PATH_BYTES], above[SC_PATH_BYTES];

    if (!own_folders(folder, above))
        return false;
    if (!(join(found->library, folder, LIBRARY) && access(found->library, R_OK) == 0) &&
        !(join(found->library, above, "lib/" LIBRARY) && access(found->library, R_OK) == 0)) {
        sc_say("run: " LIBRARY " is neither in %s nor in %s/lib; build it (./dev build), or put it "
               "there",
               folder, above);
        return false;
    }
    if (!can_be_preloaded(found->library))
        return false;
    if (request->torch.view != SC_TORCH_NONE && !sc_torch_find(&request->torch, folder, above))
        return false;
    if (!request->is_simulated)
        return true;
    if (!find_simulator(found, folder, "sim") &&
        !find_simulator(found, above, "lib/shapecache/sim")) {
        sc_say("run: the simulated GPU (" DRIVER ", " RUNTIME ") is neither in %s/sim nor in "
               "%s/lib/shapecache/sim; build it (./dev build), or leave out --sim",
               folder, above);
        return false;
    }
    return can_be_preloaded(found->sim_folder);
}

/* `first`, then the entries of `list` but for those in `names`, then `last`. */
static char *chain(const char *first, const char *list, const char *last,
                   const char *const names[PRELOADS])
{
    size_t room = strlen(first) + strlen(list) + strlen(last) + 3;
    char *joined = sc_need(room);
    sc_text text = sc_text_over(joined, room);

    sc_text_string(&text, first);
    while (*(list += strspn(list, " :"))) {
        size_t length = strcspn(list, " :");
        bool is_ours = false;

        for (int i = 0; i < PRELOADS; i++)
            is_ours = is_ours || (strlen(names[i]) == length && !strncmp(list, names[i], length));
        if (!is_ours) {
            sc_text_char(&text, ':');
            sc_text_bytes(&text, list, length);
        }
        list += length;
    }
    if (*last) {
        sc_text_char(&text, ':');
        sc_text_string(&text, last);
    }
    sc_text_terminate(&text);
    return joined;
}

static const char *value_of(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

/* The variable is printed by a dry run, set by a real one. */
static void export(const run_request *request, const char *name, const char *value)
{
    size_t room = 4 * strlen(value) + 4;
    char *quoted;

    if (!request->is_dry) {
        if (setenv(name, value, 1)) {
            sc_say("run: cannot set %s: %s", name, strerror(errno));
            exit(SC_EXIT_FAILED);
        }
        return;
    }
    quoted = sc_need(room);
    sc_emit_quoted(quoted, room, value);
    printf("%s=%s \\\n", name, quoted);
    free(quoted);
}

/* Ours first, so that no other hook's cudaMalloc hides it; what was there keeps its order, since it
 * may forward to whatever comes next; and the simulator after all of them, as the real libraries
 * would be.
 *
 * The simulator is preloaded by path, because the loader takes a library that is already there for
 * every later NEEDED or dlopen() of its SONAME: that beats DT_RPATH (PyTorch's wheels), which
 * LD_LIBRARY_PATH does not. LD_LIBRARY_PATH is set as well, for what lies in the simulator's folder
 * and is not preloaded. */
static void export_libraries(const run_request *request, const run_files *found)
{
    static char sim[SIMS * SC_PATH_BYTES];
    const char *ours[PRELOADS] = {found->library};
    sc_text text = sc_text_over(sim, sizeof sim);
    char *preloads, *folders;

    for (int i = 0; i < SIMS; i++) {
        ours[1 + i] = found->sims[i];
        if (!*found->sims[i])
            continue;
        if (i > 0)
            sc_text_char(&text, ':');
        sc_text_string(&text, found->sims[i]);
    }
    sc_text_terminate(&text);
    preloads = chain(found->library, value_of("LD_PRELOAD"), sim, ours);
    export(request, "LD_PRELOAD", preloads);
    free(preloads);
    if (!request->is_simulated)
        return;
    folders = sc_need(strlen(found->sim_folder) + strlen(value_of("LD_LIBRARY_PATH")) + 2);
    /* no colon at the end: an empty entry would be the working directory */
    sprintf(folders, "%s%s%s", found->sim_folder, *value_of("LD_LIBRARY_PATH") ? ":" : "",
            value_of("LD_LIBRARY_PATH"));
    export(request, "LD_LIBRARY_PATH", folders);
    free(folders);
}

/* One name for all processes of this run: ranks that the program starts inherit it. Ranks that each
 * come through here agree by their launcher's names, or by their parent. */
static void export_run_id(const run_request *request)
{
    sc_identity identity;

    if (*value_of("SHAPECACHE_RUN_ID"))
        return;
    sc_identity_read(&identity, "", environ);
    if (!identity.is_run_given && identity.world == 1)
        sc_path_name_run(identity.run, sizeof identity.run, identity.pid);
    export(request, "SHAPECACHE_RUN_ID", identity.run);
}

static void export_one(void *request, const char *name, const char *value)
{
    export(request, name, value);
}

/* Of several ranks, the first speaks. */
static void export_torch(run_request *request)
{
    sc_identity identity;

    if (request->torch.view == SC_TORCH_NONE)
        return;
    sc_torch_variables(&request->torch, export_one, request);
    sc_identity_read(&identity, "", environ);
    if (identity.rank == 0)
        sc_torch_say(&request->torch);
}

static void print_command(char **command)
{
    for (; *command; command++) {
        size_t room = 4 * strlen(*command) + 4;
        char *quoted = sc_need(room);

        sc_emit_quoted(quoted, room, *command);
        printf("%s%s", quoted, command[1] ? " " : "\n");
        free(quoted);
    }
}

static int run(int count, char **arguments)
{
    run_request request = {.command = arguments};
    static run_files found;
    int status = parse(&request, count, arguments);

    if (status)
        return status;
    if (sc_torch_is_bypassed(&request.torch) ||
        sc_torch_is_capturing(&request.torch, request.command) || !find_all(&request, &found))
        return SC_EXIT_FAILED;
    if (!request.is_simulated && !sc_driver_is_there())
        sc_say("no " DRIVER " found on this machine: --sim runs on the simulated GPU");
    export_libraries(&request, &found);
    export_run_id(&request);
    export_torch(&request);
    if (request.is_dry) {
        print_command(request.command);
        return SC_EXIT_DONE;
    }
    execvp(request.command[0], request.command);
    status = errno == ENOENT ? SC_EXIT_NOT_FOUND : SC_EXIT_NOT_EXECUTABLE;
    sc_say("run: cannot start %s: %s", request.command[0], strerror(errno));
    return status;
}

const sc_command sc_command_run = {
    .name = "run",
    .run = run,
    .summary = "run a program with the cache",
    .help = "usage: shapecache run [--sim] [--torch[=VIEW]] [--offload[=SIZE]] [-n]\n"
            "                      [--] PROGRAM [ARGUMENT...]\n"
            "\n"
            "Run PROGRAM with libshapecache.so preloaded. It replaces this process: pid,\n"
            "signals and exit status are the program's own. What LD_PRELOAD held before\n"
            "stays in it, after ours. Ranks started by PROGRAM inherit all of it:\n"
            "\n"
            "  shapecache run -- python train.py\n"
            "  shapecache run -- torchrun --nproc-per-node 8 train.py\n"
            "  torchrun --nproc-per-node 8 --no-python shapecache run -- python train.py\n"
            "\n"
            "  --sim          on the simulated GPU that comes with shapecache: no GPU and no\n"
            "                 driver needed; settings are SIMCUDA_* variables\n"
            "  --torch        PROGRAM uses PyTorch: cache its tensors one by one (VIEW tensors),\n"
            "                 with PyTorch's own cache off, and end a step with each optimizer\n"
            "                 step; pluggable: as PyTorch's allocator instead; segments: leave\n"
            "                 PyTorch its cache, for the sake of other code in PROGRAM. Without\n"
            "                 VIEW, a script that captures CUDA graphs is refused\n"
            "  --offload      with --torch: activations wait for their backward pass in SIZE of\n"
            "                 page-locked host memory (docs/arena.md); without SIZE, a quarter of\n"
            "                 the memory there is, shared by the ranks of this host\n"
            "  -n, --dry-run  print the variables and the command instead, for a shell\n"
            "\n"
            "Sets LD_PRELOAD, SHAPECACHE_RUN_ID (unless it is set), with --sim\n"
            "LD_LIBRARY_PATH, and with --torch PYTHONPATH, SHAPECACHE_TORCH,\n"
            "SHAPECACHE_OFFLOAD and PYTORCH_NO_CUDA_MEMORY_CACHING. Settings of the cache are\n"
            "variables: see shapecache env. The program writes a log, by default\n"
            "shapecache-run.RUN/rRANK.jsonl; shapecache report reads it.\n"
            "\n"
            "exit status: the program's own, or 125 (shapecache could not start it), 126 (not\n"
            "executable), 127 (not found)\n",
};
