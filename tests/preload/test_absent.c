/* SPDX-License-Identifier: MIT
 * A process without a driver. Runs under libshapecache.so with no libcuda to be found. */
#include "check.h"
#include "driver_types.h"
#include "shapecache/shapecache.h"

typedef shapecache_status step_type(int device);

int main(void)
{
    step_type *step = FIND(step_type, RTLD_DEFAULT, "shapecache_step");
    void *address = &address;

#define HOOK(name, base, version, stream)                                                          \
    CHECK(FIND(nothing_type, RTLD_DEFAULT, #name)() == NOT_INITIALIZED, #name " answers 3");
#include "hooks.def"
    CHECK(FIND(runtime_malloc_type, RTLD_DEFAULT, "cudaMalloc")(&address, 64) == 35 &&
              address == &address,
          "cudaMalloc answers 35");
    CHECK(FIND(runtime_free_type, RTLD_DEFAULT, "cudaFree")(NULL) == 35, "cudaFree answers 35");
    CHECK(step(-1) != SHAPECACHE_OK, "there is no step to end");
    (void)dlerror();
    CHECK(dlsym(RTLD_DEFAULT, "cuNoSuchFunction") == NULL && dlerror() != NULL,
          "a name that is nobody's is refused as ever");
    return check_failures != 0;
}
