/* SPDX-License-Identifier: MIT
 * steps - plays recordings to the cache itself, without a GPU, a simulator or a preload, and says
 * which steps it saw and what its gate made of them; and what it makes of the same run when it is
 * told the true steps, for nobody can do better. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/die.h"
#include "replay/formats.h"
#include "replay/input.h"
#include "replay/loop.h"
#include "replay/play.h"
#include "steps/runtime.h"

static const char usage[] =
    "usage: steps [--steps N] FILE...\n"
    "Plays each recording to the cache, once as it is and once with its true steps told.\n"
    "\n"
    "  --steps N  true steps to play, if the recording can be repeated (60)\n"
    "\n"
    "true: steps of the program itself, 0 where they are not marked. seen: steps the cache found;\n"
    "cover: of them, by cover; exact: of them, just where a true one begins. first: the first "
    "true\n"
    "step that was in phase fixed from its first request to its last; fixed %: of true steps,\n"
    "those. falls: fallbacks; spur.: of them, for a new shape of the first true step.\n";

static struct verdict play_once(const struct trace *trace, struct play_rules rules, bool is_told)
{
    rules.at_step = runtime_step;
    rules.progress = 1e9;
    runtime_begin(is_told);
    (void)play(trace, &rules);
    return runtime_end();
}

static void print_gate(const struct verdict *verdict, bool is_marked)
{
    if (!is_marked)
        printf(" %6s %5" PRIu64 " %5s %6s", "-", verdict->fallbacks, "-", "-");
    else if (verdict->first_fixed == UINT64_MAX)
        printf(" %6s %5" PRIu64 " %5" PRIu64 " %6.1f", "never", verdict->fallbacks,
               verdict->spurious, 0.0);
    else
        printf(" %6" PRIu64 " %5" PRIu64 " %5" PRIu64 " %6.1f", verdict->first_fixed,
               verdict->fallbacks, verdict->spurious,
               100.0 * (double)verdict->fixed / (double)verdict->steps);
}

static void score(const char *path, uint64_t steps)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    struct input input = input_open(path);
    struct trace trace = formats_read(&input);
    struct play_rules rules = {.passes = trace.mark_count == 1 ? steps : 1};
    struct verdict found, told;
    struct loop loop;

    if (trace.mark_count > 1 && trace.mark_count < steps && loop_find(&trace, &loop)) {
        rules.loop = &loop;
        rules.loop_to = steps;
    }
    found = play_once(&trace, rules, false);
    printf("%-*s %7" PRIu64 " %5" PRIu64 " %5" PRIu64 " %5" PRIu64 " %5" PRIu64 " %6.1f |", 42,
           name, found.requests, found.steps, found.ends, found.covers, found.exact,
           100.0 * (double)found.hits / (double)found.requests);
    print_gate(&found, trace.mark_count > 0);
    if (trace.mark_count > 0) {
        told = play_once(&trace, rules, true);
        printf(" |");
        print_gate(&told, true);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"steps", required_argument, NULL, 's'}, {"help", no_argument, NULL, 'h'}, {0}};
    uint64_t steps = 60;
    char *end;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        steps = option == 's' ? strtoull(optarg, &end, 10) : 0;
        if (steps == 0 || *end != '\0')
            die(EXIT_INPUT, "%s", usage);
    }
    if (optind == argc)
        die(EXIT_INPUT, "%s", usage);
    printf("%-42s %7s %5s %5s %5s %5s %6s | %6s %5s %5s %6s | %6s %5s %5s %6s\n", "", "requests",
           "true", "seen", "cover", "exact", "hits %", "first", "falls", "spur.", "fixed%", "first",
           "falls", "spur.", "fixed%");
    for (int i = optind; i < argc; i++)
        score(argv[i], steps);
    return 0;
}
