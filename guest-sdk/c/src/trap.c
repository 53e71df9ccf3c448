// Mistakes of a transform. In a component the name of the function is all that is seen of it; in tests there is a message.
#include "internal.h"

#ifdef __wasm32__

#define TRAP(name, parameters, ...) \
    void gm_##name parameters { __builtin_trap(); }
#pragma clang diagnostic ignored "-Wunused-parameter"

#else

#include <stdio.h>
#include <stdlib.h>

void (*gm_on_trap)(const char *message);

static _Noreturn void trap(const char *message) {
    if (gm_on_trap) gm_on_trap(message);
    fprintf(stderr, "trap: %s\n", message);
    abort();
}

#define TRAP(name, parameters, ...) \
    void gm_##name parameters { trap(gm_concat(__VA_ARGS__, NULL)); }

#endif

#define COLUMN "column `", field->name, "` (", gm_type_text(&field->type), ")"

TRAP(trap_row_out_of_range, (const gm_field *field, uint32_t row, uint32_t rows), COLUMN, ": row ", gm_uint_text(row),
     " is out of range, it has ", gm_uint_text(rows))
TRAP(trap_selected_row_out_of_range, (uint32_t row, uint32_t rows), "selected row ", gm_uint_text(row),
     " is out of range, the input has ", gm_uint_text(rows))
TRAP(trap_rejected_row_out_of_range, (uint32_t row, uint32_t rows), "rejected row ", gm_uint_text(row),
     " is out of range, the input has ", gm_uint_text(rows))
TRAP(trap_column_has_another_type, (const gm_field *field, const char *wanted), COLUMN, " cannot be used as ", wanted)
TRAP(trap_column_is_not_whole, (const gm_field *field), COLUMN, ": its buffers do not have the lengths of its rows")
TRAP(trap_column_has_no_such_member, (const gm_field *field, const char *member), COLUMN, " has no member ", member)
TRAP(trap_column_is_larger_than_2_gib, (const gm_field *field), COLUMN, " holds more than 2 GiB")
TRAP(trap_column_and_output_rows_differ, (const gm_field *field, uint32_t values, uint32_t rows), COLUMN, " has ",
     gm_uint_text(values), " values, its output has ", gm_uint_text(rows), " rows")
TRAP(trap_required_column_holds_nulls, (const gm_field *field), COLUMN, " is required but holds nulls")
TRAP(trap_value_has_another_width, (const gm_field *field, uint32_t bytes, uint32_t width), COLUMN, ": a value of ",
     gm_uint_text(bytes), " bytes, not ", gm_uint_text(width))
TRAP(trap_nested_value_is_not_whole, (const gm_field *field), COLUMN, ": its members differ in their number of values")
TRAP(trap_some_rows_have_operations_and_some_not, (void), "some rows of an output have operations and some have not")
TRAP(trap_handle_is_of_no_plan, (void), "a handle that the plan did not give")
TRAP(panic, (const char *message), message)

// The one that may not allocate for its message.
#ifdef __wasm32__
TRAP(trap_out_of_memory, (void))
#else
void gm_trap_out_of_memory(void) { trap("out of memory"); }
#endif
