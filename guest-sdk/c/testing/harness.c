// The runner's part, in memory.
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

typedef struct {
    const char *name, *key;
    const gm_table *table;
} named_table;

struct gm_harness {
    gm_stage stage;
    const char *config;
    LIST(named_table) dictionaries;
    const char *operations;
};

typedef struct {
    const char *name;
    gm_table table;
    uint32_t *rows;
    uint8_t *operations;
} run_output;

struct gm_run {
    const char *failure;
    LIST(run_output) outputs;
    const abi_processed *processed;
    uint32_t columns_read;
};

gm_harness *gm_harness_new(gm_stage stage) {
    gm_harness *harness = gm_alloc(sizeof *harness);
    *harness = (gm_harness){.stage = stage, .config = "{}"};
    return harness;
}

void gm_harness_config(gm_harness *harness, const char *json) { harness->config = json; }

void gm_harness_dictionary(gm_harness *harness, const char *name, const char *key, const gm_table *table) {
    if (!gm_table_column(table, key)) gm_test_fail(gm_concat("dictionary ", name, " has no column ", key, NULL));
    LIST_PUSH(harness->dictionaries, ((named_table){name, key, table}));
}

void gm_harness_operations(gm_harness *harness, const char *operations) { harness->operations = operations; }

static abi_fields fields_of(const gm_table *table) {
    abi_fields fields = {0};
    for (uint32_t i = 0; i < table->columns.len; i++) fields.len += gm_tree_size(table->columns.items[i].field);
    abi_field *to = fields.data = gm_alloc(sizeof(abi_field) * fields.len);
    for (uint32_t i = 0; i < table->columns.len; i++) to = gm_put_tree(table->columns.items[i].field, to);
    return fields;
}

static abi_setup setup_of(const gm_harness *harness, const gm_table *input) {
    abi_setup setup = {.config = gm_text_from(harness->config), .input = fields_of(input)};
    while (1 << setup.stage < (int)harness->stage) setup.stage++;
    setup.dictionaries.len = harness->dictionaries.len;
    setup.dictionaries.data = gm_alloc(sizeof(abi_dictionary) * harness->dictionaries.len);
    for (uint32_t i = 0; i < harness->dictionaries.len; i++) {
        const named_table *from = &harness->dictionaries.items[i];
        setup.dictionaries.data[i] =
            (abi_dictionary){gm_text_from(from->name), gm_text_from(from->key), fields_of(from->table)};
    }
    return setup;
}

static const char *value_text(gm_array array, uint32_t row) {
    text_buffer text = {0};
    gm_put_value(&text, array, row);
    return gm_buffer_text(&text);
}

/// The look-up's value for each row of the input.
static gm_array join(const gm_harness *harness, const lookup_column *lookup, const gm_table *input) {
    const named_table *from = harness->dictionaries.items;
    while (strcmp(from->name, lookup->dictionary) != 0) from++;
    gm_array keys = *gm_table_column(from->table, from->key), wanted = *gm_table_column(input, lookup->key);
    gm_array values = *gm_table_column(from->table, lookup->value.name);
    gm_field *field = gm_alloc(sizeof *field);
    *field = lookup->value;
    values.field = field;
    gm_builder *builder = gm_alloc(sizeof *builder);
    gm_builder_init(builder, field, input->rows);
    for (uint32_t row = 0; row < input->rows; row++) {
        uint32_t found = from->table->rows;
        for (uint32_t i = 0; !gm_is_null(wanted, row) && i < from->table->rows; i++)
            if (strcmp(value_text(wanted, row), value_text(keys, i)) == 0) found = i;
        if (found < from->table->rows)
            gm_push_rows(builder, values, &found, 1);
        else
            gm_push_null(builder);
    }
    return gm_array_of_builder(builder);
}

static uint8_t operation_of(const gm_harness *harness, uint32_t row) {
    if (!harness->operations) return GM_INSERT;
    char letter = harness->operations[row];
    return letter == 'd' ? GM_DELETE : letter == 'u' ? GM_UPDATE : GM_INSERT;
}

static gm_array column_of(const gm_harness *harness, const gm_plan *plan, const source *source, const gm_table *input) {
    if (source->kind == ABI_SOURCE_INPUT) return *gm_table_column(input, source->input);
    if (source->kind == ABI_SOURCE_LOOKUP) return join(harness, &plan->lookups.items[source->lookup], input);
    gm_field *field = gm_alloc(sizeof *field);
    *field = gm_required("operation", gm_uint8());
    gm_builder *builder = gm_alloc(sizeof *builder);
    gm_builder_init(builder, field, input->rows);
    for (uint32_t row = 0; row < input->rows; row++)
        gm_uint8_push((gm_uint8_builder *)builder, operation_of(harness, row));
    return gm_array_of_builder(builder);
}

static abi_batch batch_of(const gm_harness *harness, const gm_plan *plan, const gm_table *input) {
    LIST(gm_node) nodes = {0};
    LIST(gm_bytes) buffers = {0};
    for (uint32_t i = 0; i < plan->reads.len; i++) {
        gm_array array = column_of(harness, plan, &plan->reads.items[i].source, input);
        layout whole = gm_layout(&array.field->type);
        for (uint32_t k = 0; k < whole.nodes; k++) LIST_PUSH(nodes, array.nodes[k]);
        for (uint32_t k = 0; k < whole.buffers; k++) LIST_PUSH(buffers, array.buffers[k]);
    }
    return (abi_batch){input->rows, {{nodes.items, nodes.len}, {buffers.items, buffers.len}}};
}

static const char *contract(const char *problem) { return gm_concat("contract: ", problem, NULL); }

static const char *take_rows(const gm_harness *harness, const abi_processed *processed, const abi_output *from,
                             uint32_t input_rows, run_output *to) {
    to->table.rows = from->rows;
    to->rows = gm_alloc(sizeof(uint32_t) * from->rows);
    to->operations = gm_alloc(from->rows);
    uint32_t selected = from->selection.is_some ? from->selection.some.len : input_rows;
    if (selected != from->rows) return contract("the selection does not have one row for each output row");
    if (from->operations.is_some && from->operations.some.len != from->rows)
        return contract("the operations do not have one for each output row");
    for (uint32_t i = 0; i < from->rows; i++) {
        uint32_t row = from->selection.is_some ? from->selection.some.data[i] : i;
        if (row >= input_rows) return contract("a selected row is out of range");
        to->rows[i] = row;
        to->operations[i] = from->operations.is_some ? from->operations.some.data[i] : operation_of(harness, row);
        if (to->operations[i] > GM_DELETE) return contract("an operation is none");
        for (uint32_t k = 0; harness->stage != gm_stage_map && k < processed->rejects.len; k++)
            if (processed->rejects.data[k].row == row) return contract("a rejected row is selected");
    }
    return NULL;
}

static const char *take_columns(const gm_harness *harness, const gm_plan *plan, const output_plan *planned,
                                const abi_output *from, const gm_table *input, run_output *to) {
    const gm_node *nodes = from->columns.nodes.data, *nodes_end = nodes + from->columns.nodes.len;
    const gm_bytes *buffers = from->columns.buffers.data, *buffers_end = buffers + from->columns.buffers.len;
    for (uint32_t i = 0; i < planned->columns.len; i++) {
        const output_column *column = &planned->columns.items[i];
        gm_array array;
        if (column->computed) {
            layout whole = gm_layout(&column->field.type);
            if (nodes_end - nodes < whole.nodes || buffers_end - buffers < whole.buffers)
                return contract("the output has fewer columns than the plan");
            array = (gm_array){&column->field, nodes->length, nodes->null_count, NULL, nodes, buffers};
            if (gm_own_buffers(column->field.type.kind) && buffers->len) array.valid = buffers->data;
            const char *wrong = gm_check_column(array);
            if (wrong) return contract(wrong);
            if (array.rows != from->rows) return contract("a column has another number of rows than its output");
            nodes += whole.nodes;
            buffers += whole.buffers;
        } else {
            array = gm_take(column_of(harness, plan, &column->source, input), to->rows, from->rows);
            array.field = &column->field;
        }
        LIST_PUSH(to->table.columns, array);
    }
    return nodes == nodes_end && buffers == buffers_end ? NULL : contract("the output has more columns than the plan");
}

static const char *take_outputs(const gm_harness *harness, const gm_plan *plan, const abi_processed *processed,
                                const gm_table *input, gm_run *run) {
    if (processed->outputs.len != plan->outputs.len) return contract("the outputs are not those of the plan");
    for (uint32_t i = 0; i < plan->outputs.len; i++) {
        const output_plan *planned = &plan->outputs.items[i];
        const abi_output *from = &processed->outputs.data[i];
        run_output to = {.name = planned->name};
        const char *wrong = take_rows(harness, processed, from, input->rows, &to);
        if (!wrong) wrong = take_columns(harness, plan, planned, from, input, &to);
        if (wrong) return wrong;
        LIST_PUSH(run->outputs, to);
    }
    return NULL;
}

static const char *failure_text(abi_failure failure) {
    return gm_concat(gm_copy(failure.code), ": ", gm_copy(failure.message), NULL);
}

static const char *run_once(const gm_harness *harness, const gm_transform *transform, const gm_table *input,
                            gm_run *run) {
    abi_setup setup = setup_of(harness, input);
    const abi_plan_result *planned = gm_contract_plan(transform, &setup);
    if (planned->is_failure) return failure_text(planned->failure);
    void *state;
    const gm_plan *plan = gm_plan_make(transform, &setup, &state);
    run->columns_read = plan->reads.len;
    abi_batch batch = batch_of(harness, plan, input);
    const abi_process_result *result = gm_contract_process(transform, &setup, &batch);
    if (result->is_failure) return failure_text(result->failure);
    run->processed = &result->processed;
    return take_outputs(harness, plan, run->processed, input, run);
}

static jmp_buf trapped;
static const char *trap_message;

static void on_trap(const char *message) {
    trap_message = gm_concat("trap: ", message, NULL);
    longjmp(trapped, 1);
}

const gm_run *gm_harness_run(gm_harness *harness, const gm_transform *transform, const gm_table *input) {
    gm_run *run = gm_alloc(sizeof *run);
    *run = (gm_run){0};
    if (harness->operations && strlen(harness->operations) != input->rows)
        gm_test_fail("operations and input rows differ in number");
    gm_on_trap = on_trap;
    if (setjmp(trapped))
        run->failure = trap_message;
    else
        run->failure = run_once(harness, transform, input, run);
    gm_on_trap = NULL;
    return run;
}

const char *gm_run_failure(const gm_run *run) { return run->failure; }

static const run_output *output_named(const gm_run *run, const char *name) {
    for (uint32_t i = 0; i < run->outputs.len; i++)
        if (strcmp(run->outputs.items[i].name, name) == 0) return &run->outputs.items[i];
    gm_test_fail(gm_concat("there is no output ", name, NULL));
}

const char *gm_run_output(const gm_run *run, const char *output) {
    return run->failure ? run->failure : gm_table_text(&output_named(run, output)->table);
}

const char *gm_run_selection(const gm_run *run, const char *name) {
    if (run->failure) return run->failure;
    const run_output *output = output_named(run, name);
    text_buffer text = {0};
    for (uint32_t i = 0; i < output->table.rows; i++) {
        if (i) gm_put_cstr(&text, " ");
        gm_put_cstr(&text, gm_uint_text(output->rows[i]));
    }
    return gm_buffer_text(&text);
}

const char *gm_run_operations(const gm_run *run, const char *name) {
    if (run->failure) return run->failure;
    const run_output *output = output_named(run, name);
    text_buffer text = {0};
    for (uint32_t i = 0; i < output->table.rows; i++) LIST_PUSH(text, "iud"[output->operations[i]]);
    return gm_buffer_text(&text);
}

const char *gm_run_rejects(const gm_run *run) {
    if (run->failure) return run->failure;
    text_buffer text = {0};
    for (uint32_t i = 0; i < run->processed->rejects.len; i++) {
        const abi_reject *reject = &run->processed->rejects.data[i];
        gm_put_cstr(&text, gm_concat(gm_uint_text(reject->row), " ", gm_copy(reject->code), NULL));
        if (reject->field.is_some) gm_put_cstr(&text, gm_concat(" ", gm_copy(reject->field.some), NULL));
        gm_put_cstr(&text, "\n");
    }
    return gm_buffer_text(&text);
}

const char *gm_run_messages(const gm_run *run) {
    if (run->failure) return run->failure;
    text_buffer text = {0};
    for (uint32_t i = 0; i < run->processed->messages.len; i++)
        gm_put_cstr(&text, gm_concat(gm_copy(run->processed->messages.data[i]), "\n", NULL));
    return gm_buffer_text(&text);
}

uint32_t gm_run_columns_read(const gm_run *run) { return run->columns_read; }
