// Orders as a shop exports them, to typed records.
#include "orders.h"

typedef struct {
    gm_in price, customer;
    gm_output records;
    gm_out name, cents;
} orders;

/// What is read, computed and passed on. `order_id` is forwarded: its values never enter the component.
static void plan(gm_plan *plan, void *state) {
    orders *self = state;
    gm_serve(plan, gm_stage_{{stage}});
    self->price = gm_read(plan, "price", GM_UTF8);
    self->customer = gm_read(plan, "customer", GM_UTF8);
    self->records = gm_add_output(plan, "records");
    gm_forward(plan, self->records, "order_id");
    self->name = gm_compute(plan, self->records, "customer", gm_utf8());
    self->cents = gm_compute_required(plan, self->records, "cents", gm_int64());
}

/// One batch. The selection says which input row each output row comes from.
static void process(const gm_batch *batch, gm_outputs *outputs, const void *state) {
    const orders *self = state;
    gm_text_column prices = gm_text_in(batch, self->price), customers = gm_text_in(batch, self->customer);
    gm_selection *selection = gm_selection_out(outputs, self->records);
    gm_text_builder *name = gm_text_out(outputs, self->name);
    gm_int64_builder *cents = gm_int64_out(outputs, self->cents);
    for (uint32_t row = 0; row < gm_rows(batch); row++) {
        gm_text price, customer;
        int64_t value;
        if (!gm_text_get(prices, row, &price) || !to_cents(price, &value)) {
            gm_reject(outputs, row, "bad-price", "price", "not a price in dollars and cents");
            continue;
        }
        gm_select(selection, row);
        gm_int64_push(cents, value);
        if (gm_text_get(customers, row, &customer))
            gm_text_push(name, gm_text_trim(customer));
        else
            gm_text_push_null(name);
    }
}

bool to_cents(gm_text price, int64_t *cents) {
    gm_text dollars, fraction;
    if (!gm_text_starts_with(price, "$") || !gm_text_split(price, '.', &dollars, &fraction)) return false;
    int64_t whole, part;
    dollars = gm_text_slice(dollars, 1, dollars.len);
    if (!gm_parse_digits(dollars, &whole) || !gm_parse_digits(fraction, &part) || fraction.len != 2) return false;
    return !__builtin_mul_overflow(whole, 100, cents) && !__builtin_add_overflow(*cents, part, cents);
}

const gm_transform gristmill_transform = {.state_size = sizeof(orders), .plan = plan, .process = process};
