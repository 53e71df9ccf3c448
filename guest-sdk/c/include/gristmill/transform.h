/// What a transform is.
#ifndef GRISTMILL_TRANSFORM_H
#define GRISTMILL_TRANSFORM_H

#include "row.h"

/// A transform: plans once, then works batch by batch, on whole columns (`process`) or row by row (`row`).
///
/// 1. `plan` depends on the plan's setup alone. The runner plans again for every batch and refuses a transform whose plans
///    differ. `state` is `state_size` bytes, cleared; what `plan` puts there, such as handles, `process` gets.
/// 2. `process` pushes one value for each output row to every computed column.
/// 3. A row that cannot be transformed is a reject, never a trap and never a failure. In stages normalize and migrate it
///    is also left out of the selection.
/// 4. Rejects and failures never say what a row holds: they are kept and shown to operators.
typedef struct {
    size_t state_size;
    void (*plan)(gm_plan *plan, void *state);
    void (*process)(const gm_batch *batch, gm_outputs *outputs, const void *state);
    /// In place of `process`: called for each input row.
    void (*row)(gm_row *row, const void *state);
} gm_transform;

/// The transform of this component. Define it once.
extern const gm_transform gristmill_transform;

#endif
