/* SPDX-License-Identifier: MIT
 * html_tables.c - the page's tables of shapes, call sites and records of arenas: column by column,
 * which is a third of the size of an object for each. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/emit.h"
#include "cli/html_lane.h"
#include <stdlib.h>
#include <string.h>

static const char UNKNOWN[] = "unknown";

static void emit_column(const char *name, const sc_device *device, unsigned count, size_t offset)
{
    uint64_t *values = sc_need(count * sizeof *values);

    for (unsigned i = 0; i < count; i++)
        memcpy(&values[i], (const char *)device->shapes[i] + offset, sizeof *values);
    sc_emit_u64s(name, values, count);
    free(values);
}

static void emit_hint(const sc_hint *hint)
{
    char what[512];
    sc_text text = sc_text_over(what, sizeof what);

    sc_text_string(&text, hint->label);
    if (hint->label[0] && hint->count)
        sc_text_char(&text, ' ');
    sc_hint_dims(hint, &text);
    sc_emit_text(NULL, sc_text_terminate(&text));
}

/* As the report names it. */
static void emit_site(const sc_history *history, const char *site)
{
    sc_html_emit_text(NULL, site ? sc_history_place(history, site) : UNKNOWN);
}

void sc_html_shapes_emit(const sc_history *history, const sc_device *device, unsigned most)
{
    unsigned count = device->shape_count < most ? device->shape_count : most;

    emit_column("id", device, count, offsetof(sc_shape, id));
    emit_column("bytes", device, count, offsetof(sc_shape, bytes));
#define SHOW(member, field)                                                                        \
    emit_column(sc_field_name(SC_F_##field), device, count, offsetof(sc_shape, member));
    SC_SHAPE_COUNTS(SHOW)
#undef SHOW
    sc_emit_open("site", '[');
    for (unsigned i = 0; i < count; i++)
        emit_site(history, device->shapes[i]->site);
    sc_emit_end(']');
    sc_emit_open("what", '[');
    for (unsigned i = 0; i < count; i++)
        emit_hint(&device->shapes[i]->hint);
    sc_emit_end(']');
    sc_emit_u64("left_out", device->shape_count - count + device->shapes_left_out);
}

/* What the shapes of one call site add up to. */
typedef struct place {
    const char *name;
    uint64_t shapes, bytes, requests, hits, misses, ns;
} place;

typedef struct places {
    place *at, all;
    size_t count;
} places;

static int by_name(const void *left, const void *right)
{
    return strcmp(((const place *)left)->name, ((const place *)right)->name);
}

static void add(place *to, const place *one)
{
    to->shapes += one->shapes;
    to->bytes += one->bytes;
    to->requests += one->requests;
    to->hits += one->hits;
    to->misses += one->misses;
    to->ns += one->ns;
}

/* Requests that were no hits went to the driver; what one took is known as a mean. */
static place of_shape(const sc_shape *shape)
{
    uint64_t driver = shape->requests > shape->hits ? shape->requests - shape->hits : 0;

    return (place){.name = shape->site ? shape->site : UNKNOWN,
                   .shapes = 1,
                   .bytes = sc_shape_most_bytes(shape),
                   .requests = shape->requests,
                   .hits = shape->hits,
                   .misses = driver,
                   .ns = driver * shape->miss_ns_avg};
}

static double part(uint64_t value, uint64_t whole)
{
    return whole ? (double)value / (double)whole : 0;
}

/* A site that matters in one way is not left out for those that matter in another. */
static int by_weight(const void *left, const void *right, void *context)
{
    const place *pair[] = {left, right}, *all = context;
    double weight[2];

    for (int i = 0; i < 2; i++) {
        double bytes = part(pair[i]->bytes, all->bytes), ns = part(pair[i]->ns, all->ns);
        double misses = part(pair[i]->misses, all->misses);

        weight[i] = bytes > misses ? bytes : misses;
        weight[i] = ns > weight[i] ? ns : weight[i];
    }
    if (weight[0] > weight[1] || weight[0] < weight[1])
        return weight[0] > weight[1] ? -1 : 1;
    return by_name(left, right);
}

static places gather(const sc_device *device)
{
    places all = {.at = sc_need(device->shape_count * sizeof *all.at)};

    for (unsigned i = 0; i < device->shape_count; i++)
        all.at[i] = of_shape(device->shapes[i]);
    if (device->shape_count)
        qsort(all.at, device->shape_count, sizeof *all.at, by_name);
    for (unsigned i = 0; i < device->shape_count; i++) {
        add(&all.all, &all.at[i]);
        if (all.count && by_name(&all.at[all.count - 1], &all.at[i]) == 0)
            add(&all.at[all.count - 1], &all.at[i]);
        else
            all.at[all.count++] = all.at[i];
    }
    if (all.count)
        qsort_r(all.at, all.count, sizeof *all.at, by_weight, &all.all);
    return all;
}

static void emit_place(const place *one)
{
    const uint64_t values[] = {one->shapes, one->bytes,  one->requests,
                               one->hits,   one->misses, one->ns};

    sc_emit_u64s(NULL, values, sizeof values / sizeof *values);
}

void sc_html_sites_emit(const sc_history *history, const sc_device *device, unsigned most)
{
    static const char *const fields[] = {"shapes", "bytes", "requests", "hits", "misses", "ns"};
    places all = gather(device);
    size_t shown = all.count < most ? all.count : most;
    place rest = {0};

    sc_emit_open("fields", '[');
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        sc_emit_text(NULL, fields[i]);
    sc_emit_end(']');
    sc_emit_open("name", '[');
    for (size_t i = 0; i < shown; i++)
        emit_site(history, all.at[i].name);
    sc_emit_end(']');
    sc_emit_open("values", '[');
    for (size_t i = 0; i < shown; i++)
        emit_place(&all.at[i]);
    sc_emit_end(']');
    for (size_t i = shown; i < all.count; i++)
        add(&rest, &all.at[i]);
    sc_emit_open("rest", '[');
    emit_place(&rest);
    sc_emit_end(']');
    sc_emit_u64("left_out", all.count - shown);
    free(all.at);
}

/* X(MEMBER, FIELD): of the figures of a record, those that the page shows. */
#define ARENA_FIGURES(X)                                                                           \
    X(capacity, CAPACITY)                                                                          \
    X(used, USED)                                                                                  \
    X(used_peak, USED_PEAK)                                                                        \
    X(demand_peak, DEMAND_PEAK)                                                                    \
    X(tickets, TICKETS)                                                                            \
    X(tickets_peak, TICKETS_PEAK)                                                                  \
    X(passes, PASSES)                                                                              \
    X(offloads, OFFLOADS)                                                                          \
    X(onloads, ONLOADS)                                                                            \
    X(bytes_out, BYTES_OUT)                                                                        \
    X(bytes_in, BYTES_IN)                                                                          \
    X(kept, KEPT)                                                                                  \
    X(wait_ns, WAIT_NS)                                                                            \
    X(errors, ERRORS)

static void emit_moment(const sc_arenas *arenas, const sc_arena_moment *moment)
{
    const uint64_t values[] = {moment->t_ns, moment->has_step ? moment->step : UINT64_MAX,
#define VALUE(member, field) moment->figures.member,
                               ARENA_FIGURES(VALUE)
#undef VALUE
    };

    sc_emit_open(NULL, '{');
    sc_emit_u64("arena", moment->arena);
    sc_html_emit_text("name",
                      moment->arena < arenas->count ? arenas->at[moment->arena].name : UNKNOWN);
    sc_html_emit_text("what", moment->what);
    sc_emit_u64s("values", values, sizeof values / sizeof *values);
    sc_emit_end('}');
}

void sc_html_arenas_emit(const sc_arenas *arenas, unsigned most)
{
    static const sc_field fields[] = {SC_F_T, SC_F_STEP,
#define VALUE(member, field) SC_F_##field,
                                      ARENA_FIGURES(VALUE)
#undef VALUE
    };
    unsigned shown = arenas->moment_count < most ? arenas->moment_count : most;

    sc_emit_open("fields", '[');
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        sc_emit_text(NULL, sc_field_name(fields[i]));
    sc_emit_end(']');
    sc_emit_open("rows", '[');
    for (unsigned i = 0; i < shown; i++)
        emit_moment(arenas, &arenas->moments[i]);
    sc_emit_end(']');
    sc_emit_u64("left_out", arenas->moment_count - shown + arenas->moments_left_out);
    if (arenas->is_spared_told && !arenas->spared_unknown[0])
        sc_emit_u64("spared", arenas->spared);
}
