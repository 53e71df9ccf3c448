/// Texts: compare, trim, parse.
#ifndef GRISTMILL_TEXT_H
#define GRISTMILL_TEXT_H

#include <string.h>

#include "base.h"

static inline gm_text gm_text_from(const char *text) { return (gm_text){text, (uint32_t)strlen(text)}; }
static inline bool gm_text_equal(gm_text a, gm_text b) { return a.len == b.len && memcmp(a.data, b.data, a.len) == 0; }
static inline bool gm_text_is(gm_text text, const char *other) { return gm_text_equal(text, gm_text_from(other)); }
bool gm_text_starts_with(gm_text text, const char *prefix);

/// The part from `start` to before `end`, both cut to the text's length.
gm_text gm_text_slice(gm_text text, uint32_t start, uint32_t end);
/// Without spaces, tabs and line ends on either side.
gm_text gm_text_trim(gm_text text);
/// Without this byte on either side.
gm_text gm_text_trim_byte(gm_text text, char byte);
/// Splits at the first `separator`; false if there is none.
bool gm_text_split(gm_text text, char separator, gm_text *before, gm_text *after);

/// Digits, with or without a minus. False if it is anything else or does not fit.
bool gm_parse_int(gm_text text, int64_t *value);
/// Digits alone.
bool gm_parse_digits(gm_text text, int64_t *value);
/// A number with or without a minus and a point, as the unscaled value of a decimal of this scale. False if it is anything
/// else, has more digits behind the point than `scale`, or more than 38 digits in all.
bool gm_parse_decimal(gm_text text, int scale, gm_int128 *value);
/// A decimal number with or without an exponent. False if it is anything else.
bool gm_parse_float(gm_text text, double *value);

/// Whether bytes are UTF-8: what a utf8 column may hold.
bool gm_is_utf8(gm_bytes bytes);

#endif
