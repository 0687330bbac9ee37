/* SPDX-License-Identifier: MIT
 * What a program is given at each door. Runs under libprobe.so; the fake libcuda is found by
 * LD_LIBRARY_PATH. */
#include "check.h"
#include "driver_types.h"
#include "engine/engine.h"
#include "fake.h"
#include "probe.h"
#include <string.h>

static void *libcuda;
static probe *seen;
static fake_calls_type *calls;
static fake_address_type *real;
static fake_answer_type *answer;

static void *resolve(const char *symbol, int version, uint64_t flags)
{
    resolve5_type *resolver = FIND(resolve5_type, libcuda, "cuGetProcAddress_v2");
    void *found = NULL;
    int status = 7;

    (void)resolver(symbol, &found, version, flags, &status);
    return found;
}

static void dlsym_exchanges_what_is_hooked(void)
{
    alloc_type *alloc = FIND(alloc_type, libcuda, "cuMemAlloc_v2");
    free_type *release = FIND(free_type, libcuda, "cuMemFree_v2");
    const unsigned before = calls("cuMemAlloc_v2");
    uint64_t address = 0;

    CHECK((void *)(uintptr_t)alloc != real("cuMemAlloc_v2"), "cuMemAlloc_v2 is exchanged");
    CHECK(seen->doors[SC_DOOR_DLSYM] >= 2, "the dlsym door is counted");
    CHECK(alloc(&address, 4096) == SUCCESS && address != 0, "an allocation succeeds");
    CHECK(seen->allocs == 1 && calls("cuMemAlloc_v2") == before + 1,
          "one request is one to the engine and one to the driver");
    CHECK(release(address) == SUCCESS && seen->frees == 1, "a free goes through the engine");
    CHECK(seen->doors[SC_DOOR_ELF] == 0, "what dlsym gave does not count as the ELF door");
    CHECK(seen->attached == 1, "the engine is attached once");
}

static void the_caller_is_the_programs_code(void)
{
    alloc_type *alloc = FIND(alloc_type, libcuda, "cuMemAlloc_v2");
    probe_site_type *site = FIND(probe_site_type, RTLD_DEFAULT, "probe_site");
    uint64_t address = 0;
    char text[256] = "";
    char small[4];

    (void)alloc(&address, 512);
    CHECK(site(seen->caller, text, sizeof(text)) && strncmp(text, "test_doors+0x", 13) == 0,
          "a call site reads program+0xoffset");
    CHECK(site((void *)(uintptr_t)alloc, text, sizeof(text)) &&
              strncmp(text, "libprobe.so+0x", 14) == 0,
          "an address in a library reads library+0xoffset");
    CHECK(!site(&address, text, sizeof(text)), "the stack is nobody's code");
    CHECK(!site(seen->caller, small, sizeof(small)), "a text that does not fit is refused");
}

static void other_abis_and_names_are_left_alone(void)
{
    CHECK(dlsym(libcuda, "cuMemAlloc") == real("cuMemAlloc"), "the 32-bit cuMemAlloc is not ours");
    CHECK(dlsym(libcuda, "cuMemFree") == real("cuMemFree"), "the 32-bit cuMemFree is not ours");
    CHECK(resolve("cuMemAlloc", 2000, 0) == real("cuMemAlloc"),
          "the resolver's 32-bit cuMemAlloc is not ours");
    CHECK(dlsym(libcuda, "cuMemGetInfo_v2") == real("cuMemGetInfo_v2"),
          "a function we only call is handed out as it is");
    CHECK(dlsym(libcuda, "fake_calls") == (void *)(uintptr_t)calls, "other names go through");
}

static void a_refused_name_leaves_the_drivers_own_message(void)
{
    const char *message;

    (void)dlerror();
    CHECK(dlsym(libcuda, "cuNoSuchFunction") == NULL, "what the driver lacks stays absent");
    message = dlerror();
    CHECK(message != NULL && strstr(message, "cuNoSuchFunction") != NULL,
          "dlerror names what the program asked for");
    (void)dlsym(libcuda, "cuMemFree_v2");
    CHECK(dlerror() == NULL, "a success leaves no error");
}

static void the_resolver_exchanges_by_pointer(void)
{
    fake_twins_type *twins = FIND(fake_twins_type, libcuda, "fake_twins");
    void *hook = dlsym(libcuda, "cuMemAlloc_v2");

    CHECK(resolve("cuMemAlloc", 3020, 0) == hook, "version 3020 is the hooked function");
    CHECK(resolve("cuMemAlloc", 13000, 0) == hook, "so is any later version");
    CHECK(resolve("cuMemFreeAsync", 11020, 0) == dlsym(libcuda, "cuMemFreeAsync"),
          "no flags mean the legacy flavour");
    CHECK(resolve("cuMemFreeAsync", 11020, 2) == dlsym(libcuda, "cuMemFreeAsync_ptsz"),
          "flag 2 means the per-thread flavour");
    CHECK(resolve("cuStreamBeginCapture", 10000, 0) == dlsym(libcuda, "cuStreamBeginCapture") &&
              resolve("cuStreamBeginCapture", 10010, 0) ==
                  dlsym(libcuda, "cuStreamBeginCapture_v2"),
          "each version of a function keeps its own hook");
    twins(true);
    CHECK(resolve("cuMemAlloc", 3020, 0) == hook,
          "a resolver with pointers of its own is seen through");
    twins(false);
    CHECK(seen->doors[SC_DOOR_RESOLVER] > 0, "the resolver's door is counted");
}

static void both_resolvers_lead_to_each_other(void)
{
    resolve4_type *four = (resolve4_type *)(uintptr_t)resolve("cuGetProcAddress", 11030, 0);
    void *five = resolve("cuGetProcAddress", 12000, 0);
    void *found = NULL;

    CHECK((void *)(uintptr_t)four != real("cuGetProcAddress"), "the 4-argument one is ours");
    CHECK(five == dlsym(libcuda, "cuGetProcAddress_v2"), "the 5-argument one is ours");
    CHECK(four("cuMemAlloc", &found, 3020, 0) == SUCCESS &&
              found == dlsym(libcuda, "cuMemAlloc_v2"),
          "the 4-argument one gives hooks, too");
}

static void the_resolvers_answers_are_its_own(void)
{
    resolve5_type *resolver = FIND(resolve5_type, libcuda, "cuGetProcAddress_v2");
    void *found = &found;
    int status = 7;

    CHECK(resolver("", &found, 0, 0, &status) == SUCCESS && found == real("cuMemAlloc_v2"),
          "the empty name passes untouched");
    CHECK(resolver("cuNoSuch", &found, 13000, 0, &status) == SUCCESS && found == NULL &&
              status == 1,
          "an unknown name answers NULL and the driver's status");
    CHECK(resolver("cuMemAlloc", &found, 3020, 0, NULL) == SUCCESS, "status may be NULL");
    answer("cuGetProcAddress_v2", INVALID_VALUE);
    found = real("cuMemAlloc_v2");
    status = 7;
    CHECK(resolver("cuMemAlloc", &found, 99999, 0, &status) == INVALID_VALUE &&
              found == real("cuMemAlloc_v2") && status == 7,
          "after a failure no output is touched");
    answer("cuGetProcAddress_v2", SUCCESS);
}

static void an_old_driver_has_one_resolver(void)
{
    fake_twins_type *twins = FIND(fake_twins_type, libcuda, "fake_twins");
    resolve4_type *four = FIND(resolve4_type, libcuda, "cuGetProcAddress");
    void *found = NULL;

    answer("cuGetProcAddress_v2", NOT_INITIALIZED);
    twins(true);
    CHECK(four("cuMemAlloc", &found, 3020, 0) == SUCCESS &&
              found == dlsym(libcuda, "cuMemAlloc_v2"),
          "with the 4-argument resolver alone, pointers are still seen through");
    twins(false);
    answer("cuGetProcAddress_v2", SUCCESS);
}

static void odd_arguments_get_the_drivers_answer(void)
{
    alloc_type *alloc = FIND(alloc_type, libcuda, "cuMemAlloc_v2");
    free_type *release = FIND(free_type, libcuda, "cuMemFree_v2");
    const unsigned allocs = seen->allocs;
    uint64_t address = 5;

    CHECK(alloc(NULL, 64) == INVALID_VALUE, "no place for the address is the driver's to refuse");
    CHECK(alloc(&address, 0) == INVALID_VALUE && address == 5, "so are zero bytes");
    CHECK(seen->allocs == allocs, "neither is a request");
    CHECK(release(0) == SUCCESS, "freeing nothing is the driver's success");
    CHECK(release(12345) == INVALID_VALUE, "an unknown address is the driver's error");
    answer("cuMemAlloc_v2", OUT_OF_MEMORY);
    CHECK(alloc(&address, 64) == OUT_OF_MEMORY && address == 5,
          "a failure leaves the output alone");
    answer("cuMemAlloc_v2", SUCCESS);
}

static void a_hook_entered_from_inside_is_the_real_call(void)
{
    fake_reenter_type *reenter = FIND(fake_reenter_type, libcuda, "fake_reenter");
    alloc_type *alloc = FIND(alloc_type, libcuda, "cuMemAlloc_v2");
    const unsigned frees = seen->frees;
    const unsigned real_frees = calls("cuMemFree_v2");
    uint64_t address = 0;

    reenter(true);
    CHECK(alloc(&address, 64) == SUCCESS, "a driver that calls itself by name still works");
    reenter(false);
    CHECK(seen->frees == frees && calls("cuMemFree_v2") == real_frees + 1,
          "the inner call is the driver's own");
}

int main(void)
{
    context_type *set_current;

    libcuda = must(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1");
    calls = FIND(fake_calls_type, libcuda, "fake_calls");
    real = FIND(fake_address_type, libcuda, "fake_address");
    answer = FIND(fake_answer_type, libcuda, "fake_answer");
    seen = FIND(probe_state_type, RTLD_DEFAULT, "probe_state")();
    set_current = FIND(context_type, libcuda, "cuCtxSetCurrent");
    (void)set_current(FAKE_CONTEXT);
    dlsym_exchanges_what_is_hooked();
    the_caller_is_the_programs_code();
    other_abis_and_names_are_left_alone();
    a_refused_name_leaves_the_drivers_own_message();
    the_resolver_exchanges_by_pointer();
    both_resolvers_lead_to_each_other();
    the_resolvers_answers_are_its_own();
    an_old_driver_has_one_resolver();
    odd_arguments_get_the_drivers_answer();
    a_hook_entered_from_inside_is_the_real_call();
    return check_failures != 0;
}
