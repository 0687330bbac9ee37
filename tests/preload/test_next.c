/* SPDX-License-Identifier: MIT
 * Look-ups that are not ours keep their meaning. argv: what ladder() must answer, and whether a
 * meddler must have seen look-ups. */
#include "check.h"
#include "driver_types.h"
#include <string.h>

int main(int argc, char **argv)
{
    const int expected = argc > 1 ? atoi(argv[1]) : 0;

    CHECK(FIND(nothing_type, RTLD_DEFAULT, "ladder")() == expected,
          "RTLD_NEXT means the object after the one that asks");
    if (argc > 2 && strcmp(argv[2], "meddled") == 0) {
        CHECK(FIND(nothing_type, RTLD_DEFAULT, "meddler_calls")() > 0,
              "a tool behind us that has a dlsym of its own still sees look-ups");
    }
    CHECK(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != NULL, "names of ours are found");
    (void)dlerror();
    CHECK(dlsym(RTLD_NEXT, "no_such_name") == NULL && strstr(dlerror(), "no_such_name") != NULL,
          "dlerror names what was not found");
    return check_failures != 0;
}
