/// The plan: what a transform reads, what it looks up and what it gives.
///
/// Every function may be called after a problem: it then does nothing and its handle leads nowhere. A handle is used in
/// `process` only if the plan had no problem.
#ifndef GRISTMILL_PLAN_H
#define GRISTMILL_PLAN_H

#include "json.h"
#include "type.h"

typedef struct gm_plan gm_plan;

/// A column that `process` receives.
typedef struct {
    uint32_t place;
} gm_in;

/// An output of the plan.
typedef struct {
    uint32_t place;
} gm_output;

/// A column that `process` computes.
typedef struct {
    gm_output output;
    uint32_t place;
} gm_out;

/// A look-up: a dictionary's column, joined by the runner.
typedef struct {
    uint32_t place;
} gm_lookup;

/// Stages are flags, so that a transform can name all that it serves.
typedef enum { gm_stage_normalize = 1, gm_stage_migrate = 2, gm_stage_map = 4 } gm_stage;

gm_stage gm_stage_of(const gm_plan *plan);
/// Fails the plan with `wrong-stage` for every stage that is not among these flags.
void gm_serve(gm_plan *plan, int stages);

/// Fails the plan: a wrong configuration, a missing column. `code` is a short, stable word for machines.
void gm_fail(gm_plan *plan, const char *code, const char *message);
/// Whether anything has failed so far.
bool gm_failed(const gm_plan *plan);

/// The input's columns. NULL past the end, or where there is no column of this name.
uint32_t gm_input_count(const gm_plan *plan);
const gm_field *gm_input(const gm_plan *plan, uint32_t place);
const gm_field *gm_input_named(const gm_plan *plan, const char *name);

/// Reads an input column of this kind. Fails with `missing-column` or `wrong-type`. A column read twice crosses once.
gm_in gm_read(gm_plan *plan, const char *column, gm_kind kind);
/// Reads an input column, whatever its type is.
gm_in gm_read_any(gm_plan *plan, const char *column);
/// Reads the operation of each row, as uint8: 0 insert, 1 update, 2 delete.
gm_in gm_read_operation(gm_plan *plan);

/// Looks up the column `value` of a dictionary by the input column `key`: null where the dictionary has no such key.
/// Fails with `missing-dictionary` or `missing-column`. Only what is read crosses the boundary.
gm_lookup gm_look_up(gm_plan *plan, const char *dictionary, const char *key, const char *value);
/// Reads a look-up. Fails with `wrong-type`.
gm_in gm_read_lookup(gm_plan *plan, gm_lookup lookup, gm_kind kind);

/// Adds an output. Stages normalize and migrate have one, `records`; stage map has one for each target table.
gm_output gm_add_output(gm_plan *plan, const char *name);

// Each of the following adds the output's next column. A second column of one name fails with `duplicate-column`.

/// An input column under its own name. It does not cross the boundary.
void gm_forward(gm_plan *plan, gm_output output, const char *column);
void gm_forward_as(gm_plan *plan, gm_output output, const char *name, const char *column);
void gm_forward_lookup(gm_plan *plan, gm_output output, const char *name, gm_lookup lookup);
/// The operation of each row, as uint8.
void gm_forward_operation(gm_plan *plan, gm_output output, const char *name);
/// A column that `process` computes and that may hold nulls.
gm_out gm_compute(gm_plan *plan, gm_output output, const char *name, gm_type type);
/// A column that `process` computes and that never holds nulls.
gm_out gm_compute_required(gm_plan *plan, gm_output output, const char *name, gm_type type);
gm_out gm_compute_field(gm_plan *plan, gm_output output, gm_field field);

// The stage's configuration, one JSON object. A value of the wrong kind fails with `bad-config`, and so does a key that
// the plan never asks for, so that a mistyped one is found before the first row.

/// Fails unless the configuration has this key.
void gm_config_require(gm_plan *plan, const char *key);
/// A whole number from `min` to `max`; `fallback` where there is none.
int64_t gm_config_int(gm_plan *plan, const char *key, int64_t fallback, int64_t min, int64_t max);
double gm_config_float(gm_plan *plan, const char *key, double fallback);
bool gm_config_bool(gm_plan *plan, const char *key, bool fallback);
const char *gm_config_text(gm_plan *plan, const char *key, const char *fallback);
/// The value of a key, whatever it is; NULL where there is none.
const gm_json *gm_config_json(gm_plan *plan, const char *key);
/// The whole configuration. After this no key counts as unknown.
const gm_json *gm_config(gm_plan *plan);

#endif
