#include <gristmill.h>

typedef struct {
    gm_output records;
} trim;

static void plan(gm_plan *plan, void *state) {
    trim *self = state;
    gm_read(plan, "name", GM_UTF8);
    gm_read(plan, "quantity", GM_INT64);
    self->records = gm_add_output(plan, "records");
    gm_compute_required(plan, self->records, "name", gm_utf8());
    gm_compute(plan, self->records, "dozens", gm_int64());
}

static void row(gm_row *row, const void *state) {
    const trim *self = state;
    gm_row_output *out = gm_row_out(row, self->records);
    gm_put_text(out, "name", gm_text_trim(gm_row_text(row, "name")));  // null: the row is rejected with `missing-value`
    if (gm_row_has(row, "quantity")) gm_put_int(out, "dozens", gm_row_int(row, "quantity") / 12);
}

const gm_transform trim_transform = {.state_size = sizeof(trim), .plan = plan, .row = row};
