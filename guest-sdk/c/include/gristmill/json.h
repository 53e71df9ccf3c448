/// JSON values, as configurations hold them.
#ifndef GRISTMILL_JSON_H
#define GRISTMILL_JSON_H

#include "base.h"

typedef enum { GM_JSON_NULL, GM_JSON_BOOL, GM_JSON_NUMBER, GM_JSON_TEXT, GM_JSON_ARRAY, GM_JSON_OBJECT } gm_json_kind;

typedef struct gm_json gm_json;
struct gm_json {
    gm_json_kind kind;
    bool boolean;
    /// A text without its escapes, or a number as it was written.
    gm_text text;
    /// The name of a member of an object.
    gm_text key;
    /// The items of an array or the members of an object, in their order.
    const gm_json *items;
    uint32_t count;
};

/// Parses one value and nothing but it. NULL if it is not JSON: then `problem` says why, and at which byte.
const gm_json *gm_json_parse(gm_text text, const char **problem);
/// The member of an object, or NULL.
const gm_json *gm_json_member(const gm_json *object, const char *key);
/// False unless it is a number written without fraction and exponent that fits.
bool gm_json_int(const gm_json *json, int64_t *value);
bool gm_json_float(const gm_json *json, double *value);

#endif
