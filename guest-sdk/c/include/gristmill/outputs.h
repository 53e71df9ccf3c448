/// What `process` gives beside columns: selections, operations, rejects, messages.
#ifndef GRISTMILL_OUTPUTS_H
#define GRISTMILL_OUTPUTS_H

#include "build.h"

/// The operation of a change record.
typedef enum { GM_INSERT, GM_UPDATE, GM_DELETE } gm_operation;

/// Which input row each output row comes from. Rows may be left out, repeated and reordered.
typedef struct {
    uint32_t *rows;
    /// NULL where the rows keep the operations of their input rows.
    uint8_t *operations;
    uint32_t len, capacity;
    uint32_t input_rows;
    /// How many of the rows have an operation of their own: all or none.
    uint32_t operated;
} gm_selection;

/// The selection of an output. An output whose selection is never asked for has one row for each input row.
gm_selection *gm_selection_out(gm_outputs *outputs, gm_output output);

void gm_selection_grow(gm_selection *selection);

/// The output's next row comes from this input row and keeps its operation.
static inline void gm_select(gm_selection *selection, uint32_t row) {
    if (__builtin_expect(row >= selection->input_rows, false))
        gm_trap_selected_row_out_of_range(row, selection->input_rows);
    if (__builtin_expect(selection->len == selection->capacity, false)) gm_selection_grow(selection);
    selection->rows[selection->len++] = row;
}

/// The output's next row comes from this input row and does this to the target. An output's rows all have operations of
/// their own, or none has.
void gm_select_as(gm_selection *selection, uint32_t row, gm_operation operation);

/// Does not accept an input row. Stages normalize and migrate must leave it out of their selection too. `field` is the
/// column at fault or NULL. The texts are kept and shown to operators: they never say what a row holds.
void gm_reject(gm_outputs *outputs, uint32_t row, const char *code, const char *field, const char *message);

/// Says something to the operator. The runner keeps the first few messages and cuts long ones.
void gm_say(gm_outputs *outputs, const char *message);

/// Fails the whole call. Never for a bad row.
void gm_fail_call(gm_outputs *outputs, const char *code, const char *message);

#endif
