// Values as texts.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

void gm_put_cstr(text_buffer *to, const char *text) {
    for (; *text; text++) LIST_PUSH(*to, *text);
}

const char *gm_buffer_text(text_buffer *from) { return gm_copy((gm_text){from->items, from->len}); }

static void put_int(text_buffer *to, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    gm_put_cstr(to, text);
}

static void put_float(text_buffer *to, double value) {
    char text[40];
    // As few digits as say the value.
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    gm_put_cstr(to, isnan(value) ? "NaN" : text);
}

static void put_decimal(text_buffer *to, gm_int128 value, int scale) {
    gm_field field = gm_nullable("", gm_utf8());
    gm_builder builder;
    gm_builder_init(&builder, &field, 1);
    gm_text_builder *text = gm_text_builder_of(&builder);
    gm_text_append_decimal(text, value, scale);
    gm_put_cstr(to, gm_copy((gm_text){(const char *)builder.data, builder.data_len}));
}

static void put_decimal256(text_buffer *to, gm_int256 value, int scale) {
    gm_int128 narrow;
    if (gm_int256_to_int128(value, &narrow)) {
        put_decimal(to, narrow, scale);
        return;
    }
    gm_put_cstr(to, "0x");
    char text[20];
    for (int i = 3; i >= 0; i--) {
        snprintf(text, sizeof text, "%016llx", (unsigned long long)value.words[i]);
        gm_put_cstr(to, text);
    }
}

static void put_date(text_buffer *to, int32_t days) {
    gm_date date = gm_date_from_days(days);
    char text[32];
    snprintf(text, sizeof text, "%04d-%02u-%02u", date.year, date.month, date.day);
    gm_put_cstr(to, text);
}

static void put_hex(text_buffer *to, gm_bytes bytes) {
    for (uint32_t i = 0; i < bytes.len; i++) {
        char text[3];
        snprintf(text, sizeof text, "%02x", bytes.data[i]);
        gm_put_cstr(to, text);
    }
}

static void put_items(text_buffer *to, gm_array items, gm_range range) {
    gm_put_cstr(to, "[");
    for (uint32_t i = range.start; i < range.end; i++) {
        if (i > range.start) gm_put_cstr(to, ", ");
        gm_put_value(to, items, i);
    }
    gm_put_cstr(to, "]");
}

static void put_struct(text_buffer *to, gm_array array, uint32_t row) {
    gm_put_cstr(to, "{");
    for (uint32_t i = 0; i < array.field->type.child_count; i++) {
        if (i) gm_put_cstr(to, ", ");
        gm_put_value(to, gm_child(array, i), row);
    }
    gm_put_cstr(to, "}");
}

void gm_put_value(text_buffer *to, gm_array array, uint32_t row) {
    const gm_type *type = &array.field->type;
    if (gm_is_null(array, row)) {
        gm_put_cstr(to, "null");
        return;
    }
    switch (type->kind) {
        case GM_NULL: break;
        case GM_BOOLEAN: gm_put_cstr(to, gm_bool_at(gm_bool_of(array), row) ? "true" : "false"); break;
        case GM_INT8: put_int(to, gm_int8_at(gm_int8_of(array), row)); break;
        case GM_INT16: put_int(to, gm_int16_at(gm_int16_of(array), row)); break;
        case GM_INT32:
        case GM_TIME32: put_int(to, gm_int32_at(gm_int32_of(array), row)); break;
        case GM_DATE32: put_date(to, gm_int32_at(gm_int32_of(array), row)); break;
        case GM_INT64:
        case GM_DATE64:
        case GM_TIME64:
        case GM_TIMESTAMP:
        case GM_DURATION: put_int(to, gm_int64_at(gm_int64_of(array), row)); break;
        case GM_UINT8: put_int(to, gm_uint8_at(gm_uint8_of(array), row)); break;
        case GM_UINT16: put_int(to, gm_uint16_at(gm_uint16_of(array), row)); break;
        case GM_UINT32: put_int(to, gm_uint32_at(gm_uint32_of(array), row)); break;
        case GM_UINT64: gm_put_cstr(to, gm_uint_text(gm_uint64_at(gm_uint64_of(array), row))); break;
        case GM_FLOAT16: put_float(to, gm_float16_to_float(gm_float16_at(gm_float16_of(array), row))); break;
        case GM_FLOAT32: put_float(to, gm_float32_at(gm_float32_of(array), row)); break;
        case GM_FLOAT64: put_float(to, gm_float64_at(gm_float64_of(array), row)); break;
        case GM_DECIMAL128: put_decimal(to, gm_decimal128_at(gm_decimal128_of(array), row), type->scale); break;
        case GM_DECIMAL256: put_decimal256(to, gm_decimal256_at(gm_decimal256_of(array), row), type->scale); break;
        case GM_UTF8:
        case GM_LARGE_UTF8: gm_put_cstr(to, gm_copy(gm_text_at(gm_text_of(array), row))); break;
        case GM_BINARY:
        case GM_LARGE_BINARY:
        case GM_FIXED_SIZE_BINARY: put_hex(to, gm_bytes_at(gm_bytes_of(array), row)); break;
        case GM_LIST:
        case GM_LARGE_LIST:
        case GM_FIXED_SIZE_LIST:
        case GM_MAP: put_items(to, gm_child(array, 0), gm_list_at(gm_list_of(array), row)); break;
        case GM_STRUCT: put_struct(to, array, row); break;
    }
}

const char *gm_table_text(const gm_table *table) {
    text_buffer text = {0};
    for (uint32_t i = 0; i < table->columns.len; i++) {
        if (i) gm_put_cstr(&text, " | ");
        gm_put_cstr(&text, table->columns.items[i].field->name);
    }
    gm_put_cstr(&text, "\n");
    for (uint32_t row = 0; row < table->rows; row++) {
        for (uint32_t i = 0; i < table->columns.len; i++) {
            if (i) gm_put_cstr(&text, " | ");
            gm_put_value(&text, table->columns.items[i], row);
        }
        gm_put_cstr(&text, "\n");
    }
    return gm_buffer_text(&text);
}
