/* SPDX-License-Identifier: MIT */
#include "engine/verdict.h"
#include "base/driver.h"
#include "cache/mapped.h"
#include <string.h>

static const uint64_t MIB = 1 << 20;

/* PyTorch's own rules: items separated by commas, a name and a value by a colon, no spaces. */
static bool says_expandable(const char *settings)
{
    static const char item[] = "expandable_segments:True";
    const size_t length = sizeof item - 1;
    bool is_on = false;

    while (*settings) {
        size_t item_length = strcspn(settings, ",");

        if (item_length == length && strncmp(settings, item, length) == 0)
            is_on = true;
        else if (strncmp(settings, item, length - strlen("True")) == 0)
            is_on = false; /* the last one counts */
        settings += item_length + (settings[item_length] == ',');
    }
    return is_on;
}

void sc_in_force_read(sc_in_force *force, char *const *environment)
{
    static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};

    force->conf = names[0];
    force->is_expandable = false;
    for (; *environment; environment++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            size_t length = strlen(names[i]);

            if (strncmp(*environment, names[i], length) != 0 || (*environment)[length] != '=')
                continue;
            force->is_expandable |= says_expandable(*environment + length + 1);
            if (i == 1)
                force->conf = names[1];
        }
    }
}

static uint64_t cut(uint64_t *figure, uint64_t most)
{
    if (*figure > most)
        *figure = most;
    return *figure;
}

void sc_oom_balance(sc_oom *oom)
{
    uint64_t used = oom->total - cut(&oom->free, oom->total);

    used -= cut(&oom->live, used);
    used -= cut(&oom->idle, used);
    used -= cut(&oom->passed, used);
    oom->other = used;
}

/* Who has the most of what is not free. */
static sc_verdict of_the_largest(const sc_oom *oom)
{
    if (oom->live >= oom->passed && oom->live >= oom->other)
        return SC_VERDICT_TOO_BIG;
    if (oom->passed >= oom->other)
        return SC_VERDICT_ELSEWHERE;
    return oom->at_start >= oom->other / 2 ? SC_VERDICT_OTHER_PROCESS : SC_VERDICT_ELSEWHERE;
}

sc_verdict sc_verdict_of(const sc_oom *oom, const sc_in_force *force)
{
    uint64_t asked = oom->asked ? sc_mapped_size(oom->asked) : 0;

    if (oom->result == SC_CUDA_SUCCESS)
        return SC_VERDICT_TRIMMED;
    if (oom->idle && oom->is_capturing)
        return SC_VERDICT_CAPTURE;
    if (oom->idle && !force->is_gated)
        return SC_VERDICT_GATE_OFF;
    if (!oom->is_measured || (!asked && oom->free >= oom->total / 4))
        return SC_VERDICT_UNKNOWN;
    if (asked > oom->total)
        return SC_VERDICT_TOO_BIG;
    if (asked && asked <= oom->free)
        return SC_VERDICT_FRAGMENTED;
    return of_the_largest(oom);
}

const char *sc_verdict_word(sc_verdict verdict)
{
    static const char *const words[SC_VERDICT_COUNT] = {
        [SC_VERDICT_UNKNOWN] = "unknown",
        [SC_VERDICT_TRIMMED] = "trimmed",
        [SC_VERDICT_GATE_OFF] = "gate-off",
        [SC_VERDICT_CAPTURE] = "capture",
        [SC_VERDICT_TOO_BIG] = "too-big",
        [SC_VERDICT_ELSEWHERE] = "elsewhere",
        [SC_VERDICT_OTHER_PROCESS] = "other-process",
        [SC_VERDICT_FRAGMENTED] = "fragmented",
    };

    return words[verdict];
}

static void mib(sc_text *text, uint64_t bytes)
{
    sc_text_u64(text, bytes / MIB);
    sc_text_string(text, " MiB");
}

static void explain_elsewhere(sc_text *text, const sc_oom *oom)
{
    if (oom->passed < oom->other) {
        sc_text_string(text, "most of the device went to allocations that do not come to the cache "
                             "(async pools, expandable segments, managed memory, libraries), or to "
                             "other processes since this one began");
        return;
    }
    sc_text_string(text, "PyTorch's own allocator has most of the device, in ");
    sc_text_u64(text, oom->passed_blocks);
    sc_text_string(text, oom->passed_blocks == 1 ? " segment" : " segments");
    if (!oom->allocator.is_known)
        return;
    sc_text_string(text, ": it holds ");
    sc_text_size(text, oom->allocator.reserved);
    sc_text_string(text, ", of which tensors use ");
    sc_text_size(text, oom->allocator.allocated);
}

void sc_verdict_explain(sc_text *text, const sc_oom *oom)
{
    switch (oom->verdict) {
    case SC_VERDICT_TRIMMED:
        sc_text_string(text, "idle memory was in the way; it went back, and that was enough");
        break;
    case SC_VERDICT_GATE_OFF:
        mib(text, oom->idle);
        sc_text_string(text, " lie idle in the cache and stay there, because of SHAPECACHE_GATE=0");
        break;
    case SC_VERDICT_CAPTURE:
        sc_text_string(text, "idle memory could not go back while a CUDA graph is being captured");
        break;
    case SC_VERDICT_TOO_BIG:
        sc_text_string(text, oom->asked > oom->total
                                 ? "the whole device has less than that"
                                 : "what is live leaves no room, and nothing idle is left");
        break;
    case SC_VERDICT_ELSEWHERE:
        explain_elsewhere(text, oom);
        break;
    case SC_VERDICT_OTHER_PROCESS:
        sc_text_string(text, "most of the device was in use before this process asked for any of "
                             "it: other processes, or its own context");
        break;
    case SC_VERDICT_FRAGMENTED:
        sc_text_string(text, "the driver has as much free but refused: not in one piece, or a "
                             "limit of its own");
        break;
    case SC_VERDICT_UNKNOWN:
    case SC_VERDICT_COUNT:
        sc_text_string(text, "the figures do not show it");
        break;
    }
}

/* The allocator holds far more than is in use, or what is not in use would have been enough. */
static bool is_hollow(const sc_oom *oom)
{
    const sc_allocator *one = &oom->allocator;
    uint64_t unused = one->reserved > one->allocated ? one->reserved - one->allocated : 0;

    if (!one->is_known || unused <= one->reserved / 16)
        return false;
    return unused > one->reserved / 4 || (oom->asked && unused + oom->free >= oom->asked);
}

static void advise_allocator(sc_text *text, const sc_oom *oom, const sc_in_force *force)
{
    bool is_expandable = force->is_expandable || oom->allocator.is_expandable;

    if (is_hollow(oom)) {
        if (!is_expandable) {
            sc_text_string(text, force->conf);
            sc_text_string(text, "=expandable_segments:True lets PyTorch use again the ");
            sc_text_size(text, oom->allocator.reserved - oom->allocator.allocated);
            sc_text_string(text, " that it holds and no tensor uses; or ");
        }
        sc_text_string(text, "shapecache run --torch puts the cache in the place of PyTorch's");
    } else if (oom->allocator.is_known) {
        sc_text_string(text,
                       "tensors use nearly all of it: a smaller batch; shapecache run --torch "
                       "shows which, by the lines of the script");
    } else if (!force->is_torch) {
        sc_text_string(text, "shapecache run --torch=segments asks PyTorch how much of its "
                             "segments tensors use; shapecache run --torch shows each tensor");
    }
}

/* The step at hand needs more than any before had. */
static bool is_larger(const sc_oom *oom)
{
    uint64_t need = oom->live + sc_mapped_size(oom->asked);

    return oom->step_peak && need > oom->step_peak + oom->step_peak / 20;
}

/* What has most of the memory is also what grew, and was there before. */
static bool is_piling_up(const sc_oom *oom)
{
    return oom->changed[0].before && oom->changed[0].id == oom->holders[0].id;
}

static void advise_smaller(sc_text *text, const sc_oom *oom, const sc_in_force *force)
{
    size_t start = text->used;

    if (is_piling_up(oom)) {
        sc_text_string(text, "what has most is what grew since the step before: find out what "
                             "keeps it from step to step");
    } else if (is_larger(oom)) {
        sc_text_string(text, "this step needs at least ");
        mib(text, oom->live + sc_mapped_size(oom->asked));
        sc_text_string(text, ", and none before had more than ");
        mib(text, oom->step_peak);
        sc_text_string(text, ": bound the length of a batch, or sort batches into buckets");
    }
    if (!force->is_tensors || force->is_offloading)
        return;
    sc_text_string(text, text->used > start ? "; " : "");
    sc_text_string(text, "shapecache run --torch --offload moves to the host what autograd saves");
}

void sc_verdict_advise(sc_text *text, const sc_oom *oom, const sc_in_force *force)
{
    switch (oom->verdict) {
    case SC_VERDICT_GATE_OFF:
        sc_text_string(text, "run it without SHAPECACHE_GATE=0: then idle memory goes back first");
        break;
    case SC_VERDICT_CAPTURE:
        sc_text_string(text, "run a step before the capture, so that its memory is there");
        break;
    case SC_VERDICT_TOO_BIG:
        if (oom->asked <= oom->total)
            advise_smaller(text, oom, force);
        break;
    case SC_VERDICT_ELSEWHERE:
        if (oom->passed >= oom->other)
            advise_allocator(text, oom, force);
        break;
    case SC_VERDICT_OTHER_PROCESS:
        sc_text_string(text, "nvidia-smi shows whose it is");
        break;
    case SC_VERDICT_UNKNOWN:
    case SC_VERDICT_TRIMMED:
    case SC_VERDICT_FRAGMENTED:
    case SC_VERDICT_COUNT:
        break;
    }
}
