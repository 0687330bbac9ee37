/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "die.h"

static const char usage[] =
    "usage: replay [OPTIONS] FILE\n"
    "\n"
    "Allocates and frees device memory as the recorded program did, with cudaMalloc and cudaFree,\n"
    "and does nothing else. FILE is a CSV of lifetimes (id,lower,upper,size), a recording of\n"
    "\"a ID BYTES\" and \"f ID\" with \"# step N\" where a step began, or a log of RMM; it may be\n"
    "packed by xz or gzip. What is still live at the end of a pass is then freed.\n"
    "\n"
    "  --passes N        play it N times (1); a pass over lifetimes is one step\n"
    "  --loop-to STEPS   play it once, repeating its last steps until STEPS were made\n"
    "  --steps-to FILE   write a line at the end of each true step: its number, from 0, the "
    "requests\n"
    "                    (calls of cudaMalloc) so far, those that an earlier pass or turn of the "
    "loop\n"
    "                    has made too, and those of them that got the same address again\n"
    "  --scale N         multiply sizes by N; 1/N divides them, rounded up\n"
    "  --verify          write a token into each block and check it before the free\n"
    "  --times           time each call\n"
    "  --progress N      tell how far it is every N seconds (10); a terminal is told five times a\n"
    "                    second, or with 0 as often as can be\n"
    "\n"
    "exit status: 0 done, 1 a CUDA call failed or a token had changed, 2 bad usage or input\n";

static uint64_t number_of(const char *option, const char *text, uint64_t least)
{
    uint64_t number;

    if (text == NULL || !sc_parse_u64(text, &number) || number < least || number > INT32_MAX)
        die(EXIT_INPUT, "%s: expected a number from %llu to 2147483647, found \"%s\"", option,
            (unsigned long long)least, text != NULL ? text : "");
    return number;
}

static void take_scale(struct options *options, const char *text)
{
    bool is_divisor = text != NULL && strncmp(text, "1/", 2) == 0;
    uint64_t number = number_of("--scale", is_divisor ? text + 2 : text, 1);

    if (is_divisor)
        options->divide = number;
    else
        options->multiply = number;
}

/* Takes the option at argv[0] and returns how many arguments it has used. */
static int take(struct options *options, char **argv)
{
    const char *name = argv[0], *value = argv[1];

    if (strcmp(name, "--verify") == 0) {
        options->verifies = true;
        return 1;
    }
    if (strcmp(name, "--times") == 0) {
        options->times = true;
        return 1;
    }
    if (strcmp(name, "--passes") == 0)
        options->passes = number_of(name, value, 1);
    else if (strcmp(name, "--loop-to") == 0)
        options->loop_to = number_of(name, value, 1);
    else if (strcmp(name, "--progress") == 0)
        options->progress = number_of(name, value, 0);
    else if (strcmp(name, "--scale") == 0)
        take_scale(options, value);
    else if (strcmp(name, "--steps-to") == 0 && value != NULL)
        options->steps_to = value;
    else
        die(EXIT_INPUT, "%s: expected an option and its value; replay --help lists them", name);
    return 2;
}

int options_parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){.multiply = 1, .divide = 1, .progress = 10};
    for (int i = 1; i < argc;) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strncmp(argv[i], "--", 2) == 0)
            i += take(options, argv + i);
        else if (options->file == NULL)
            options->file = argv[i++];
        else
            die(EXIT_INPUT, "expected one file, found %s and %s", options->file, argv[i]);
    }
    if (options->file == NULL)
        die(EXIT_INPUT, "expected a file; replay --help tells more");
    if (options->passes > 0 && options->loop_to > 0)
        die(EXIT_INPUT, "expected --passes or --loop-to, found both");
    options->passes += options->passes == 0;
    return -1;
}
