/* SPDX-License-Identifier: MIT */
#include "engine/postmortem.h"
#include "cache/mapped.h"
#include "engine/logbook.h"
#include "engine/oom.h"
#include "engine/site.h"

enum { LINE_BYTES = 1024 };
static const uint64_t MIB = 1 << 20;

static void mib(sc_text *text, uint64_t bytes)
{
    sc_text_u64(text, bytes / MIB);
    sc_text_string(text, " MiB");
}

/* A line is said as soon as it is whole, for then one small buffer does for all. */
static void say(sc_text *text)
{
    sc_logbook_say(sc_text_terminate(text));
    sc_text_clear(text);
}

static void begin(sc_text *text, const char *name)
{
    sc_text_string(text, "  ");
    sc_text_string(text, name);
    while (text->used < sizeof "  changed ")
        sc_text_char(text, ' ');
}

static void append_site(sc_text *text, uint32_t site, const char *before)
{
    if (!sc_site_text(site))
        return;
    sc_text_string(text, before);
    sc_text_string(text, sc_site_text(site));
}

static void say_head(sc_text *text, const sc_oom *oom, int device, bool again)
{
    sc_text_string(text, again ? "OUT OF MEMORY, twice in a row: " : "OUT OF MEMORY: ");
    if (oom->asked)
        sc_text_size(text, oom->asked);
    else
        sc_text_string(text, "an allocation of another kind was");
    sc_text_string(text, " refused on device ");
    sc_text_u64(text, (uint64_t)device);
    sc_text_string(text, " in step ");
    sc_text_u64(text, oom->step);
    sc_text_string(text, " (phase ");
    sc_text_string(text, sc_phase_word(oom->phase));
    sc_text_char(text, ')');
    append_site(text, oom->site, ", asked for at ");
    say(text);
}

/* Whole MiB, of which `other` is what remains: as they stand there, they add up. */
static void say_device(sc_text *text, const sc_oom *oom)
{
    uint64_t known = oom->live / MIB + oom->idle / MIB + oom->passed / MIB + oom->free / MIB;

    begin(text, "device");
    if (!oom->is_measured) {
        sc_text_string(text, "could not be asked; live ");
        mib(text, oom->live);
        sc_text_string(text, ", idle ");
        mib(text, oom->idle);
        say(text);
        return;
    }
    mib(text, oom->total);
    sc_text_string(text, " = ");
    sc_text_u64(text, oom->live / MIB);
    sc_text_string(text, " live + ");
    sc_text_u64(text, oom->idle / MIB);
    sc_text_string(text, " idle + ");
    if (oom->passed_blocks) {
        sc_text_u64(text, oom->passed / MIB);
        sc_text_string(text, " PyTorch's own + ");
    }
    sc_text_u64(text, oom->total / MIB - known);
    sc_text_string(text, " other + ");
    sc_text_u64(text, oom->free / MIB);
    sc_text_string(text, " free");
    if (oom->asked && sc_mapped_size(oom->asked) > oom->free) {
        sc_text_string(text, "; ");
        mib(text, (sc_mapped_size(oom->asked) - oom->free + MIB - 1) / MIB * MIB);
        sc_text_string(text, " short");
    }
    if (oom->released) {
        sc_text_string(text, "; ");
        mib(text, oom->released);
        sc_text_string(text, " of idle memory had gone back first");
    }
    say(text);
}

static void say_why(sc_text *text, const sc_oom *oom)
{
    begin(text, "why");
    sc_text_string(text, sc_verdict_word(oom->verdict));
    sc_text_string(text, ": ");
    sc_verdict_explain(text, oom);
    say(text);
}

/* 42 x 512 MiB train.py:30 (attention) */
static void append_shape(sc_text *text, const sc_holding *one)
{
    sc_text_size(text, one->bytes);
    append_site(text, one->site, " ");
    if (!one->label[0])
        return;
    sc_text_string(text, " (");
    sc_text_string(text, one->label);
    sc_text_char(text, ')');
}

static void append_rest(sc_text *text, uint64_t shapes, uint64_t bytes, const char *sign)
{
    sc_text_string(text, "; ");
    sc_text_string(text, sign);
    mib(text, bytes);
    sc_text_string(text, " in ");
    sc_text_u64(text, shapes);
    sc_text_string(text, shapes == 1 ? " other shape" : " other shapes");
}

static void say_holders(sc_text *text, const sc_oom *oom)
{
    uint64_t listed = oom->holding < SC_OOM_SHAPES ? oom->holding : SC_OOM_SHAPES;

    if (!oom->holding)
        return;
    begin(text, "live");
    for (uint64_t i = 0; i < listed; i++) {
        const sc_holding *one = &oom->holders[i];

        sc_text_string(text, i ? "; " : "");
        mib(text, one->mapped);
        sc_text_string(text, " in ");
        sc_text_u64(text, one->count);
        sc_text_string(text, " x ");
        append_shape(text, one);
    }
    if (oom->holding > listed && oom->live > oom->held_listed)
        append_rest(text, oom->holding - listed, oom->live - oom->held_listed, "");
    say(text);
}

static void say_changed(sc_text *text, const sc_oom *oom)
{
    uint64_t listed = oom->growing < SC_OOM_SHAPES ? oom->growing : SC_OOM_SHAPES;

    if (!oom->growing)
        return;
    begin(text, "changed");
    sc_text_string(text, "since step ");
    sc_text_u64(text, oom->step - 1);
    sc_text_string(text, ": ");
    for (uint64_t i = 0; i < listed; i++) {
        const sc_holding *one = &oom->changed[i];

        sc_text_string(text, i ? "; +" : "+");
        mib(text, one->mapped);
        sc_text_string(text, ", ");
        sc_text_u64(text, one->before);
        sc_text_string(text, " -> ");
        sc_text_u64(text, one->count);
        sc_text_string(text, " x ");
        append_shape(text, one);
    }
    if (oom->growing > listed && oom->growth - oom->growth_listed >= MIB)
        append_rest(text, oom->growing - listed, oom->growth - oom->growth_listed, "+");
    say(text);
}

static void say_advice(sc_text *text, const sc_oom *oom)
{
    const sc_in_force force = sc_oom_in_force();
    size_t start;

    begin(text, "try");
    start = text->used;
    sc_verdict_advise(text, oom, &force);
    if (text->used > start)
        say(text);
    sc_text_clear(text);
}

void sc_postmortem_say(const sc_oom *oom, int device, bool again)
{
    char bytes[LINE_BYTES];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    say_head(&text, oom, device, again);
    say_device(&text, oom);
    say_why(&text, oom);
    say_holders(&text, oom);
    say_changed(&text, oom);
    say_advice(&text, oom);
    if (!sc_logbook_path())
        return;
    begin(&text, "all");
    sc_text_string(&text, "shapecache oom ");
    sc_text_string(&text, sc_logbook_path());
    say(&text);
}
