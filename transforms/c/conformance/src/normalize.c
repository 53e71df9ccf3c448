// Stage normalize: of the output's columns those whose inputs are there, one loop for each.
#include "conformance.h"

#include <string.h>

static const int64_t DAY_US = 86400000000;
enum { SCALE = 10 };

static const gm_field *find(gm_plan *plan, const char *name, gm_type type) {
    const gm_field *field = gm_input_named(plan, name);
    if (field && !gm_type_equal(&field->type, &type)) {
        gm_fail(plan, "wrong-type",
                gm_concat("column `", name, "` is ", gm_type_text(&field->type), ", not ", gm_type_text(&type), NULL));
        return NULL;
    }
    return field;
}

/// Reads an input column, if it is there, and computes a column of it.
static computed compute(gm_plan *plan, const normalize *self, const char *from, gm_type type, const char *to,
                        gm_type to_type) {
    if (!find(plan, from, type)) return (computed){.is_there = false};
    return (computed){gm_compute(plan, self->records, to, to_type), gm_read_any(plan, from), true};
}

static void plan_code(gm_plan *plan, normalize *self) {
    if (!find(plan, "code", gm_utf8())) return;
    gm_forward_lookup(plan, self->records, "name", gm_look_up(plan, "codes", "code", "name"));
    gm_in weight = gm_read_lookup(plan, gm_look_up(plan, "codes", "code", "weight"), GM_INT64);
    self->weight = (computed){gm_compute_required(plan, self->records, "weight", gm_int64()), weight, true};
}

static void plan_decimals(gm_plan *plan, normalize *self) {
    gm_type decimal = gm_decimal128(38, SCALE);
    bool fee = find(plan, "fee", decimal), amount = find(plan, "amount", decimal);
    if (!fee || !amount) return;
    self->fee = gm_read_any(plan, "fee");
    self->total = gm_compute(plan, self->records, "total", decimal);
    self->negated = gm_compute(plan, self->records, "negated", decimal);
    self->order = gm_compute(plan, self->records, "order", gm_int8());
    self->amount = compute(plan, self, "amount", decimal, "amount_text", gm_utf8());
}

static void plan_at(gm_plan *plan, normalize *self) {
    const gm_field *at = gm_input_named(plan, "at");
    if (!at) return;
    self->at = compute(plan, self, "at", gm_timestamp(GM_MICROSECOND, at->type.zone), "day", gm_date32());
    self->time = gm_compute(plan, self->records, "time", gm_time64(GM_MICROSECOND));
}

void normalize_plan(gm_plan *plan, normalize *self) {
    self->step = gm_config_int(plan, "step", 1, -1000, 1000);
    self->records = gm_add_output(plan, "records");
    find(plan, "id", gm_int64());
    gm_forward(plan, self->records, "id");
    plan_code(plan, self);
    self->text = compute(plan, self, "text", gm_utf8(), "text", gm_utf8());
    if (self->text.is_there) self->text_state = gm_compute_required(plan, self->records, "text_state", gm_uint8());
    plan_decimals(plan, self);
    plan_at(plan, self);
    self->count = compute(plan, self, "count", gm_int64(), "next", gm_int64());
    if (self->count.is_there) self->mixed = gm_compute(plan, self->records, "mixed", gm_int64());
    self->ratio = compute(plan, self, "ratio", gm_float64(), "half", gm_float64());
    if (self->ratio.is_there) self->finite = gm_compute(plan, self->records, "finite", gm_boolean());
    self->data = compute(plan, self, "data", gm_binary(), "reversed", gm_binary());
    self->numbers = compute(plan, self, "numbers", gm_list(gm_nullable("item", gm_int64())), "sum", gm_int64());
    gm_type place = gm_struct(GM_FIELDS(gm_nullable("city", gm_utf8()), gm_nullable("score", gm_int32())));
    self->place = compute(plan, self, "place", place, "city", gm_utf8());
    gm_type visit = gm_struct(GM_FIELDS(gm_nullable("page", gm_utf8()), gm_nullable("seconds", gm_int32())));
    gm_type visits = gm_list(gm_nullable("item", visit));
    self->visits = compute(plan, self, "visits", visits, "visits", visits);
}

/// The rows that are not rejected. `rows` is NULL where that is all of them, and only there.
typedef struct {
    const uint32_t *rows;
    uint32_t count;
} accepted;

static inline uint32_t row_of(accepted rows, uint32_t i) { return rows.rows ? rows.rows[i] : i; }

typedef enum { FINE, REFUSED, TOTAL_OVERFLOW, COUNT_OVERFLOW } fault;

/// A mebibyte of this instance's memory, written so that it is truly taken.
static void hoard(void) {
    enum { MIB = 1 << 20, PAGE = 4096 };
    volatile uint8_t *kept = gm_alloc(MIB);
    for (uint32_t at = 0; at < MIB; at += PAGE) kept[at] = 1;
}

static void find_refused(const normalize *self, const gm_batch *batch, const gm_text *folded,
                         uint8_t *faults) {
    gm_text_column texts = gm_text_in(batch, self->text.from);
    for (uint32_t row = 0; row < texts.rows; row++) {
        if (folded[row].len != 5 && folded[row].len != 6) continue;
        if (gm_text_is_null(texts, row)) continue;
        if (gm_text_is(folded[row], "raise")) gm_panic("asked to raise");
        // A process ends by exit; a transform in C has none.
        if (gm_text_is(folded[row], "leave")) gm_panic("asked to leave");
        if (gm_text_is(folded[row], "hoard")) hoard();
        if (gm_text_is(folded[row], "reject")) faults[row] = REFUSED;
    }
}

static void find_large_totals(const normalize *self, const gm_batch *batch, uint8_t *faults) {
    static const int64_t ten_to_19 = 1000000000000000000;
    const gm_int128 limit = (gm_int128)ten_to_19 * ten_to_19 * 100;
    gm_decimal128_column amounts = gm_decimal128_in(batch, self->amount.from), fees = gm_decimal128_in(batch, self->fee);
    for (uint32_t row = 0; row < amounts.rows; row++) {
        gm_int128 total;
        bool over = __builtin_add_overflow(amounts.values[row], fees.values[row], &total);
        if (__builtin_expect(!over && total < limit && total > -limit, true)) continue;
        if (!faults[row] && !gm_decimal128_is_null(amounts, row) && !gm_decimal128_is_null(fees, row))
            faults[row] = TOTAL_OVERFLOW;
    }
}

static void find_large_counts(const normalize *self, const gm_batch *batch, uint8_t *faults) {
    gm_int64_column counts = gm_int64_in(batch, self->count.from);
    for (uint32_t row = 0; row < counts.rows; row++) {
        int64_t next;
        if (__builtin_expect(!__builtin_add_overflow(counts.values[row], self->step, &next), true)) continue;
        if (!faults[row] && !gm_int64_is_null(counts, row)) faults[row] = COUNT_OVERFLOW;
    }
}

static accepted reject(gm_outputs *outputs, const normalize *self, const uint8_t *faults, uint32_t rows) {
    static const struct {
        const char *code, *field, *message;
    } texts[] = {
        [REFUSED] = {"refused", "text", "the text asks to be refused"},
        [TOTAL_OVERFLOW] = {"overflow", "amount", "the total has more than 38 digits"},
        [COUNT_OVERFLOW] = {"overflow", "count", "the next count does not fit int64"},
    };
    uint32_t bad = 0;
    for (uint32_t row = 0; row < rows; row++) bad += faults[row] != FINE;
    if (!bad) return (accepted){NULL, rows};
    gm_selection *selection = gm_selection_out(outputs, self->records);
    for (uint32_t row = 0; row < rows; row++) {
        if (faults[row] == FINE)
            gm_select(selection, row);
        else
            gm_reject(outputs, row, texts[faults[row]].code, texts[faults[row]].field, texts[faults[row]].message);
    }
    gm_say(outputs, gm_concat(gm_int_text(bad), " of ", gm_int_text(rows), " rows rejected", NULL));
    static const uint32_t none[1];
    return (accepted){selection->len ? selection->rows : none, selection->len};
}

static void put_weight(const normalize *self, const gm_batch *batch, gm_outputs *outputs, accepted rows) {
    gm_int64_column weights = gm_int64_in(batch, self->weight.from);
    int64_t *to = gm_int64_extend(gm_int64_out(outputs, self->weight.column), rows.count);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = row_of(rows, i);
        to[i] = gm_int64_is_null(weights, row) ? -1 : weights.values[row];
    }
}

static void put_text(const normalize *self, const gm_batch *batch, gm_outputs *outputs, accepted rows,
                     const gm_text *folded) {
    gm_text_column texts = gm_text_in(batch, self->text.from);
    gm_text_builder *to = gm_text_out(outputs, self->text.column);
    uint8_t *state = gm_uint8_extend(gm_uint8_out(outputs, self->text_state), rows.count);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = row_of(rows, i);
        if (gm_text_is_null(texts, row)) {
            gm_text_push_null(to);
            state[i] = 0;
            continue;
        }
        gm_text_push(to, folded[row]);
        state[i] = folded[row].len ? 2 : 1;
    }
}

static void put_decimals(const normalize *self, const gm_batch *batch, gm_outputs *outputs, accepted rows) {
    gm_array amounts = gm_any_in(batch, self->amount.from), fees = gm_any_in(batch, self->fee);
    gm_decimal128_column amount = gm_decimal128_of(amounts), fee = gm_decimal128_of(fees);
    gm_decimal128_builder *total = gm_decimal128_out(outputs, self->total);
    gm_decimal128_builder *negated = gm_decimal128_out(outputs, self->negated);
    gm_int8_builder *order = gm_int8_out(outputs, self->order);
    gm_text_builder *text = gm_text_out(outputs, self->amount.column);
    // Unsigned, because what lies behind a null may be anything.
    gm_uint128 *totals = (gm_uint128 *)gm_decimal128_extend(total, rows.count);
    gm_uint128 *negatives = (gm_uint128 *)gm_decimal128_extend(negated, rows.count);
    int8_t *orders = gm_int8_extend(order, rows.count);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = row_of(rows, i);
        gm_int128 a = amount.values[row], b = fee.values[row];
        totals[i] = (gm_uint128)a + (gm_uint128)b;
        negatives[i] = -(gm_uint128)a;
        orders[i] = (int8_t)((a > b) - (a < b));
        if (gm_decimal128_is_null(amount, row)) {
            gm_text_push_null(text);
        } else {
            gm_text_append_decimal(text, a, SCALE);
            gm_text_end(text, 0);
        }
    }
    gm_take_nulls(&total->base, amounts, rows.rows);
    gm_take_nulls(&total->base, fees, rows.rows);
    gm_take_nulls(&negated->base, amounts, rows.rows);
    gm_take_nulls(&order->base, amounts, rows.rows);
    gm_take_nulls(&order->base, fees, rows.rows);
}

static void put_at(const normalize *self, const gm_batch *batch, gm_outputs *outputs, accepted rows) {
    gm_array ats = gm_any_in(batch, self->at.from);
    gm_int64_column at = gm_int64_of(ats);
    gm_int32_builder *day = gm_int32_out(outputs, self->at.column);
    gm_int64_builder *time = gm_int64_out(outputs, self->time);
    int32_t *days = gm_int32_extend(day, rows.count);
    int64_t *times = gm_int64_extend(time, rows.count);
    for (uint32_t i = 0; i < rows.count; i++) {
        int64_t value = at.values[row_of(rows, i)], whole = value / DAY_US, rest = value - whole * DAY_US;
        int64_t before = rest < 0;
        days[i] = (int32_t)(whole - before);
        times[i] = rest + before * DAY_US;
    }
    gm_take_nulls(&day->base, ats, rows.rows);
    gm_take_nulls(&time->base, ats, rows.rows);
}

static void put_count(const normalize *self, const gm_batch *batch, gm_outputs *outputs, accepted rows) {
    gm_array counts = gm_any_in(batch, self->count.from);
    gm_int64_column count = gm_int64_of(counts);
    gm_int64_builder *next = gm_int64_out(outputs, self->count.column), *mixed = gm_int64_out(outputs, self->mixed);
    uint64_t *nexts = (uint64_t *)gm_int64_extend(next, rows.count);
    uint64_t *mixes = (uint64_t *)gm_int64_extend(mixed, rows.count);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint64_t value = (uint64_t)count.values[row_of(rows, i)];
        nexts[i] = value + (uint64_t)self->step;
        mixes[i] = value * 31 + 7;
    }
    gm_take_nulls(&next->base, counts, rows.rows);
    gm_take_nulls(&mixed->base, counts, rows.rows);
}

static void put_ratio(const normalize *self, const gm_batch *batch, gm_outputs *outputs, accepted rows) {
    gm_array ratios = gm_any_in(batch, self->ratio.from);
    gm_float64_column ratio = gm_float64_of(ratios);
    gm_float64_builder *half = gm_float64_out(outputs, self->ratio.column);
    gm_bool_builder *finite = gm_bool_out(outputs, self->finite);
    double *halves = gm_float64_extend(half, rows.count);
    for (uint32_t i = 0; i < rows.count; i++) {
        double value = ratio.values[row_of(rows, i)];
        halves[i] = value == value ? value * 0.5 : __builtin_nan("");
        gm_bool_push(finite, __builtin_isfinite(value));
    }
    gm_take_nulls(&half->base, ratios, rows.rows);
    gm_take_nulls(&finite->base, ratios, rows.rows);
}

static void put_data(const normalize *self, const gm_batch *batch, gm_outputs *outputs, accepted rows) {
    gm_bytes_column data = gm_bytes_in(batch, self->data.from);
    gm_bytes_builder *reversed = gm_bytes_out(outputs, self->data.column);
    for (uint32_t i = 0; i < rows.count; i++) {
        gm_bytes bytes;
        if (!gm_bytes_get(data, row_of(rows, i), &bytes)) {
            gm_bytes_push_null(reversed);
            continue;
        }
        uint8_t *to = gm_bytes_reserve(reversed, bytes.len);
        for (uint32_t k = 0; k < bytes.len; k++) to[k] = bytes.data[bytes.len - 1 - k];
        gm_bytes_end(reversed, bytes.len);
    }
}

static void put_numbers(const normalize *self, const gm_batch *batch, gm_outputs *outputs, accepted rows) {
    gm_array lists = gm_any_in(batch, self->numbers.from);
    gm_list_column numbers = gm_list_of(lists);
    gm_int64_column items = gm_int64_of(numbers.items);
    gm_int64_builder *sum = gm_int64_out(outputs, self->numbers.column);
    int64_t *sums = gm_int64_extend(sum, rows.count);
    for (uint32_t i = 0; i < rows.count; i++) {
        gm_range range = gm_list_at(numbers, row_of(rows, i));
        uint64_t total = 0;
        for (uint32_t item = range.start; item < range.end; item++)
            total += gm_int64_is_null(items, item) ? 0 : (uint64_t)items.values[item];
        sums[i] = (int64_t)total;
    }
    gm_take_nulls(&sum->base, lists, rows.rows);
}

static void put_place(const normalize *self, const gm_batch *batch, gm_outputs *outputs, accepted rows) {
    gm_array places = gm_any_in(batch, self->place.from);
    gm_text_column cities = gm_text_of(gm_member(places, "city"));
    gm_text_builder *city = gm_text_out(outputs, self->place.column);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t row = row_of(rows, i);
        gm_text text;
        if (!gm_is_null(places, row) && gm_text_get(cities, row, &text))
            gm_text_push(city, text);
        else
            gm_text_push_null(city);
    }
}

static void put_visits(const normalize *self, const gm_batch *batch, gm_outputs *outputs, accepted rows) {
    gm_array visits = gm_any_in(batch, self->visits.from);
    if (rows.rows)
        gm_push_rows(gm_any_out(outputs, self->visits.column), visits, rows.rows, rows.count);
    else
        gm_give(outputs, self->visits.column, visits);
}

void normalize_process(const gm_batch *batch, gm_outputs *outputs, const normalize *self) {
    uint32_t count = gm_rows(batch);
    uint8_t *faults = gm_alloc(count);
    memset(faults, FINE, count);
    const gm_text *folded = self->text.is_there ? fold(gm_text_in(batch, self->text.from)) : NULL;
    if (self->text.is_there) find_refused(self, batch, folded, faults);
    if (self->amount.is_there) find_large_totals(self, batch, faults);
    if (self->count.is_there) find_large_counts(self, batch, faults);
    accepted rows = reject(outputs, self, faults, count);
    if (self->weight.is_there) put_weight(self, batch, outputs, rows);
    if (self->text.is_there) put_text(self, batch, outputs, rows, folded);
    if (self->amount.is_there) put_decimals(self, batch, outputs, rows);
    if (self->at.is_there) put_at(self, batch, outputs, rows);
    if (self->count.is_there) put_count(self, batch, outputs, rows);
    if (self->ratio.is_there) put_ratio(self, batch, outputs, rows);
    if (self->data.is_there) put_data(self, batch, outputs, rows);
    if (self->numbers.is_there) put_numbers(self, batch, outputs, rows);
    if (self->place.is_there) put_place(self, batch, outputs, rows);
    if (self->visits.is_there) put_visits(self, batch, outputs, rows);
}
