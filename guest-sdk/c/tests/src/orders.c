#include <gristmill.h>
#include <math.h>

typedef struct {
    double max_amount;
    gm_in name, amount, rate;
    gm_output records;
    gm_out trimmed, euros;
} orders;

static void plan(gm_plan *plan, void *state) {
    orders *self = state;
    gm_serve(plan, gm_stage_normalize);
    gm_config_require(plan, "max_amount");
    self->max_amount = gm_config_float(plan, "max_amount", 0);
    self->name = gm_read(plan, "name", GM_UTF8);
    self->amount = gm_read(plan, "amount", GM_FLOAT64);
    self->rate = gm_read_lookup(plan, gm_look_up(plan, "currencies", "currency", "rate"), GM_FLOAT64);
    self->records = gm_add_output(plan, "records");
    gm_forward(plan, self->records, "order_id");
    self->trimmed = gm_compute(plan, self->records, "name", gm_utf8());
    self->euros = gm_compute_required(plan, self->records, "euros", gm_decimal128(18, 2));
}

static void process(const gm_batch *batch, gm_outputs *outputs, const void *state) {
    const orders *self = state;
    gm_text_column names = gm_text_in(batch, self->name);
    gm_float64_column amounts = gm_float64_in(batch, self->amount), rates = gm_float64_in(batch, self->rate);
    gm_selection *selection = gm_selection_out(outputs, self->records);
    gm_text_builder *trimmed = gm_text_out(outputs, self->trimmed);
    gm_decimal128_builder *euros = gm_decimal128_out(outputs, self->euros);
    for (uint32_t row = 0; row < gm_rows(batch); row++) {
        double amount, rate;
        if (!gm_float64_get(amounts, row, &amount) || !gm_float64_get(rates, row, &rate)) {
            gm_reject(outputs, row, "missing-amount", "amount", "no amount, or an unknown currency");
            continue;
        }
        if (amount > self->max_amount) {
            gm_reject(outputs, row, "too-large", "amount", "more than max_amount");
            continue;
        }
        gm_select(selection, row);
        gm_text name;
        if (gm_text_get(names, row, &name))
            gm_text_push(trimmed, gm_text_trim(name));
        else
            gm_text_push_null(trimmed);
        gm_decimal128_push(euros, (gm_int128)round(amount * rate * 100));
    }
}

const gm_transform gristmill_transform = {.state_size = sizeof(orders), .plan = plan, .process = process};
