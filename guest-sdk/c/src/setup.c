// What a transform knows before it sees rows, from the contract's form to trees of fields.
#include <string.h>

#include "internal.h"

static void fail(gm_plan *plan, const char *message) { gm_fail(plan, "bad-setup", message); }

static const char *name_of(gm_plan *plan, abi_string name) {
    if (name.len && memchr(name.data, 0, name.len))
        fail(plan, "a column has a NUL in its name, which a transform in C cannot hold: rename it in the source");
    return gm_copy(name);
}

static bool has_right_children(const gm_type *type) {
    switch (type->kind) {
        case GM_LIST:
        case GM_LARGE_LIST:
        case GM_FIXED_SIZE_LIST: return type->child_count == 1;
        case GM_MAP:
            return type->child_count == 1 && type->children[0].type.kind == GM_STRUCT &&
                   type->children[0].type.child_count == 2;
        case GM_STRUCT: return true;
        default: return type->child_count == 0;
    }
}

static gm_type plain_type(const abi_type *from) {
    gm_type type = {.kind = (gm_kind)from->kind};
    switch (type.kind) {
        case GM_DECIMAL128:
        case GM_DECIMAL256:
            type.precision = from->decimal.precision;
            type.scale = from->decimal.scale;
            break;
        case GM_FIXED_SIZE_BINARY:
        case GM_FIXED_SIZE_LIST: type.size = from->size; break;
        case GM_TIME32:
        case GM_TIME64:
        case GM_DURATION: type.unit = (gm_unit)from->unit; break;
        case GM_TIMESTAMP:
            type.unit = (gm_unit)from->timestamp.unit;
            if (from->timestamp.zone.is_some) type.zone = gm_copy(from->timestamp.zone.some);
            break;
        case GM_MAP: type.sorted = from->sorted; break;
        default: break;
    }
    return type;
}

/// Reads the tree that starts at `*place` and moves past it.
static gm_field field_of(gm_plan *plan, abi_fields fields, uint32_t *place) {
    if (*place >= fields.len) {
        fail(plan, "the fields of a column are not whole");
        return (gm_field){.name = ""};
    }
    const abi_field *from = &fields.data[(*place)++];
    gm_field field = {name_of(plan, from->name), plain_type(&from->type), from->nullable};
    uint32_t count = MIN(from->children, fields.len);
    gm_field *children = gm_alloc(sizeof(gm_field) * count);
    for (uint32_t i = 0; i < count; i++) children[i] = field_of(plan, fields, place);
    field.type.children = children;
    field.type.child_count = count;
    if (!has_right_children(&field.type)) fail(plan, "a nested column has the wrong members");
    return field;
}

static gm_plan *plan_of(const abi_setup *setup) {
    gm_plan *plan = gm_alloc(sizeof *plan);
    *plan = (gm_plan){.stage = (gm_stage)(1 << setup->stage)};
    for (uint32_t place = 0; place < setup->input.len;) LIST_PUSH(plan->input, field_of(plan, setup->input, &place));
    for (uint32_t i = 0; i < setup->dictionaries.len; i++) {
        const abi_dictionary *from = &setup->dictionaries.data[i];
        dictionary to = {.name = gm_copy(from->name), .key = name_of(plan, from->key)};
        for (uint32_t place = 0; place < from->fields.len;)
            LIST_PUSH(to.fields, field_of(plan, from->fields, &place));
        LIST_PUSH(plan->dictionaries, to);
    }
    const char *problem = NULL;
    plan->config = gm_json_parse(setup->config, &problem);
    if (!plan->config)
        gm_fail(plan, "bad-config", gm_concat("the configuration is not JSON: ", problem, NULL));
    else if (plan->config->kind != GM_JSON_OBJECT)
        gm_fail(plan, "bad-config", "the configuration is not a JSON object");
    return plan;
}

static void refuse_unknown_keys(gm_plan *plan) {
    for (uint32_t i = 0; !plan->whole_config_asked && i < plan->config->count; i++) {
        const char *key = gm_copy(plan->config->items[i].key), *known = "";
        bool asked = false;
        for (uint32_t k = 0; k < plan->asked_keys.len; k++) {
            asked |= strcmp(plan->asked_keys.items[k], key) == 0;
            known = gm_concat(known, k ? ", " : "; known are ", plan->asked_keys.items[k], NULL);
        }
        if (!asked) gm_fail(plan, "bad-config", gm_concat("unknown key `", key, "`", known, NULL));
    }
}

gm_plan *gm_plan_make(const gm_transform *transform, const abi_setup *setup, void **state) {
    gm_plan *plan = plan_of(setup);
    *state = gm_alloc(transform->state_size);
    memset(*state, 0, transform->state_size);
    if (gm_failed(plan)) return plan;
    transform->plan(plan, *state);
    if (!gm_failed(plan)) refuse_unknown_keys(plan);
    return plan;
}
