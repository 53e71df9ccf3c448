/// Gristmill transforms in C. Include this; see README.md for a whole example.
///
/// Conventions of the whole library:
///
/// * All memory comes from `gm_alloc` and is never freed: an instance lives for one call, and the runner drops it whole.
/// * Functions on a `gm_plan`, a `gm_outputs` or a `gm_row` do not report errors one by one. The first problem is kept,
///   what follows is harmless, and the problem becomes the result: a failure of the call, or a reject of the row.
/// * What cannot be right whatever the rows hold (a row past the end, a column read as another type) is a mistake of the
///   transform and traps. The runner then shows the name of the `gm_trap_…` function; a test shows the whole message.
#ifndef GRISTMILL_H
#define GRISTMILL_H

#include "gristmill/base.h"
#include "gristmill/build.h"
#include "gristmill/column.h"
#include "gristmill/date.h"
#include "gristmill/json.h"
#include "gristmill/outputs.h"
#include "gristmill/plan.h"
#include "gristmill/row.h"
#include "gristmill/text.h"
#include "gristmill/transform.h"
#include "gristmill/type.h"

#endif
