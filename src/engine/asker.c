/* SPDX-License-Identifier: MIT */
#include "engine/asker.h"
#include "base/text.h"
#include "engine/logbook.h"
#include "engine/process.h"
#include "engine/site.h"
#include "log/record.h"

static unsigned depth(void)
{
    return (unsigned)sc_process_self.options.stacks.number;
}

uint32_t sc_asker_site(const void *caller, uint32_t place)
{
    const sc_options *options = &sc_process_self.options;

    if (options->key == SC_KEY_SITE && depth() > 1)
        return sc_site_of_stack(caller, depth());
    if (options->key != SC_KEY_SITE && options->stacks.choice == SC_STACKS_OFF)
        return 0;
    return place;
}

bool sc_asker_is_named_late(void)
{
    const sc_options *options = &sc_process_self.options;

    return options->key != SC_KEY_SITE && options->stacks.choice != SC_STACKS_OFF &&
           (depth() > 1 || sc_process_self.is_scripted);
}

uint32_t sc_asker_late_name(const void *caller)
{
    char text[SC_SITE_TEXT_BYTES];

    if (sc_process_self.is_scripted &&
        atomic_load(&sc_process_self.host)->script(text, sizeof text, depth() > 1 ? depth() : 1))
        return sc_site_named(text);
    return depth() > 1 ? sc_site_of_stack(caller, depth()) : sc_site_number(caller);
}

bool sc_asker_passes(uint32_t place)
{
    return sc_process_self.passes_hoarders && sc_site_is_hoarder(place);
}

void sc_asker_say_passing(uint32_t place)
{
    static atomic_bool is_said;
    char bytes[SC_SITE_TEXT_BYTES + 256];
    sc_text text = sc_text_over(bytes, sizeof bytes);

    if (atomic_exchange(&is_said, true))
        return;
    sc_text_string(&text, SC_WARN_HOARDER ": what it asks for (");
    sc_text_string(&text, sc_site_text(place));
    sc_text_string(&text, ") passes through. shapecache run --torch caches its tensors instead, "
                          "SHAPECACHE=all its segments");
    sc_logbook_warn(sc_text_terminate(&text));
}
