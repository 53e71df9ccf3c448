// Stage migrate: every column back as it is, computed.
#include "conformance.h"

void migrate_plan(gm_plan *plan, migrate *self) {
    gm_config_int(plan, "step", 1, -1000, 1000);
    gm_output records = gm_add_output(plan, "records");
    self->count = gm_input_count(plan);
    self->reads = gm_alloc(sizeof(gm_in) * self->count);
    self->columns = gm_alloc(sizeof(gm_out) * self->count);
    for (uint32_t i = 0; i < self->count; i++) {
        self->reads[i] = gm_read_any(plan, gm_input(plan, i)->name);
        self->columns[i] = gm_compute_field(plan, records, *gm_input(plan, i));
    }
}

void migrate_process(const gm_batch *batch, gm_outputs *outputs, const migrate *self) {
    for (uint32_t i = 0; i < self->count; i++) gm_give(outputs, self->columns[i], gm_any_in(batch, self->reads[i]));
}
