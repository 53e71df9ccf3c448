/// Typed views of the columns that a batch brings. A view copies nothing.
///
/// For each type NAME of the table below there are:
///
///     gm_NAME_column gm_NAME_in(const gm_batch *batch, gm_in column);
///     gm_NAME_column gm_NAME_of(gm_array array);
///     VALUE gm_NAME_at(gm_NAME_column column, uint32_t row);               // behind a null: unspecified
///     bool  gm_NAME_get(gm_NAME_column column, uint32_t row, VALUE *value); // false where it is null
///     bool  gm_NAME_is_null(gm_NAME_column column, uint32_t row);
///
/// | NAME | VALUE | kinds |
/// |---|---|---|
/// | bool | bool | boolean |
/// | int8 … int64, uint8 … uint64 | int8_t … uint64_t | the kind of that name |
/// | int32 | int32_t | date32 and time32 too |
/// | int64 | int64_t | date64, time64, timestamp and duration too |
/// | float16 | uint16_t, the bits | float16 |
/// | float32, float64 | float, double | the kind of that name |
/// | decimal128, decimal256 | gm_int128, gm_int256, unscaled | the kind of that name |
/// | text | gm_text | utf8, large-utf8 |
/// | bytes | gm_bytes | binary, large-binary, fixed-size-binary, utf8, large-utf8 |
/// | list | gm_range over `column.items` | list, large-list, fixed-size-list, map |
///
/// Every view has `rows`, `valid` and `field`; fixed-width ones have `values`, for loops over whole columns. A row past
/// the end traps with `gm_trap_row_out_of_range`.
#ifndef GRISTMILL_COLUMN_H
#define GRISTMILL_COLUMN_H

#include "plan.h"
#include "type.h"

typedef struct gm_batch gm_batch;

/// Length and null count of one array.
typedef struct {
    uint32_t length, null_count;
} gm_node;

/// A column of any type: its own node and buffers, followed by its children's.
typedef struct {
    const gm_field *field;
    uint32_t rows, null_count;
    /// One bit for each row, from the least significant one of byte 0. NULL where no row is null.
    const uint8_t *valid;
    const gm_node *nodes;
    const gm_bytes *buffers;
} gm_array;

/// Rows `start` to before `end`.
typedef struct {
    uint32_t start, end;
} gm_range;

uint32_t gm_rows(const gm_batch *batch);
gm_array gm_any_in(const gm_batch *batch, gm_in column);

/// The item of a list, a member of a struct, the entries of a map.
gm_array gm_child(gm_array array, uint32_t place);
/// The member of a struct by its name. A member has a value of its own behind a null struct: look at both.
gm_array gm_member(gm_array array, const char *name);

static inline void gm_check_row(const gm_field *field, uint32_t row, uint32_t rows) {
    if (__builtin_expect(row >= rows, false)) gm_trap_row_out_of_range(field, row, rows);
}

static inline bool gm_bit(const uint8_t *bits, uint32_t row) { return bits[row >> 3] >> (row & 7) & 1; }

static inline bool gm_is_null(gm_array array, uint32_t row) {
    gm_check_row(array.field, row, array.rows);
    return array.valid ? !gm_bit(array.valid, row) : array.field->type.kind == GM_NULL;
}

#define GM_COLUMN(name, value_type, members, read)                                                                  \
    typedef struct {                                                                                                \
        members const uint8_t *valid;                                                                               \
        const gm_field *field;                                                                                      \
        uint32_t rows;                                                                                              \
    } gm_##name##_column;                                                                                           \
    gm_##name##_column gm_##name##_of(gm_array array);                                                              \
    static inline gm_##name##_column gm_##name##_in(const gm_batch *batch, gm_in column) {                          \
        return gm_##name##_of(gm_any_in(batch, column));                                                            \
    }                                                                                                               \
    static inline bool gm_##name##_is_null(gm_##name##_column column, uint32_t row) {                               \
        gm_check_row(column.field, row, column.rows);                                                               \
        return column.valid && !gm_bit(column.valid, row);                                                          \
    }                                                                                                               \
    static inline value_type gm_##name##_at(gm_##name##_column column, uint32_t row) {                              \
        gm_check_row(column.field, row, column.rows);                                                               \
        return read;                                                                                                \
    }                                                                                                               \
    static inline bool gm_##name##_get(gm_##name##_column column, uint32_t row, value_type *value) {                \
        if (gm_##name##_is_null(column, row)) return false;                                                         \
        *value = read;                                                                                              \
        return true;                                                                                                \
    }

#define GM_FIXED_COLUMN(name, value_type) GM_COLUMN(name, value_type, const value_type *values;, column.values[row])

GM_FIXED_COLUMN(int8, int8_t)
GM_FIXED_COLUMN(int16, int16_t)
GM_FIXED_COLUMN(int32, int32_t)
GM_FIXED_COLUMN(int64, int64_t)
GM_FIXED_COLUMN(uint8, uint8_t)
GM_FIXED_COLUMN(uint16, uint16_t)
GM_FIXED_COLUMN(uint32, uint32_t)
GM_FIXED_COLUMN(uint64, uint64_t)
GM_FIXED_COLUMN(float16, uint16_t)
GM_FIXED_COLUMN(float32, float)
GM_FIXED_COLUMN(float64, double)
GM_FIXED_COLUMN(decimal128, gm_int128)
GM_FIXED_COLUMN(decimal256, gm_int256)
GM_COLUMN(bool, bool, const uint8_t *bits;, gm_bit(column.bits, row))
GM_COLUMN(text, gm_text, const uint32_t *offsets; const char *data;,
          ((gm_text){column.data + column.offsets[row], column.offsets[row + 1] - column.offsets[row]}))
GM_COLUMN(bytes, gm_bytes, const uint32_t *offsets; const uint8_t *data;,
          ((gm_bytes){column.data + column.offsets[row], column.offsets[row + 1] - column.offsets[row]}))
GM_COLUMN(list, gm_range, const uint32_t *offsets; gm_array items;,
          ((gm_range){column.offsets[row], column.offsets[row + 1]}))

#undef GM_FIXED_COLUMN
#undef GM_COLUMN

#endif
