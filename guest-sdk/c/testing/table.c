// Tables from CSV.
#include "table.h"

#include <stdlib.h>
#include <string.h>

const gm_array *gm_table_column(const gm_table *table, const char *name) {
    for (uint32_t i = 0; i < table->columns.len; i++)
        if (strcmp(table->columns.items[i].field->name, name) == 0) return &table->columns.items[i];
    return NULL;
}

gm_array gm_array_of_builder(gm_builder *builder) {
    layout whole = gm_layout(&builder->field->type);
    gm_node *nodes = gm_alloc(sizeof(gm_node) * whole.nodes), *next_node = nodes;
    gm_bytes *buffers = gm_alloc(sizeof(gm_bytes) * whole.buffers), *next_buffer = buffers;
    gm_builder_finish(builder, &next_node, &next_buffer);
    return gm_array_of(builder->field, nodes, buffers);
}

gm_array gm_take(gm_array array, const uint32_t *rows, uint32_t count) {
    gm_builder *builder = gm_alloc(sizeof *builder);
    gm_builder_init(builder, array.field, count);
    gm_push_rows(builder, array, rows, count);
    return gm_array_of_builder(builder);
}

static _Noreturn void unfit(const gm_field *field, const char *text) {
    gm_test_fail(gm_concat("`", text, "` is no ", gm_type_text(&field->type), " (column ", field->name, ")", NULL));
}

static void push_hex(gm_builder *builder, const char *text) {
    size_t len = strlen(text) / 2;
    uint8_t *bytes = gm_alloc(len);
    for (size_t i = 0; i < len; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], 0}, *end;
        bytes[i] = (uint8_t)strtoul(pair, &end, 16);
        if (*end) unfit(builder->field, text);
    }
    gm_bytes_push(gm_bytes_builder_of(builder), (gm_bytes){bytes, (uint32_t)len});
}

static int64_t int_of(gm_builder *builder, const char *text, int64_t min, int64_t max) {
    int64_t value;
    if (!gm_parse_int(gm_text_from(text), &value) || value < min || value > max) unfit(builder->field, text);
    return value;
}

static double float_of(gm_builder *builder, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (*end || !*text) unfit(builder->field, text);
    return value;
}

static gm_int128 decimal_of(gm_builder *builder, const char *text) {
    gm_int128 value;
    if (!gm_parse_decimal(gm_text_from(text), builder->field->type.scale, &value)) unfit(builder->field, text);
    return value;
}

static int32_t date_of(gm_builder *builder, const char *text) {
    int32_t days;
    if (!gm_parse_date(gm_text_from(text), &days)) unfit(builder->field, text);
    return days;
}

static void push_json(gm_builder *builder, const gm_json *json);

static void push_nested(gm_builder *builder, const gm_json *json) {
    if (json->kind != GM_JSON_ARRAY) unfit(builder->field, "a value that is no array");
    bool is_struct = builder->field->type.kind == GM_STRUCT;
    if (is_struct && json->count != builder->field->type.child_count)
        unfit(builder->field, "an array of another number of members");
    for (uint32_t i = 0; i < json->count; i++)
        push_json(gm_child_builder(builder, is_struct ? i : 0), &json->items[i]);
    gm_end_value(builder);
}

static void push_text(gm_builder *builder, const char *text) {
    switch (builder->field->type.kind) {
        case GM_NULL: gm_push_null(builder); break;
        case GM_BOOLEAN:
            if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) unfit(builder->field, text);
            gm_bool_push(gm_bool_builder_of(builder), *text == 't');
            break;
        case GM_INT8: gm_int8_push((gm_int8_builder *)builder, (int8_t)int_of(builder, text, INT8_MIN, INT8_MAX)); break;
        case GM_INT16:
            gm_int16_push((gm_int16_builder *)builder, (int16_t)int_of(builder, text, INT16_MIN, INT16_MAX));
            break;
        case GM_INT32:
        case GM_TIME32:
            gm_int32_push((gm_int32_builder *)builder, (int32_t)int_of(builder, text, INT32_MIN, INT32_MAX));
            break;
        case GM_DATE32: gm_int32_push((gm_int32_builder *)builder, date_of(builder, text)); break;
        case GM_INT64:
        case GM_DATE64:
        case GM_TIME64:
        case GM_TIMESTAMP:
        case GM_DURATION:
            gm_int64_push((gm_int64_builder *)builder, int_of(builder, text, INT64_MIN, INT64_MAX));
            break;
        case GM_UINT8: gm_uint8_push((gm_uint8_builder *)builder, (uint8_t)int_of(builder, text, 0, UINT8_MAX)); break;
        case GM_UINT16:
            gm_uint16_push((gm_uint16_builder *)builder, (uint16_t)int_of(builder, text, 0, UINT16_MAX));
            break;
        case GM_UINT32:
            gm_uint32_push((gm_uint32_builder *)builder, (uint32_t)int_of(builder, text, 0, UINT32_MAX));
            break;
        case GM_UINT64:
            gm_uint64_push((gm_uint64_builder *)builder, (uint64_t)int_of(builder, text, 0, INT64_MAX));
            break;
        case GM_FLOAT16:
            gm_float16_push((gm_float16_builder *)builder, gm_float16_from_float((float)float_of(builder, text)));
            break;
        case GM_FLOAT32: gm_float32_push((gm_float32_builder *)builder, (float)float_of(builder, text)); break;
        case GM_FLOAT64: gm_float64_push((gm_float64_builder *)builder, float_of(builder, text)); break;
        case GM_DECIMAL128: gm_decimal128_push((gm_decimal128_builder *)builder, decimal_of(builder, text)); break;
        case GM_DECIMAL256:
            gm_decimal256_push((gm_decimal256_builder *)builder, gm_int256_from(decimal_of(builder, text)));
            break;
        case GM_UTF8:
        case GM_LARGE_UTF8: gm_text_push((gm_text_builder *)builder, gm_text_from(text)); break;
        case GM_BINARY:
        case GM_LARGE_BINARY:
        case GM_FIXED_SIZE_BINARY: push_hex(builder, text); break;
        default: {
            const char *problem;
            const gm_json *json = gm_json_parse(gm_text_from(text), &problem);
            if (!json) unfit(builder->field, problem);
            push_nested(builder, json);
        }
    }
}

static void push_json(gm_builder *builder, const gm_json *json) {
    switch (json->kind) {
        case GM_JSON_NULL: gm_push_null(builder); break;
        case GM_JSON_BOOL: push_text(builder, json->boolean ? "true" : "false"); break;
        case GM_JSON_NUMBER:
        case GM_JSON_TEXT: push_text(builder, gm_copy(json->text)); break;
        default: push_nested(builder, json);
    }
}

static int depth_change(char c) {
    if (c && strchr("[{(<", c)) return 1;
    return c && strchr("]})>", c) ? -1 : 0;
}

/// Reads a cell and the separator after it. `quoted` says whether an empty one is a text. Commas between brackets belong
/// to the cell if it `nests`.
static const char *cell(const char **at, bool nests, bool *quoted, bool *last) {
    text_buffer text = {0};
    *quoted = **at == '"';
    int depth = 0;
    bool in_quotes = false;
    for (;; ++*at) {
        char c = **at;
        if (!c || (c == '\n' && !in_quotes)) break;
        if (*quoted && c == '"') {
            if (in_quotes && (*at)[1] == '"') {
                LIST_PUSH(text, c);
                ++*at;
            } else {
                in_quotes = !in_quotes;
            }
            continue;
        }
        if (nests && !*quoted) {
            if (c == '"' && (*at)[-1] != '\\') in_quotes = !in_quotes;
            if (!in_quotes) depth += depth_change(c);
        }
        if (c == ',' && !in_quotes && depth == 0) break;
        LIST_PUSH(text, c);
    }
    *last = **at != ',';
    if (**at) ++*at;
    return gm_buffer_text(&text);
}

static gm_field *header_field(const char *text) {
    gm_field *field = gm_alloc(sizeof *field);
    const char *colon = strchr(text, ':');
    *field = gm_nullable(text, gm_utf8());
    if (!colon) return field;
    field->name = gm_copy((gm_text){text, (uint32_t)(colon - text)});
    const char *at = colon + 1;
    field->type = gm_parse_type(&at);
    field->nullable = strcmp(at, " not null") != 0;
    if (field->nullable && *at) gm_test_fail(gm_concat("`", at, "` follows a type", NULL));
    return field;
}

gm_table *gm_table_csv(const char *csv) {
    LIST(gm_builder *) builders = {0};
    bool quoted, last = false;
    while (!last) {
        gm_builder *builder = gm_alloc(sizeof *builder);
        gm_builder_init(builder, header_field(cell(&csv, true, &quoted, &last)), 8);
        LIST_PUSH(builders, builder);
    }
    gm_table *table = gm_alloc(sizeof *table);
    *table = (gm_table){0};
    for (; *csv; table->rows++) {
        last = false;
        for (uint32_t i = 0; i < builders.len; i++) {
            if (last) gm_test_fail(gm_concat("row ", gm_uint_text(table->rows), " has too few cells", NULL));
            gm_builder *builder = builders.items[i];
            const char *text = cell(&csv, builder->field->type.child_count > 0, &quoted, &last);
            if (!*text && !quoted)
                gm_push_null(builder);
            else
                push_text(builder, text);
        }
        if (!last) gm_test_fail(gm_concat("row ", gm_uint_text(table->rows), " has too many cells", NULL));
    }
    for (uint32_t i = 0; i < builders.len; i++) LIST_PUSH(table->columns, gm_array_of_builder(builders.items[i]));
    return table;
}
