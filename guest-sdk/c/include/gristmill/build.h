/// Builders of computed columns.
///
/// For each type NAME there are:
///
///     gm_NAME_builder *gm_NAME_out(gm_outputs *outputs, gm_out column);
///     gm_NAME_builder *gm_NAME_builder_of(gm_builder *builder);
///     void gm_NAME_push(gm_NAME_builder *builder, VALUE value);
///     void gm_NAME_push_null(gm_NAME_builder *builder);
///
/// Names, values and kinds are those of column.h. A builder belongs to its column: there is no step that hands it over.
///
/// Fixed-width ones have `VALUE *gm_NAME_extend(builder, count)`: that many more values, none of them null, for the caller
/// to fill.
#ifndef GRISTMILL_BUILD_H
#define GRISTMILL_BUILD_H

#include <string.h>

#include "column.h"

typedef struct gm_outputs gm_outputs;

/// A column of any type in the making. Read `len` and `nulls`; leave the rest to the functions.
typedef struct gm_builder gm_builder;
struct gm_builder {
    const gm_field *field;
    uint32_t len, nulls;
    /// Values that there is room for.
    uint32_t capacity;
    /// How many rows the output may have, as far as is known: the first allocation.
    uint32_t expected;
    /// NULL until the first null.
    uint8_t *valid;
    /// Values of fixed width, or bits.
    void *values;
    /// Where each value starts in `data` or in the items, and where the last one ends.
    uint32_t *offsets;
    uint8_t *data;
    uint32_t data_len, data_capacity;
    gm_builder *children;
    /// A whole column that takes the place of what was pushed.
    const gm_array *given;
};

gm_builder *gm_any_out(gm_outputs *outputs, gm_out column);
void gm_push_null(gm_builder *builder);
/// These rows of a column of the same type, in this order.
void gm_push_rows(gm_builder *builder, gm_array array, const uint32_t *rows, uint32_t count);
/// Hands a whole column of the same type back as it came, without a copy.
void gm_give(gm_outputs *outputs, gm_out column, gm_array array);

/// Makes the values null whose rows of `array` are null: value i where row `rows[i]` is, or row i without `rows`. For columns
/// that were filled in one go with `gm_NAME_extend`.
void gm_take_nulls(gm_builder *builder, gm_array array, const uint32_t *rows);

/// The builder of a list's items, of a struct's member, or of a map's entries, which are structs of key and value.
gm_builder *gm_child_builder(gm_builder *nested, uint32_t place);
/// Ends the value in hand of a nested column: what was pushed to its children since the last one. Traps where a struct's
/// members did not get one value each, or a fixed-size list not its number of items.
void gm_end_value(gm_builder *nested);

/// Cuts the column back to its first values.
void gm_truncate(gm_builder *builder, uint32_t len);

// For the functions below.
void gm_grow(gm_builder *builder, uint32_t more);
void gm_grow_data(gm_builder *builder, uint32_t more);
gm_builder *gm_expect_kind(gm_builder *builder, uint32_t kinds, const char *wanted);

#define GM_BUILDER(name, kinds)                                                                                  \
    typedef struct {                                                                                             \
        gm_builder base;                                                                                         \
    } gm_##name##_builder;                                                                                       \
    static inline gm_##name##_builder *gm_##name##_builder_of(gm_builder *builder) {                             \
        return (gm_##name##_builder *)gm_expect_kind(builder, kinds, #name);                                     \
    }                                                                                                            \
    static inline gm_##name##_builder *gm_##name##_out(gm_outputs *outputs, gm_out column) {                     \
        return gm_##name##_builder_of(gm_any_out(outputs, column));                                              \
    }                                                                                                            \
    static inline void gm_##name##_push_null(gm_##name##_builder *builder) { gm_push_null(&builder->base); }

#define GM_FIXED_BUILDER(name, value_type, kinds)                                                                \
    GM_BUILDER(name, kinds)                                                                                      \
    static inline void gm_##name##_push(gm_##name##_builder *builder, value_type value) {                        \
        if (__builtin_expect(builder->base.len == builder->base.capacity, false)) gm_grow(&builder->base, 1);    \
        ((value_type *)builder->base.values)[builder->base.len++] = value;                                       \
    }                                                                                                            \
    static inline value_type *gm_##name##_extend(gm_##name##_builder *builder, uint32_t count) {                 \
        if (builder->base.capacity - builder->base.len < count) gm_grow(&builder->base, count);                  \
        value_type *values = (value_type *)builder->base.values + builder->base.len;                             \
        builder->base.len += count;                                                                              \
        return values;                                                                                           \
    }

GM_FIXED_BUILDER(int8, int8_t, GM_KIND_BIT(GM_INT8))
GM_FIXED_BUILDER(int16, int16_t, GM_KIND_BIT(GM_INT16))
GM_FIXED_BUILDER(int32, int32_t, GM_KINDS_OF_INT32)
GM_FIXED_BUILDER(int64, int64_t, GM_KINDS_OF_INT64)
GM_FIXED_BUILDER(uint8, uint8_t, GM_KIND_BIT(GM_UINT8))
GM_FIXED_BUILDER(uint16, uint16_t, GM_KIND_BIT(GM_UINT16))
GM_FIXED_BUILDER(uint32, uint32_t, GM_KIND_BIT(GM_UINT32))
GM_FIXED_BUILDER(uint64, uint64_t, GM_KIND_BIT(GM_UINT64))
GM_FIXED_BUILDER(float16, uint16_t, GM_KIND_BIT(GM_FLOAT16))
GM_FIXED_BUILDER(float32, float, GM_KIND_BIT(GM_FLOAT32))
GM_FIXED_BUILDER(float64, double, GM_KIND_BIT(GM_FLOAT64))
GM_FIXED_BUILDER(decimal128, gm_int128, GM_KIND_BIT(GM_DECIMAL128))
GM_FIXED_BUILDER(decimal256, gm_int256, GM_KIND_BIT(GM_DECIMAL256))
GM_BUILDER(bool, GM_KIND_BIT(GM_BOOLEAN))
GM_BUILDER(text, GM_KINDS_OF_TEXT)
GM_BUILDER(bytes, GM_KINDS_OF_BYTES)

#undef GM_FIXED_BUILDER
#undef GM_BUILDER

static inline void gm_bool_push(gm_bool_builder *builder, bool value) {
    gm_builder *base = &builder->base;
    if (__builtin_expect(base->len == base->capacity, false)) gm_grow(base, 1);
    uint8_t *byte = (uint8_t *)base->values + (base->len >> 3), mask = (uint8_t)(1 << (base->len & 7));
    *byte = value ? *byte | mask : *byte & (uint8_t)~mask;
    base->len++;
}

/// Room for this many bytes at the end of the value in hand. What is written there counts once it is appended with
/// `gm_text_end(builder, written)`; the room is gone with the next call on the builder.
static inline char *gm_text_reserve(gm_text_builder *builder, uint32_t bytes) {
    if (__builtin_expect(builder->base.data_capacity - builder->base.data_len < bytes, false))
        gm_grow_data(&builder->base, bytes);
    return (char *)builder->base.data + builder->base.data_len;
}

/// Ends the text in hand: what was appended, and this many bytes of what `gm_text_reserve` gave.
static inline void gm_text_end(gm_text_builder *builder, uint32_t written) {
    gm_builder *base = &builder->base;
    if (__builtin_expect(base->len == base->capacity, false)) gm_grow(base, 1);
    base->data_len += written;
    base->offsets[++base->len] = base->data_len;
}

/// Copies few bytes without a call; `memcpy` for more.
static inline void gm_copy_bytes(void *to, const void *from, uint32_t len) {
    char *target = (char *)to;
    const char *source = (const char *)from;
    if (len > 16) {
        memcpy(target, source, len);
    } else if (len >= 8) {
        uint64_t first, last;
        memcpy(&first, source, 8);
        memcpy(&last, source + len - 8, 8);
        memcpy(target, &first, 8);
        memcpy(target + len - 8, &last, 8);
    } else if (len >= 4) {
        uint32_t first, last;
        memcpy(&first, source, 4);
        memcpy(&last, source + len - 4, 4);
        memcpy(target, &first, 4);
        memcpy(target + len - 4, &last, 4);
    } else {
        for (uint32_t i = 0; i < len; i++) target[i] = source[i];
    }
}

/// Adds to the text in hand; `gm_text_end(builder, 0)` ends it.
static inline void gm_text_append(gm_text_builder *builder, gm_text text) {
    gm_copy_bytes(gm_text_reserve(builder, text.len), text.data, text.len);
    builder->base.data_len += text.len;
}
void gm_text_append_int(gm_text_builder *builder, int64_t value);
/// An unscaled value as a number with `scale` digits behind the point.
void gm_text_append_decimal(gm_text_builder *builder, gm_int128 value, int scale);

static inline void gm_text_push(gm_text_builder *builder, gm_text text) {
    gm_copy_bytes(gm_text_reserve(builder, text.len), text.data, text.len);
    gm_text_end(builder, text.len);
}

static inline uint8_t *gm_bytes_reserve(gm_bytes_builder *builder, uint32_t bytes) {
    return (uint8_t *)gm_text_reserve((gm_text_builder *)builder, bytes);
}
/// Ends the value in hand. Traps where a fixed-size binary has another width.
static inline void gm_bytes_end(gm_bytes_builder *builder, uint32_t written) {
    const gm_builder *base = &builder->base;
    if (base->field->type.kind == GM_FIXED_SIZE_BINARY && written != base->field->type.size)
        gm_trap_value_has_another_width(base->field, written, base->field->type.size);
    gm_text_end((gm_text_builder *)builder, written);
}
static inline void gm_bytes_push(gm_bytes_builder *builder, gm_bytes bytes) {
    gm_copy_bytes(gm_bytes_reserve(builder, bytes.len), bytes.data, bytes.len);
    gm_bytes_end(builder, bytes.len);
}

#endif
