// The contract's two functions, for any transform.
#include "internal.h"

static abi_failure failure_to_abi(failure from) {
    return (abi_failure){gm_text_from(from.code), gm_text_from(from.message)};
}

static abi_source source_to_abi(const source *from) {
    abi_source to = {.kind = from->kind};
    if (from->kind == ABI_SOURCE_INPUT) to.input = gm_text_from(from->input);
    if (from->kind == ABI_SOURCE_LOOKUP) to.lookup = from->lookup;
    return to;
}

uint32_t gm_tree_size(const gm_field *field) {
    uint32_t size = 1;
    for (uint32_t i = 0; i < field->type.child_count; i++) size += gm_tree_size(&field->type.children[i]);
    return size;
}

static void put_type(const gm_type *from, abi_type *to) {
    to->kind = (uint8_t)from->kind;
    switch (from->kind) {
        case GM_DECIMAL128:
        case GM_DECIMAL256:
            to->decimal.precision = from->precision;
            to->decimal.scale = from->scale;
            break;
        case GM_FIXED_SIZE_BINARY:
        case GM_FIXED_SIZE_LIST: to->size = from->size; break;
        case GM_TIME32:
        case GM_TIME64:
        case GM_DURATION: to->unit = (uint8_t)from->unit; break;
        case GM_TIMESTAMP:
            to->timestamp.unit = (uint8_t)from->unit;
            to->timestamp.zone.is_some = from->zone != NULL;
            if (from->zone) to->timestamp.zone.some = gm_text_from(from->zone);
            break;
        case GM_MAP: to->sorted = from->sorted; break;
        default: break;
    }
}

abi_field *gm_put_tree(const gm_field *from, abi_field *to) {
    *to = (abi_field){.name = gm_text_from(from->name), .nullable = from->nullable, .children = from->type.child_count};
    put_type(&from->type, &to->type);
    to++;
    for (uint32_t i = 0; i < from->type.child_count; i++) to = gm_put_tree(&from->type.children[i], to);
    return to;
}

static abi_output_column column_to_abi(const output_column *from) {
    abi_output_column to = {.kind = from->computed ? ABI_COLUMN_COMPUTED : ABI_COLUMN_FORWARDED};
    if (from->computed) {
        to.computed.len = gm_tree_size(&from->field);
        to.computed.data = gm_alloc(sizeof(abi_field) * to.computed.len);
        gm_put_tree(&from->field, to.computed.data);
    } else {
        to.forwarded.name = gm_text_from(from->field.name);
        to.forwarded.source = source_to_abi(&from->source);
    }
    return to;
}

static void plan_to_abi(const gm_plan *plan, abi_plan *to) {
    to->reads.len = plan->reads.len;
    to->reads.data = gm_alloc(sizeof(abi_source) * plan->reads.len);
    for (uint32_t i = 0; i < plan->reads.len; i++) to->reads.data[i] = source_to_abi(&plan->reads.items[i].source);
    to->lookups.len = plan->lookups.len;
    to->lookups.data = gm_alloc(sizeof(abi_lookup) * plan->lookups.len);
    for (uint32_t i = 0; i < plan->lookups.len; i++) {
        const lookup_column *from = &plan->lookups.items[i];
        to->lookups.data[i] = (abi_lookup){gm_text_from(from->dictionary), gm_text_from(from->key),
                                           gm_text_from(from->value.name)};
    }
    to->outputs.len = plan->outputs.len;
    to->outputs.data = gm_alloc(sizeof(abi_output_plan) * plan->outputs.len);
    for (uint32_t i = 0; i < plan->outputs.len; i++) {
        const output_plan *from = &plan->outputs.items[i];
        abi_output_plan *output = &to->outputs.data[i];
        output->name = gm_text_from(from->name);
        output->columns.len = from->columns.len;
        output->columns.data = gm_alloc(sizeof(abi_output_column) * from->columns.len);
        for (uint32_t k = 0; k < from->columns.len; k++)
            output->columns.data[k] = column_to_abi(&from->columns.items[k]);
    }
}

abi_plan_result *gm_contract_plan(const gm_transform *transform, const abi_setup *setup) {
    abi_plan_result *result = gm_alloc(sizeof *result);
    *result = (abi_plan_result){0};
    void *state;
    const gm_plan *plan = gm_plan_make(transform, setup, &state);
    result->is_failure = gm_failed(plan);
    if (result->is_failure)
        result->failure = failure_to_abi(plan->failure);
    else
        plan_to_abi(plan, &result->plan);
    return result;
}

abi_process_result *gm_contract_process(const gm_transform *transform, const abi_setup *setup, const abi_batch *batch) {
    abi_process_result *result = gm_alloc(sizeof *result);
    *result = (abi_process_result){.is_failure = true};
    void *state;
    const gm_plan *plan = gm_plan_make(transform, setup, &state);
    if (gm_failed(plan)) {
        result->failure = failure_to_abi(plan->failure);
        return result;
    }
    failure problem;
    const gm_batch *received = gm_batch_from_abi(plan, batch, &problem);
    if (!received) {
        result->failure = failure_to_abi(problem);
        return result;
    }
    gm_outputs *outputs = gm_outputs_new(plan, received->rows);
    if (transform->process)
        transform->process(received, outputs, state);
    else
        gm_rows_process(transform, plan, received, outputs, state);
    if (outputs->failure.code) {
        result->failure = failure_to_abi(outputs->failure);
        return result;
    }
    result->is_failure = false;
    gm_outputs_to_abi(outputs, &result->processed);
    return result;
}
