/// Row by row: read cells by name, write cells by name. Shorter than columns, and several times slower. Nested columns have
/// no row view: use `process` for them.
///
/// A cell that cannot be had or set rejects the row: `missing-value` where it is null but must not be, `wrong-type` where
/// it holds another sort of value, `out-of-range` where the output column cannot hold it. The getter then gives zero or an
/// empty text, the function goes on, and everything that it wrote for the row is taken back.
#ifndef GRISTMILL_ROW_H
#define GRISTMILL_ROW_H

#include "outputs.h"

typedef struct gm_row gm_row;

/// An output row in the making. It ends with the next `gm_row_out` or with the function; cells not set are null.
typedef struct gm_row_output gm_row_output;

/// The row's place in the batch.
uint32_t gm_row_index(const gm_row *row);
/// Whether the cell is not null. Columns are those that the plan reads: an input column under its name, a look-up as
/// `dictionary.column`, the operation as `operation`.
bool gm_row_has(gm_row *row, const char *column);
gm_text gm_row_text(gm_row *row, const char *column);
/// The bytes of a byte string or of a text.
gm_bytes gm_row_bytes(gm_row *row, const char *column);
bool gm_row_bool(gm_row *row, const char *column);
/// Any integer that fits, date, time, timestamp or duration.
int64_t gm_row_int(gm_row *row, const char *column);
/// A float, or any integer.
double gm_row_float(gm_row *row, const char *column);
/// The unscaled value of a decimal that fits.
gm_int128 gm_row_decimal(gm_row *row, const char *column);

/// Does not accept the row. The first reason stays.
void gm_row_reject(gm_row *row, const char *code, const char *column, const char *message);
bool gm_row_rejected(const gm_row *row);

/// Starts a row of an output. An input row may make none, one or more of them.
gm_row_output *gm_row_out(gm_row *row, gm_output output);
void gm_put_text(gm_row_output *out, const char *column, gm_text value);
void gm_put_bytes(gm_row_output *out, const char *column, gm_bytes value);
void gm_put_bool(gm_row_output *out, const char *column, bool value);
/// Into any integer, date, time, timestamp or duration.
void gm_put_int(gm_row_output *out, const char *column, int64_t value);
void gm_put_float(gm_row_output *out, const char *column, double value);
/// An unscaled value.
void gm_put_decimal(gm_row_output *out, const char *column, gm_int128 value);
void gm_put_null(gm_row_output *out, const char *column);
/// What the row does to the target. All rows of an output set it, or none does: one that differs is rejected with
/// `mixed-operations`.
void gm_put_operation(gm_row_output *out, gm_operation operation);

#endif
