// What a call gives: its builders, selections, rejects and messages, and all of it in the contract's form.
#include "gristmill/outputs.h"

#include <string.h>

#include "internal.h"

gm_outputs *gm_outputs_new(const gm_plan *plan, uint32_t rows) {
    gm_outputs *outputs = gm_alloc(sizeof *outputs);
    *outputs = (gm_outputs){.rows = rows, .output_count = plan->outputs.len};
    outputs->outputs = gm_alloc(sizeof(output) * plan->outputs.len);
    for (uint32_t i = 0; i < plan->outputs.len; i++) {
        const output_plan *planned = &plan->outputs.items[i];
        output *to = &outputs->outputs[i];
        *to = (output){.plan = planned, .selection = {.input_rows = rows}};
        to->builders = gm_alloc(sizeof(gm_builder) * planned->computed);
        uint32_t place = 0;
        for (uint32_t k = 0; k < planned->columns.len; k++)
            if (planned->columns.items[k].computed)
                gm_builder_init(&to->builders[place++], &planned->columns.items[k].field, rows);
    }
    return outputs;
}

static output *output_at(gm_outputs *outputs, gm_output place) {
    if (place.place >= outputs->output_count) gm_trap_handle_is_of_no_plan();
    return &outputs->outputs[place.place];
}

gm_builder *gm_any_out(gm_outputs *outputs, gm_out column) {
    output *of = output_at(outputs, column.output);
    if (column.place >= of->plan->computed) gm_trap_handle_is_of_no_plan();
    return &of->builders[column.place];
}

void gm_give(gm_outputs *outputs, gm_out column, gm_array array) {
    gm_builder *builder = gm_any_out(outputs, column);
    if (!gm_type_equal(&builder->field->type, &array.field->type))
        gm_trap_column_has_another_type(builder->field, gm_type_text(&array.field->type));
    if (array.null_count && !builder->field->nullable) gm_trap_required_column_holds_nulls(builder->field);
    gm_array *given = gm_alloc(sizeof *given);
    *given = array;
    builder->given = given;
    builder->len = array.rows;
}

gm_selection *gm_selection_out(gm_outputs *outputs, gm_output place) {
    output *of = output_at(outputs, place);
    of->selected = true;
    return &of->selection;
}

void gm_selection_grow(gm_selection *selection) {
    uint64_t old = selection->capacity, capacity = MAX(MAX(old * 2, selection->input_rows), 8);
    if (capacity > UINT32_MAX / 4) gm_trap_out_of_memory();
    selection->rows = gm_realloc(selection->rows, old * 4, capacity * 4);
    if (selection->operations) selection->operations = gm_realloc(selection->operations, old, capacity);
    selection->capacity = (uint32_t)capacity;
}

void gm_select_as(gm_selection *selection, uint32_t row, gm_operation operation) {
    if (selection->operated != selection->len) gm_trap_some_rows_have_operations_and_some_not();
    gm_select(selection, row);
    if (!selection->operations) selection->operations = gm_alloc(selection->capacity);
    selection->operations[selection->operated++] = (uint8_t)operation;
}

void gm_reject(gm_outputs *outputs, uint32_t row, const char *code, const char *field, const char *message) {
    if (row >= outputs->rows) gm_trap_rejected_row_out_of_range(row, outputs->rows);
    abi_reject reject = {.row = row, .code = gm_text_from(code), .message = gm_text_from(message)};
    reject.field.is_some = field != NULL;
    if (field) reject.field.some = gm_text_from(field);
    LIST_PUSH(outputs->rejects, reject);
}

void gm_say(gm_outputs *outputs, const char *message) { LIST_PUSH(outputs->messages, gm_text_from(message)); }

void gm_fail_call(gm_outputs *outputs, const char *code, const char *message) {
    if (!outputs->failure.code) outputs->failure = (failure){code, message};
}

/// Whether the selection is all input rows in place: then it need not cross, and the runner need not copy.
static bool selects_all(const gm_selection *selection) {
    if (selection->len != selection->input_rows) return false;
    for (uint32_t i = 0; i < selection->len; i++)
        if (selection->rows[i] != i) return false;
    return true;
}

static abi_output output_to_abi(output *from, uint32_t input_rows) {
    gm_selection *selection = &from->selection;
    abi_output to = {.rows = from->selected ? selection->len : input_rows};
    if (selection->operations && selection->operated != selection->len)
        gm_trap_some_rows_have_operations_and_some_not();
    if (from->selected && !selects_all(selection)) {
        to.selection.is_some = true;
        to.selection.some.data = selection->rows;
        to.selection.some.len = selection->len;
    }
    if (selection->operations) {
        to.operations.is_some = true;
        to.operations.some.data = selection->operations;
        to.operations.some.len = selection->len;
    }
    layout whole = {0, 0};
    for (uint32_t i = 0; i < from->plan->computed; i++) {
        layout column = gm_layout(&from->builders[i].field->type);
        whole.nodes += column.nodes;
        whole.buffers += column.buffers;
    }
    gm_node *nodes = to.columns.nodes.data = gm_alloc(sizeof(gm_node) * whole.nodes);
    gm_bytes *buffers = to.columns.buffers.data = gm_alloc(sizeof(gm_bytes) * whole.buffers);
    to.columns.nodes.len = whole.nodes;
    to.columns.buffers.len = whole.buffers;
    for (uint32_t i = 0; i < from->plan->computed; i++) {
        gm_builder *builder = &from->builders[i];
        if (builder->len != to.rows) gm_trap_column_and_output_rows_differ(builder->field, builder->len, to.rows);
        gm_builder_finish(builder, &nodes, &buffers);
    }
    return to;
}

void gm_outputs_to_abi(gm_outputs *outputs, abi_processed *to) {
    to->outputs.data = gm_alloc(sizeof(abi_output) * outputs->output_count);
    to->outputs.len = outputs->output_count;
    for (uint32_t i = 0; i < outputs->output_count; i++)
        to->outputs.data[i] = output_to_abi(&outputs->outputs[i], outputs->rows);
    to->rejects.data = outputs->rejects.items;
    to->rejects.len = outputs->rejects.len;
    to->messages.data = outputs->messages.items;
    to->messages.len = outputs->messages.len;
}
