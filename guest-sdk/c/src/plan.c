// The plan in the making.
#include "gristmill/plan.h"

#include <string.h>

#include "internal.h"

static const uint32_t NOWHERE = UINT32_MAX;

void gm_fail(gm_plan *plan, const char *code, const char *message) {
    if (!plan->failure.code) plan->failure = (failure){code, message};
}

bool gm_failed(const gm_plan *plan) { return plan->failure.code != NULL; }

gm_stage gm_stage_of(const gm_plan *plan) { return plan->stage; }

static const char *stage_text(int stage) {
    return stage == gm_stage_normalize ? "normalize" : stage == gm_stage_migrate ? "migrate" : "map";
}

void gm_serve(gm_plan *plan, int stages) {
    if (plan->stage & stages) return;
    const char *served = "";
    for (int stage = gm_stage_normalize; stage <= gm_stage_map; stage <<= 1)
        if (stages & stage) served = gm_concat(served, *served ? ", " : "", stage_text(stage), NULL);
    gm_fail(plan, "wrong-stage",
            gm_concat("this transform serves ", served, ", not ", stage_text(plan->stage), NULL));
}

uint32_t gm_input_count(const gm_plan *plan) { return plan->input.len; }

const gm_field *gm_input(const gm_plan *plan, uint32_t place) {
    return place < plan->input.len ? &plan->input.items[place] : NULL;
}

const gm_field *gm_input_named(const gm_plan *plan, const char *name) {
    for (uint32_t i = 0; i < plan->input.len; i++)
        if (strcmp(plan->input.items[i].name, name) == 0) return &plan->input.items[i];
    return NULL;
}

/// The input column of this name; NULL and a failure where there is none.
static const gm_field *input(gm_plan *plan, const char *name) {
    const gm_field *field = gm_input_named(plan, name);
    if (field || gm_failed(plan)) return field;
    const char *names = "";
    for (uint32_t i = 0; i < plan->input.len; i++)
        names = gm_concat(names, i ? ", " : "; it has ", plan->input.items[i].name, NULL);
    gm_fail(plan, "missing-column", gm_concat("the input has no column `", name, "`", names, NULL));
    return NULL;
}

static bool same_source(const source *a, const source *b) {
    if (a->kind != b->kind) return false;
    if (a->kind == ABI_SOURCE_INPUT) return strcmp(a->input, b->input) == 0;
    return a->kind == ABI_SOURCE_OPERATION || a->lookup == b->lookup;
}

static gm_in add_read(gm_plan *plan, source source, gm_field field) {
    for (uint32_t i = 0; i < plan->reads.len; i++)
        if (same_source(&plan->reads.items[i].source, &source)) return (gm_in){i};
    LIST_PUSH(plan->reads, ((read_column){source, field}));
    return (gm_in){plan->reads.len - 1};
}

static bool is_kind(gm_plan *plan, const gm_field *field, gm_kind kind) {
    if (field->type.kind == kind) return true;
    gm_fail(plan, "wrong-type",
            gm_concat("column `", field->name, "` is ", gm_type_text(&field->type), ", not ", gm_kind_text(kind), NULL));
    return false;
}

gm_in gm_read(gm_plan *plan, const char *column, gm_kind kind) {
    const gm_field *field = input(plan, column);
    if (!field || !is_kind(plan, field, kind)) return (gm_in){NOWHERE};
    return add_read(plan, (source){.kind = ABI_SOURCE_INPUT, .input = field->name}, *field);
}

gm_in gm_read_any(gm_plan *plan, const char *column) {
    const gm_field *field = input(plan, column);
    if (!field) return (gm_in){NOWHERE};
    return add_read(plan, (source){.kind = ABI_SOURCE_INPUT, .input = field->name}, *field);
}

static gm_field operation_field(const char *name) { return gm_required(name, gm_uint8()); }

gm_in gm_read_operation(gm_plan *plan) {
    return add_read(plan, (source){.kind = ABI_SOURCE_OPERATION}, operation_field("operation"));
}

static const dictionary *dictionary_named(gm_plan *plan, const char *name) {
    for (uint32_t i = 0; i < plan->dictionaries.len; i++)
        if (strcmp(plan->dictionaries.items[i].name, name) == 0) return &plan->dictionaries.items[i];
    gm_fail(plan, "missing-dictionary",
            gm_concat("the pipeline has no dictionary `", name, "`: add it under transforms.dictionaries", NULL));
    return NULL;
}

gm_lookup gm_look_up(gm_plan *plan, const char *dictionary_name, const char *key, const char *value) {
    if (!input(plan, key)) return (gm_lookup){NOWHERE};
    const dictionary *from = dictionary_named(plan, dictionary_name);
    if (!from) return (gm_lookup){NOWHERE};
    for (uint32_t i = 0; i < plan->lookups.len; i++) {
        const lookup_column *other = &plan->lookups.items[i];
        if (strcmp(other->dictionary, dictionary_name) == 0 && strcmp(other->key, key) == 0 &&
            strcmp(other->value.name, value) == 0)
            return (gm_lookup){i};
    }
    for (uint32_t i = 0; i < from->fields.len; i++) {
        gm_field field = from->fields.items[i];
        if (strcmp(field.name, value) != 0) continue;
        field.nullable = true;
        LIST_PUSH(plan->lookups, ((lookup_column){from->name, key, field}));
        return (gm_lookup){plan->lookups.len - 1};
    }
    gm_fail(plan, "missing-column",
            gm_concat("dictionary `", dictionary_name, "` has no column `", value, "`", NULL));
    return (gm_lookup){NOWHERE};
}

gm_in gm_read_lookup(gm_plan *plan, gm_lookup lookup, gm_kind kind) {
    if (lookup.place >= plan->lookups.len) return (gm_in){NOWHERE};
    const gm_field *field = &plan->lookups.items[lookup.place].value;
    if (!is_kind(plan, field, kind)) return (gm_in){NOWHERE};
    return add_read(plan, (source){.kind = ABI_SOURCE_LOOKUP, .lookup = lookup.place}, *field);
}

gm_output gm_add_output(gm_plan *plan, const char *name) {
    LIST_PUSH(plan->outputs, ((output_plan){.name = name}));
    return (gm_output){plan->outputs.len - 1};
}

static void add_column(gm_plan *plan, gm_output output, output_column column) {
    if (output.place >= plan->outputs.len) return;
    output_plan *to = &plan->outputs.items[output.place];
    for (uint32_t i = 0; i < to->columns.len; i++)
        if (strcmp(to->columns.items[i].field.name, column.field.name) == 0)
            gm_fail(plan, "duplicate-column",
                    gm_concat("output `", to->name, "` has two columns named `", column.field.name, "`", NULL));
    LIST_PUSH(to->columns, column);
    to->computed += column.computed;
}

void gm_forward(gm_plan *plan, gm_output output, const char *column) { gm_forward_as(plan, output, column, column); }

void gm_forward_as(gm_plan *plan, gm_output output, const char *name, const char *column) {
    const gm_field *from = input(plan, column);
    if (!from) return;
    gm_field field = {name, from->type, from->nullable};
    add_column(plan, output, (output_column){false, {.kind = ABI_SOURCE_INPUT, .input = from->name}, field});
}

void gm_forward_lookup(gm_plan *plan, gm_output output, const char *name, gm_lookup lookup) {
    if (lookup.place >= plan->lookups.len) return;
    gm_field field = {name, plan->lookups.items[lookup.place].value.type, true};
    add_column(plan, output, (output_column){false, {.kind = ABI_SOURCE_LOOKUP, .lookup = lookup.place}, field});
}

void gm_forward_operation(gm_plan *plan, gm_output output, const char *name) {
    add_column(plan, output, (output_column){false, {.kind = ABI_SOURCE_OPERATION}, operation_field(name)});
}

gm_out gm_compute_field(gm_plan *plan, gm_output output, gm_field field) {
    if (output.place >= plan->outputs.len) return (gm_out){output, NOWHERE};
    uint32_t place = plan->outputs.items[output.place].computed;
    add_column(plan, output, (output_column){.computed = true, .field = field});
    return (gm_out){output, place};
}

gm_out gm_compute(gm_plan *plan, gm_output output, const char *name, gm_type type) {
    return gm_compute_field(plan, output, gm_nullable(name, type));
}

gm_out gm_compute_required(gm_plan *plan, gm_output output, const char *name, gm_type type) {
    return gm_compute_field(plan, output, gm_required(name, type));
}
