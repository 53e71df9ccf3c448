/// Days since 1970-01-01 and dates of the Gregorian calendar, also before its time.
#ifndef GRISTMILL_DATE_H
#define GRISTMILL_DATE_H

#include "base.h"

typedef struct {
    int32_t year;
    uint32_t month, day;
} gm_date;

/// False if there is no such day. Years from -9999 to 9999.
bool gm_days_from_date(gm_date date, int32_t *days);
gm_date gm_date_from_days(int32_t days);
/// `2013-01-31`. False if it is anything else.
bool gm_parse_date(gm_text text, int32_t *days);

#endif
