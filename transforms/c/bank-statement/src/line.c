#include "line.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

bool is_iban(gm_text account) {
    if (account.len < 15 || account.len > 34) return false;
    // The country and the check digits move to the end, letters become numbers from 10, and the rest of 97 is 1.
    uint32_t rest = 0;
    for (uint32_t i = 0; i < account.len; i++) {
        char c = account.data[(i + 4) % account.len];
        if (is_digit(c))
            rest = (rest * 10 + (uint32_t)(c - '0')) % 97;
        else if (is_capital(c))
            rest = (rest * 100 + (uint32_t)(c - 'A') + 10) % 97;
        else
            return false;
    }
    return rest == 1;
}

static bool read_date(gm_text text, int32_t *days) {
    int64_t year, month, day;
    return gm_parse_digits(gm_text_slice(text, 0, 4), &year) && gm_parse_digits(gm_text_slice(text, 4, 6), &month) &&
           gm_parse_digits(gm_text_slice(text, 6, 8), &day) &&
           gm_days_from_date((gm_date){(int32_t)year, (uint32_t)month, (uint32_t)day}, days);
}

/// The field between these characters, counted from 1.
static gm_text field(gm_text line, uint32_t first, uint32_t last) { return gm_text_slice(line, first - 1, last); }

line_result read_line(gm_text line, movement *to) {
    char kind = line.len ? line.data[0] : ' ';
    if (kind == 'H' || kind == 'T') return LINE_IS_NONE;
    if (kind != 'M') return LINE_HAS_UNKNOWN_KIND;
    if (line.len < 86) return LINE_IS_SHORT;

    to->account = gm_text_trim_byte(field(line, 2, 35), ' ');
    if (!is_iban(to->account)) return LINE_HAS_BAD_ACCOUNT;

    if (!read_date(field(line, 36, 43), &to->booked)) return LINE_HAS_BAD_DATE;
    gm_text valued = field(line, 44, 51);
    to->valued = to->booked;
    if (gm_text_trim(valued).len && !read_date(valued, &to->valued)) return LINE_HAS_BAD_DATE;

    char sign = line.data[66];
    if (!gm_parse_digits(field(line, 52, 66), &to->cents) || (sign != 'C' && sign != 'D')) return LINE_HAS_BAD_AMOUNT;
    if (sign == 'D') to->cents = -to->cents;

    to->currency = field(line, 68, 70);
    for (int i = 0; i < 3; i++)
        if (!is_capital(to->currency.data[i])) return LINE_HAS_BAD_CURRENCY;

    to->reference = gm_text_trim_byte(field(line, 71, 86), ' ');
    if (!to->reference.len) return LINE_HAS_NO_REFERENCE;
    to->text = gm_text_trim(field(line, 87, line.len));
    return LINE_IS_MOVEMENT;
}
