// One line of a statement: fields at fixed places.
//
// | characters | field | |
// |---|---|---|
// | 1 | kind | `H` header, `M` movement, `T` trailer |
// | 2–35 | account | IBAN, filled up with spaces |
// | 36–43 | booked | `YYYYMMDD` |
// | 44–51 | valued | `YYYYMMDD`, or spaces: as booked |
// | 52–66 | amount | in cents, 15 digits |
// | 67 | sign | `C` credit, `D` debit |
// | 68–70 | currency | three capital letters |
// | 71–86 | reference | filled up with spaces |
// | 87– | text | to the end of the line; may be missing |
//
// All but the text is ASCII, so places of characters are places of bytes.
#ifndef LINE_H
#define LINE_H

#include <gristmill.h>

typedef struct {
    gm_text account, currency, reference, text;
    int32_t booked, valued;
    int64_t cents;
} movement;

typedef enum {
    LINE_IS_MOVEMENT,
    LINE_IS_NONE,  // a header or a trailer
    LINE_IS_SHORT,
    LINE_HAS_UNKNOWN_KIND,
    LINE_HAS_BAD_ACCOUNT,
    LINE_HAS_BAD_DATE,
    LINE_HAS_BAD_AMOUNT,
    LINE_HAS_BAD_CURRENCY,
    LINE_HAS_NO_REFERENCE,
} line_result;

/// Reads a line. `to` is whole only where the line is a movement.
line_result read_line(gm_text line, movement *to);

/// Whether the check digits of an IBAN are right.
bool is_iban(gm_text account);

#endif
