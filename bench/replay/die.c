/* SPDX-License-Identifier: MIT */
#include "die.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void die(int status, const char *format, ...)
{
    va_list arguments;

    fflush(stdout);
    fputs("replay: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(status);
}
