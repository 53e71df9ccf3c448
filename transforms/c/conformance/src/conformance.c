// The conformance transform, as tests/conformance/README.md specifies it.
#include "conformance.h"

static void plan(gm_plan *plan, void *state) {
    conformance *self = state;
    self->stage = gm_stage_of(plan);
    switch (self->stage) {
        case gm_stage_normalize: normalize_plan(plan, &self->normalize); break;
        case gm_stage_migrate: migrate_plan(plan, &self->migrate); break;
        case gm_stage_map: map_plan(plan, &self->map); break;
    }
}

static void process(const gm_batch *batch, gm_outputs *outputs, const void *state) {
    const conformance *self = state;
    switch (self->stage) {
        case gm_stage_normalize: normalize_process(batch, outputs, &self->normalize); break;
        case gm_stage_migrate: migrate_process(batch, outputs, &self->migrate); break;
        case gm_stage_map: map_process(batch, outputs, &self->map); break;
    }
}

const gm_text *fold(gm_text_column texts) {
    uint32_t len = texts.offsets[texts.rows];
    char *lower = gm_alloc(len);
    for (uint32_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)texts.data[i];
        lower[i] = (char)(byte + ((unsigned)(byte - 'A') < 26 ? 32 : 0));
    }
    gm_text *folded = gm_alloc(sizeof(gm_text) * texts.rows);
    for (uint32_t row = 0; row < texts.rows; row++) {
        const char *start = lower + texts.offsets[row], *end = lower + texts.offsets[row + 1];
        while (start < end && *start == ' ') start++;
        while (start < end && end[-1] == ' ') end--;
        folded[row] = (gm_text){start, (uint32_t)(end - start)};
    }
    return folded;
}

const gm_transform gristmill_transform = {.state_size = sizeof(conformance), .plan = plan, .process = process};
