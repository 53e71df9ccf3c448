/// Memory, texts, wide integers and traps.
#ifndef GRISTMILL_BASE_H
#define GRISTMILL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A text in UTF-8, not ended by a NUL. Where it comes from a column it lives as long as the batch.
typedef struct {
    const char *data;
    uint32_t len;
} gm_text;

typedef struct {
    const uint8_t *data;
    uint32_t len;
} gm_bytes;

/// A string literal as a `gm_text`.
#define GM_TEXT(literal) ((gm_text){"" literal, sizeof(literal) - 1})

typedef __int128 gm_int128;
typedef unsigned __int128 gm_uint128;

/// A signed 256-bit integer in two's complement, the least significant word first.
typedef struct {
    uint64_t words[4];
} gm_int256;

gm_int256 gm_int256_from(gm_int128 value);
/// False if the value needs more than 128 bits.
bool gm_int256_to_int128(gm_int256 value, gm_int128 *narrow);

/// Half-precision floats travel as their bits. To a float is exact; from one rounds to nearest, ties to even.
float gm_float16_to_float(uint16_t bits);
uint16_t gm_float16_from_float(float value);

/// Memory for the rest of the call, aligned for any type and not cleared. Traps when there is no more.
void *gm_alloc(size_t bytes);
/// Makes an allocation larger, in place where it is the latest one.
void *gm_realloc(void *memory, size_t old_bytes, size_t new_bytes);

/// A copy that ends with a NUL.
const char *gm_copy(gm_text text);
/// The texts one after the other; the last argument is NULL.
const char *gm_concat(const char *first, ...) __attribute__((sentinel));

/// A number in decimal.
const char *gm_int_text(int64_t value);

struct gm_field;

// Each mistake has a function of its own, because its name is what the runner shows of a trap.
#define GM_TRAP __attribute__((noinline, cold, noreturn)) void

/// Ends the call: for what cannot happen unless the transform is wrong. The runner tries again, then isolates the rows at
/// fault. Tests show the message; a component has nowhere to write it.
GM_TRAP gm_panic(const char *message);

GM_TRAP gm_trap_out_of_memory(void);
GM_TRAP gm_trap_row_out_of_range(const struct gm_field *field, uint32_t row, uint32_t rows);
GM_TRAP gm_trap_selected_row_out_of_range(uint32_t row, uint32_t rows);
GM_TRAP gm_trap_rejected_row_out_of_range(uint32_t row, uint32_t rows);
GM_TRAP gm_trap_column_has_another_type(const struct gm_field *field, const char *wanted);
GM_TRAP gm_trap_column_is_not_whole(const struct gm_field *field);
GM_TRAP gm_trap_column_has_no_such_member(const struct gm_field *field, const char *member);
GM_TRAP gm_trap_column_is_larger_than_2_gib(const struct gm_field *field);
GM_TRAP gm_trap_column_and_output_rows_differ(const struct gm_field *field, uint32_t values, uint32_t rows);
GM_TRAP gm_trap_required_column_holds_nulls(const struct gm_field *field);
GM_TRAP gm_trap_value_has_another_width(const struct gm_field *field, uint32_t bytes, uint32_t width);
GM_TRAP gm_trap_nested_value_is_not_whole(const struct gm_field *field);
GM_TRAP gm_trap_some_rows_have_operations_and_some_not(void);
GM_TRAP gm_trap_handle_is_of_no_plan(void);

#endif
