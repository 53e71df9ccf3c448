// Dates and days.
#include "gristmill/date.h"

#include "internal.h"

// Years are counted from March, so that the leap day is the last one; eras have 400 years and 146097 days.

static bool is_leap(int32_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

bool gm_days_from_date(gm_date date, int32_t *days) {
    static const uint8_t of_month[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (date.year < -9999 || date.year > 9999 || date.month < 1 || date.month > 12 || date.day < 1) return false;
    uint32_t last = of_month[date.month - 1] + (uint32_t)(date.month == 2 && is_leap(date.year));
    if (date.day > last) return false;
    int32_t year = date.year - (date.month <= 2), era = (year >= 0 ? year : year - 399) / 400;
    int32_t of_era = year - era * 400, month = ((int32_t)date.month + 9) % 12;
    int32_t of_year = (153 * month + 2) / 5 + (int32_t)date.day - 1;
    *days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    return true;
}

gm_date gm_date_from_days(int32_t days) {
    int64_t shifted = (int64_t)days + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t day = shifted - era * 146097;
    int64_t of_era = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t of_year = day - (365 * of_era + of_era / 4 - of_era / 100), month = (5 * of_year + 2) / 153;
    gm_date date = {.day = (uint32_t)(of_year - (153 * month + 2) / 5 + 1), .month = (uint32_t)((month + 2) % 12 + 1)};
    date.year = (int32_t)(of_era + era * 400 + (date.month <= 2));
    return date;
}

bool gm_parse_date(gm_text text, int32_t *days) {
    int64_t year, month, day;
    return text.len == 10 && text.data[4] == '-' && text.data[7] == '-' &&
           gm_parse_digits(gm_text_slice(text, 0, 4), &year) && gm_parse_digits(gm_text_slice(text, 5, 7), &month) &&
           gm_parse_digits(gm_text_slice(text, 8, 10), &day) &&
           gm_days_from_date((gm_date){(int32_t)year, (uint32_t)month, (uint32_t)day}, days);
}
