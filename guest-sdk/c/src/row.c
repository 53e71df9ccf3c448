// The row view.
#include "gristmill/row.h"

#include <string.h>

#include "internal.h"

typedef struct {
    const char *name;
    gm_array array;
    /// For texts and byte strings.
    gm_bytes_column bytes;
} cells;

struct gm_row_output {
    gm_row *row;
    output *to;
    /// Output rows before the input row in hand.
    uint32_t before;
    /// Output rows begun.
    uint32_t begun;
    bool operated;
    /// The column set after the last one: rows set the same columns in the same order.
    uint32_t next;
};

struct gm_row {
    uint32_t index;
    cells *cells;
    uint32_t cell_count, next;
    gm_row_output *outputs;
    uint32_t output_count;
    struct {
        const char *code, *field, *message;
    } reject;
};

uint32_t gm_row_index(const gm_row *row) { return row->index; }

void gm_row_reject(gm_row *row, const char *code, const char *column, const char *message) {
    if (row->reject.code) return;
    row->reject.code = code;
    row->reject.field = column;
    row->reject.message = message;
}

bool gm_row_rejected(const gm_row *row) { return row->reject.code != NULL; }

static const cells *cells_named(gm_row *row, const char *column) {
    for (uint32_t i = 0; i < row->cell_count; i++) {
        uint32_t place = row->next + i;
        if (place >= row->cell_count) place -= row->cell_count;
        if (strcmp(row->cells[place].name, column) != 0) continue;
        row->next = place + 1 < row->cell_count ? place + 1 : 0;
        return &row->cells[place];
    }
    gm_row_reject(row, "wrong-type", column, "the transform's plan does not read this column");
    return NULL;
}

bool gm_row_has(gm_row *row, const char *column) {
    const cells *cells = cells_named(row, column);
    return cells && !gm_is_null(cells->array, row->index);
}

/// The cells of a column of one of these kinds, not null in this row; else NULL and a reject.
static const cells *wanted(gm_row *row, const char *column, uint32_t kinds, const char *message) {
    const cells *cells = cells_named(row, column);
    if (!cells) return NULL;
    if (!(GM_KIND_BIT(cells->array.field->type.kind) & kinds)) {
        gm_row_reject(row, "wrong-type", column, message);
        return NULL;
    }
    if (gm_is_null(cells->array, row->index)) {
        gm_row_reject(row, "missing-value", column, "the value is null");
        return NULL;
    }
    return cells;
}

gm_bytes gm_row_bytes(gm_row *row, const char *column) {
    const cells *of =
        wanted(row, column, GM_KINDS_OF_TEXT | GM_KINDS_OF_BYTES, "the column does not hold a byte string");
    return of ? gm_bytes_at(of->bytes, row->index) : (gm_bytes){(const uint8_t *)"", 0};
}

gm_text gm_row_text(gm_row *row, const char *column) {
    const cells *of = wanted(row, column, GM_KINDS_OF_TEXT, "the column does not hold a text");
    if (!of) return GM_TEXT("");
    gm_bytes bytes = gm_bytes_at(of->bytes, row->index);
    return (gm_text){(const char *)bytes.data, bytes.len};
}

bool gm_row_bool(gm_row *row, const char *column) {
    const cells *of = wanted(row, column, GM_KIND_BIT(GM_BOOLEAN), "the column does not hold a boolean");
    return of && gm_bool_at(gm_bool_of(of->array), row->index);
}

#define KINDS_OF_INTEGERS                                                                                        \
    (GM_KINDS_OF_INT32 | GM_KINDS_OF_INT64 | GM_KIND_BIT(GM_INT8) | GM_KIND_BIT(GM_INT16) |                      \
     GM_KIND_BIT(GM_UINT8) | GM_KIND_BIT(GM_UINT16) | GM_KIND_BIT(GM_UINT32) | GM_KIND_BIT(GM_UINT64))

static gm_int128 integer_of(const cells *of, uint32_t index) {
    const void *values = of->array.buffers[1].data;
    switch (of->array.field->type.kind) {
        case GM_INT8: return ((const int8_t *)values)[index];
        case GM_INT16: return ((const int16_t *)values)[index];
        case GM_UINT8: return ((const uint8_t *)values)[index];
        case GM_UINT16: return ((const uint16_t *)values)[index];
        case GM_UINT32: return ((const uint32_t *)values)[index];
        case GM_UINT64: return ((const uint64_t *)values)[index];
        default: break;
    }
    bool narrow = GM_KIND_BIT(of->array.field->type.kind) & GM_KINDS_OF_INT32;
    return narrow ? ((const int32_t *)values)[index] : ((const int64_t *)values)[index];
}

int64_t gm_row_int(gm_row *row, const char *column) {
    const char *message = "the column does not hold an integer of 64 bits";
    const cells *of = wanted(row, column, KINDS_OF_INTEGERS, message);
    if (!of) return 0;
    gm_int128 value = integer_of(of, row->index);
    if (value > INT64_MAX) {
        gm_row_reject(row, "wrong-type", column, message);
        return 0;
    }
    return (int64_t)value;
}

double gm_row_float(gm_row *row, const char *column) {
    uint32_t floats = GM_KIND_BIT(GM_FLOAT16) | GM_KIND_BIT(GM_FLOAT32) | GM_KIND_BIT(GM_FLOAT64);
    const cells *of = wanted(row, column, floats | KINDS_OF_INTEGERS, "the column does not hold a number");
    if (!of) return 0;
    const void *values = of->array.buffers[1].data;
    switch (of->array.field->type.kind) {
        case GM_FLOAT16: return gm_float16_to_float(((const uint16_t *)values)[row->index]);
        case GM_FLOAT32: return ((const float *)values)[row->index];
        case GM_FLOAT64: return ((const double *)values)[row->index];
        default: return (double)integer_of(of, row->index);
    }
}

gm_int128 gm_row_decimal(gm_row *row, const char *column) {
    const char *message = "the column does not hold a decimal of 128 bits";
    const cells *of = wanted(row, column, GM_KIND_BIT(GM_DECIMAL128) | GM_KIND_BIT(GM_DECIMAL256), message);
    if (!of) return 0;
    const void *values = of->array.buffers[1].data;
    if (of->array.field->type.kind == GM_DECIMAL128) return ((const gm_int128 *)values)[row->index];
    gm_int128 value = 0;
    if (!gm_int256_to_int128(((const gm_int256 *)values)[row->index], &value))
        gm_row_reject(row, "wrong-type", column, message);
    return value;
}

static void mixed_operations(gm_row *row) {
    gm_row_reject(row, "mixed-operations", NULL, "some rows of this output set their operation and some do not");
}

/// Ends the output row in hand: cells not set become null.
static void end_row(gm_row_output *out) {
    output *to = out->to;
    if (out->begun == to->selection.len) return;
    for (uint32_t i = 0; i < to->plan->computed; i++) {
        gm_builder *builder = &to->builders[i];
        if (builder->len == out->begun) continue;
        if (!builder->field->nullable)
            gm_row_reject(out->row, "missing-value", builder->field->name, "the value is null");
        gm_push_null(builder);
    }
    gm_select(&to->selection, out->row->index);
    if (to->selection.operated && !out->operated) mixed_operations(out->row);
    out->operated = false;
}

gm_row_output *gm_row_out(gm_row *row, gm_output place) {
    if (place.place >= row->output_count) gm_trap_handle_is_of_no_plan();
    gm_row_output *out = &row->outputs[place.place];
    end_row(out);
    out->begun++;
    out->next = 0;
    return out;
}

/// The builder of the column, unless it has its value already or cannot take one of these kinds.
static gm_builder *settable(gm_row_output *out, const char *column, uint32_t kinds) {
    uint32_t count = out->to->plan->computed;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = out->next + i;
        if (place >= count) place -= count;
        gm_builder *builder = &out->to->builders[place];
        if (strcmp(builder->field->name, column) != 0) continue;
        out->next = place + 1;
        if (builder->len == out->begun) return NULL;
        if (GM_KIND_BIT(builder->field->type.kind) & kinds) return builder;
        gm_row_reject(out->row, "wrong-type", column, "the value is of another sort than the output column");
        return NULL;
    }
    gm_row_reject(out->row, "wrong-type", column, "the transform's plan does not compute this column");
    return NULL;
}

static void does_not_fit(gm_row_output *out, const char *column) {
    gm_row_reject(out->row, "out-of-range", column, "the output column cannot hold the value");
}

void gm_put_text(gm_row_output *out, const char *column, gm_text value) {
    gm_builder *builder = settable(out, column, GM_KINDS_OF_TEXT);
    if (builder) gm_text_push((gm_text_builder *)builder, value);
}

void gm_put_bytes(gm_row_output *out, const char *column, gm_bytes value) {
    gm_builder *builder = settable(out, column, GM_KINDS_OF_BYTES);
    if (!builder) return;
    if (builder->field->type.kind == GM_FIXED_SIZE_BINARY && builder->field->type.size != value.len)
        does_not_fit(out, column);
    else
        gm_bytes_push((gm_bytes_builder *)builder, value);
}

void gm_put_bool(gm_row_output *out, const char *column, bool value) {
    gm_builder *builder = settable(out, column, GM_KIND_BIT(GM_BOOLEAN));
    if (builder) gm_bool_push((gm_bool_builder *)builder, value);
}

#define PUT_IF_IT_FITS(name, min, max)                                          \
    if (value < (min) || value > (max))                                         \
        does_not_fit(out, column);                                              \
    else                                                                        \
        gm_##name##_push((gm_##name##_builder *)builder, (name##_t)value);      \
    break;

void gm_put_int(gm_row_output *out, const char *column, int64_t value) {
    gm_builder *builder = settable(out, column, KINDS_OF_INTEGERS);
    if (!builder) return;
    switch (builder->field->type.kind) {
        case GM_INT8: PUT_IF_IT_FITS(int8, INT8_MIN, INT8_MAX)
        case GM_INT16: PUT_IF_IT_FITS(int16, INT16_MIN, INT16_MAX)
        case GM_INT32:
        case GM_DATE32:
        case GM_TIME32: PUT_IF_IT_FITS(int32, INT32_MIN, INT32_MAX)
        case GM_UINT8: PUT_IF_IT_FITS(uint8, 0, UINT8_MAX)
        case GM_UINT16: PUT_IF_IT_FITS(uint16, 0, UINT16_MAX)
        case GM_UINT32: PUT_IF_IT_FITS(uint32, 0, UINT32_MAX)
        case GM_UINT64: PUT_IF_IT_FITS(uint64, 0, INT64_MAX)
        default: gm_int64_push((gm_int64_builder *)builder, value);
    }
}

void gm_put_float(gm_row_output *out, const char *column, double value) {
    uint32_t floats = GM_KIND_BIT(GM_FLOAT16) | GM_KIND_BIT(GM_FLOAT32) | GM_KIND_BIT(GM_FLOAT64);
    gm_builder *builder = settable(out, column, floats);
    if (!builder) return;
    switch (builder->field->type.kind) {
        case GM_FLOAT16: gm_float16_push((gm_float16_builder *)builder, gm_float16_from_float((float)value)); break;
        case GM_FLOAT32: gm_float32_push((gm_float32_builder *)builder, (float)value); break;
        default: gm_float64_push((gm_float64_builder *)builder, value);
    }
}

void gm_put_decimal(gm_row_output *out, const char *column, gm_int128 value) {
    gm_builder *builder = settable(out, column, GM_KIND_BIT(GM_DECIMAL128) | GM_KIND_BIT(GM_DECIMAL256));
    if (!builder) return;
    if (builder->field->type.kind == GM_DECIMAL128)
        gm_decimal128_push((gm_decimal128_builder *)builder, value);
    else
        gm_decimal256_push((gm_decimal256_builder *)builder, gm_int256_from(value));
}

void gm_put_null(gm_row_output *out, const char *column) {
    gm_builder *builder = settable(out, column, UINT32_MAX);
    if (!builder) return;
    if (!builder->field->nullable) gm_row_reject(out->row, "missing-value", column, "the value is null");
    gm_push_null(builder);
}

void gm_put_operation(gm_row_output *out, gm_operation operation) {
    gm_selection *selection = &out->to->selection;
    uint32_t place = out->begun - 1;
    if (selection->operated != place) {
        if (!out->operated) mixed_operations(out->row);
        return;
    }
    if (selection->len == selection->capacity) gm_selection_grow(selection);
    if (!selection->operations) selection->operations = gm_alloc(selection->capacity);
    selection->operations[selection->operated++] = (uint8_t)operation;
    out->operated = true;
}

static void take_back(gm_row *row) {
    for (uint32_t i = 0; i < row->output_count; i++) {
        gm_row_output *out = &row->outputs[i];
        gm_selection *selection = &out->to->selection;
        for (uint32_t k = 0; k < out->to->plan->computed; k++) gm_truncate(&out->to->builders[k], out->before);
        selection->len = out->before;
        selection->operated = MIN(selection->operated, out->before);
        out->begun = out->before;
        out->operated = false;
    }
}

static bool fail_if_nested(gm_outputs *outputs, const gm_field *field) {
    if (!field->type.child_count) return false;
    gm_fail_call(outputs, "wrong-type",
                 gm_concat("column `", field->name, "` is ", gm_type_text(&field->type),
                           ": nested columns have no row view", NULL));
    return true;
}

static const char *name_of(const gm_plan *plan, const read_column *read) {
    if (read->source.kind != ABI_SOURCE_LOOKUP) return read->field.name;
    return gm_concat(plan->lookups.items[read->source.lookup].dictionary, ".", read->field.name, NULL);
}

void gm_rows_process(const gm_transform *transform, const gm_plan *plan, const gm_batch *batch, gm_outputs *outputs,
                     const void *state) {
    gm_row row = {.cell_count = plan->reads.len, .output_count = plan->outputs.len};
    row.cells = gm_alloc(sizeof(cells) * row.cell_count);
    for (uint32_t i = 0; i < row.cell_count; i++) {
        gm_array array = batch->columns[i];
        if (fail_if_nested(outputs, array.field)) return;
        row.cells[i] = (cells){.name = name_of(plan, &plan->reads.items[i]), .array = array};
        if (GM_KIND_BIT(array.field->type.kind) & (GM_KINDS_OF_TEXT | GM_KINDS_OF_BYTES))
            row.cells[i].bytes = gm_bytes_of(array);
    }
    row.outputs = gm_alloc(sizeof(gm_row_output) * row.output_count);
    for (uint32_t i = 0; i < row.output_count; i++) {
        output *to = &outputs->outputs[i];
        to->selected = true;
        row.outputs[i] = (gm_row_output){.row = &row, .to = to};
        for (uint32_t k = 0; k < to->plan->computed; k++)
            if (fail_if_nested(outputs, to->builders[k].field)) return;
    }
    for (row.index = 0; row.index < batch->rows; row.index++) {
        for (uint32_t i = 0; i < row.output_count; i++) row.outputs[i].before = outputs->outputs[i].selection.len;
        row.reject.code = NULL;
        transform->row(&row, state);
        for (uint32_t i = 0; i < row.output_count; i++) end_row(&row.outputs[i]);
        if (!row.reject.code) continue;
        take_back(&row);
        gm_reject(outputs, row.index, row.reject.code, row.reject.field, row.reject.message);
    }
}
