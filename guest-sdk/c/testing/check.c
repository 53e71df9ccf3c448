// Checks columns against the contract, as the runner does.
#include "table.h"

static const char *problem(gm_array array, const char *what) {
    return gm_concat("column `", array.field->name, "` (", gm_type_text(&array.field->type), "): ", what, NULL);
}

static const char *check_offsets(gm_array array, const uint32_t *offsets) {
    for (uint32_t i = 0; i < array.rows; i++)
        if (offsets[i] > offsets[i + 1]) return problem(array, "its offsets fall");
    return NULL;
}

const char *gm_check_column(gm_array array) {
    gm_kind kind = array.field->type.kind;
    if (!gm_array_is_whole(array)) return problem(array, "its buffers do not have the lengths of its rows");
    uint32_t nulls = kind == GM_NULL ? array.rows : 0;
    for (uint32_t row = 0; array.valid && row < array.rows; row++) nulls += !gm_bit(array.valid, row);
    if (nulls != array.null_count) return problem(array, "its null count is wrong");
    if (nulls && !array.field->nullable) return problem(array, "it is required but holds nulls");
    const char *wrong = NULL;
    if (GM_KIND_BIT(kind) & (GM_KINDS_OF_TEXT | GM_KINDS_OF_BYTES)) {
        gm_bytes_column bytes = gm_bytes_of(array);
        wrong = check_offsets(array, bytes.offsets);
        bool is_text = GM_KIND_BIT(kind) & GM_KINDS_OF_TEXT;
        for (uint32_t row = 0; is_text && !wrong && row < array.rows; row++)
            if (!gm_is_null(array, row) && !gm_is_utf8(gm_bytes_at(bytes, row))) wrong = problem(array, "not UTF-8");
    } else if (gm_is_list(kind)) {
        wrong = check_offsets(array, gm_list_of(array).offsets);
    }
    for (uint32_t i = 0; !wrong && i < array.field->type.child_count; i++) wrong = gm_check_column(gm_child(array, i));
    return wrong;
}
