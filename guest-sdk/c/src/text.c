// Texts: trim, split, parse, check.
#include "gristmill/text.h"

#include <stdlib.h>

#include "internal.h"

bool gm_text_starts_with(gm_text text, const char *prefix) {
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

gm_text gm_text_slice(gm_text text, uint32_t start, uint32_t end) {
    end = MIN(end, text.len);
    start = MIN(start, end);
    return (gm_text){text.data + start, end - start};
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

gm_text gm_text_trim(gm_text text) {
    while (text.len && is_space(text.data[0])) text.data++, text.len--;
    while (text.len && is_space(text.data[text.len - 1])) text.len--;
    return text;
}

gm_text gm_text_trim_byte(gm_text text, char byte) {
    while (text.len && text.data[0] == byte) text.data++, text.len--;
    while (text.len && text.data[text.len - 1] == byte) text.len--;
    return text;
}

bool gm_text_split(gm_text text, char separator, gm_text *before, gm_text *after) {
    const char *at = text.len ? memchr(text.data, separator, text.len) : NULL;
    if (!at) return false;
    uint32_t len = (uint32_t)(at - text.data);
    *before = (gm_text){text.data, len};
    *after = (gm_text){at + 1, text.len - len - 1};
    return true;
}

bool gm_parse_int(gm_text text, int64_t *value) {
    uint32_t i = text.len && text.data[0] == '-';
    if (i == text.len) return false;
    // Counted downwards, where there is one number more.
    int64_t negative = 0;
    for (uint32_t start = i; i < text.len; i++) {
        uint32_t digit = (uint32_t)(unsigned char)text.data[i] - '0';
        if (digit > 9) return false;
        // Eighteen digits always fit.
        if (i - start < 18)
            negative = negative * 10 - (int64_t)digit;
        else if (__builtin_mul_overflow(negative, 10, &negative) || __builtin_sub_overflow(negative, digit, &negative))
            return false;
    }
    if (text.data[0] == '-') {
        *value = negative;
        return true;
    }
    return !__builtin_sub_overflow(0, negative, value);
}

bool gm_parse_digits(gm_text text, int64_t *value) {
    return text.len && text.data[0] != '-' && gm_parse_int(text, value);
}

bool gm_parse_decimal(gm_text text, int scale, gm_int128 *value) {
    uint32_t i = text.len && text.data[0] == '-', digits = 0;
    int behind = -1;
    gm_int128 magnitude = 0;
    bool any = false;
    for (; i < text.len; i++) {
        char c = text.data[i];
        if (c == '.' && behind < 0) {
            behind = 0;
            continue;
        }
        if (c < '0' || c > '9') return false;
        any = true;
        behind += behind >= 0;
        magnitude = magnitude * 10 + (c - '0');
        digits += magnitude != 0;
        if (digits > 38 || behind > scale) return false;
    }
    // A point needs digits on both sides.
    if (!any || behind == 0 || text.data[text.data[0] == '-'] == '.') return false;
    for (int missing = scale - MAX(behind, 0); missing > 0; missing--) {
        magnitude *= 10;
        digits += magnitude != 0;
        if (digits > 38) return false;
    }
    *value = text.data[0] == '-' ? -magnitude : magnitude;
    return true;
}

static bool digits_from(gm_text text, uint32_t *at) {
    uint32_t start = *at;
    while (*at < text.len && text.data[*at] >= '0' && text.data[*at] <= '9') ++*at;
    return *at > start;
}

static bool is_at(gm_text text, uint32_t at, char a, char b) {
    return at < text.len && (text.data[at] == a || text.data[at] == b);
}

bool gm_parse_float(gm_text text, double *value) {
    uint32_t at = is_at(text, 0, '-', '-');
    if (!digits_from(text, &at)) return false;
    if (is_at(text, at, '.', '.') && (at++, !digits_from(text, &at))) return false;
    if (is_at(text, at, 'e', 'E')) {
        at++;
        at += is_at(text, at, '-', '+');
        if (!digits_from(text, &at)) return false;
    }
    if (at != text.len) return false;
    // `strtod` wants an end, and texts of columns have none.
    char brief[64];
    if (text.len >= sizeof brief) {
        *value = strtod(gm_copy(text), NULL);
        return true;
    }
    memcpy(brief, text.data, text.len);
    brief[text.len] = 0;
    *value = strtod(brief, NULL);
    return true;
}

bool gm_is_utf8(gm_bytes bytes) {
    for (uint32_t i = 0; i < bytes.len;) {
        uint8_t first = bytes.data[i++];
        if (first < 0x80) continue;
        uint32_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
        if (first < 0xc2 || first > 0xf4 || bytes.len - i < more) return false;
        uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        if (bytes.data[i] < low || bytes.data[i] > high) return false;
        for (uint32_t k = 1; k < more; k++)
            if (bytes.data[i + k] >> 6 != 2) return false;
        i += more;
    }
    return true;
}
