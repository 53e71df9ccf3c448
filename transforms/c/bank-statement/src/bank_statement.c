// Statements of a bank, one fixed-width line for each movement, to typed records.
//
// Headers and trailers are left out. The configuration may name the currencies that are accepted:
// {"currencies": ["EUR", "CHF"]}.
#include "line.h"

typedef struct {
    const gm_json *currencies;
    gm_in line;
    gm_output records;
    gm_out account, reference, booked, valued, amount, currency, text;
} bank_statement;

static void plan(gm_plan *plan, void *state) {
    bank_statement *self = state;
    gm_serve(plan, gm_stage_normalize);
    self->currencies = gm_config_json(plan, "currencies");
    if (self->currencies && self->currencies->kind != GM_JSON_ARRAY)
        gm_fail(plan, "bad-config", "`currencies` is not a list of currencies");
    self->line = gm_read(plan, "line", GM_UTF8);
    self->records = gm_add_output(plan, "records");
    self->account = gm_compute_required(plan, self->records, "account", gm_utf8());
    self->reference = gm_compute_required(plan, self->records, "reference", gm_utf8());
    self->booked = gm_compute_required(plan, self->records, "booked", gm_date32());
    self->valued = gm_compute_required(plan, self->records, "valued", gm_date32());
    self->amount = gm_compute_required(plan, self->records, "amount", gm_decimal128(15, 2));
    self->currency = gm_compute_required(plan, self->records, "currency", gm_utf8());
    self->text = gm_compute(plan, self->records, "text", gm_utf8());
}

static bool accepts(const bank_statement *self, gm_text currency) {
    if (!self->currencies) return true;
    for (uint32_t i = 0; i < self->currencies->count; i++)
        if (gm_text_equal(self->currencies->items[i].text, currency)) return true;
    return false;
}

static void reject(gm_outputs *outputs, uint32_t row, line_result result) {
    static const struct {
        const char *code, *message;
    } texts[] = {
        [LINE_IS_SHORT] = {"short-line", "a movement has at least 86 characters"},
        [LINE_HAS_UNKNOWN_KIND] = {"unknown-kind", "the first character is none of H, M and T"},
        [LINE_HAS_BAD_ACCOUNT] = {"bad-account", "characters 2 to 35 are no IBAN"},
        [LINE_HAS_BAD_DATE] = {"bad-date", "characters 36 to 51 are no dates"},
        [LINE_HAS_BAD_AMOUNT] = {"bad-amount", "characters 52 to 67 are no amount with a sign"},
        [LINE_HAS_BAD_CURRENCY] = {"bad-currency", "characters 68 to 70 are no currency that is accepted"},
        [LINE_HAS_NO_REFERENCE] = {"no-reference", "characters 71 to 86 are empty"},
    };
    gm_reject(outputs, row, texts[result].code, "line", texts[result].message);
}

static void process(const gm_batch *batch, gm_outputs *outputs, const void *state) {
    const bank_statement *self = state;
    gm_text_column lines = gm_text_in(batch, self->line);
    gm_selection *selection = gm_selection_out(outputs, self->records);
    gm_text_builder *account = gm_text_out(outputs, self->account);
    gm_text_builder *reference = gm_text_out(outputs, self->reference);
    gm_int32_builder *booked = gm_int32_out(outputs, self->booked), *valued = gm_int32_out(outputs, self->valued);
    gm_decimal128_builder *amount = gm_decimal128_out(outputs, self->amount);
    gm_text_builder *currency = gm_text_out(outputs, self->currency), *text = gm_text_out(outputs, self->text);
    for (uint32_t row = 0; row < gm_rows(batch); row++) {
        gm_text line;
        movement movement;
        line_result result = gm_text_get(lines, row, &line) ? read_line(line, &movement) : LINE_IS_NONE;
        if (result == LINE_IS_MOVEMENT && !accepts(self, movement.currency)) result = LINE_HAS_BAD_CURRENCY;
        if (result == LINE_IS_NONE) continue;
        if (result != LINE_IS_MOVEMENT) {
            reject(outputs, row, result);
            continue;
        }
        gm_select(selection, row);
        gm_text_push(account, movement.account);
        gm_text_push(reference, movement.reference);
        gm_int32_push(booked, movement.booked);
        gm_int32_push(valued, movement.valued);
        gm_decimal128_push(amount, movement.cents);
        gm_text_push(currency, movement.currency);
        if (movement.text.len)
            gm_text_push(text, movement.text);
        else
            gm_text_push_null(text);
    }
}

const gm_transform gristmill_transform = {.state_size = sizeof(bank_statement), .plan = plan, .process = process};
