// The parts of the conformance transform, one for each stage.
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <gristmill.h>

typedef struct {
    gm_out column;
    gm_in from;
    bool is_there;
} computed;

typedef struct {
    gm_output records;
    int64_t step;
    computed weight, text, amount, at, count, ratio, data, numbers, place, visits;
    gm_in fee;
    gm_out text_state, total, negated, order, time, mixed, finite;
} normalize;

typedef struct {
    uint32_t count;
    gm_in *reads;
    gm_out *columns;
} migrate;

typedef struct {
    gm_output orders, items;
    gm_in tags, quantity, operation;
    gm_out tag_count, position, tag;
} map;

typedef struct {
    gm_stage stage;
    union {
        normalize normalize;
        migrate migrate;
        map map;
    };
} conformance;

void normalize_plan(gm_plan *plan, normalize *self);
void normalize_process(const gm_batch *batch, gm_outputs *outputs, const normalize *self);
void migrate_plan(gm_plan *plan, migrate *self);
void migrate_process(const gm_batch *batch, gm_outputs *outputs, const migrate *self);
void map_plan(gm_plan *plan, map *self);
void map_process(const gm_batch *batch, gm_outputs *outputs, const map *self);

/// The texts of a column, folded, as long as the batch lives. What is behind a null may be anything.
const gm_text *fold(gm_text_column texts);

#endif
