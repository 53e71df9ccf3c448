// Stage map: orders, last first, and their items.
#include "conformance.h"

void map_plan(gm_plan *plan, map *self) {
    gm_config_int(plan, "step", 1, -1000, 1000);
    const gm_field *tags = gm_input_named(plan, "tags"), *id = gm_input_named(plan, "id");
    const gm_field *code = gm_input_named(plan, "code");
    if ((id && id->type.kind != GM_INT64) || (code && code->type.kind != GM_UTF8) ||
        (tags && (tags->type.kind != GM_LIST || tags->type.children->type.kind != GM_UTF8)))
        gm_fail(plan, "wrong-type", "id, code and tags must be int64, utf8 and list<utf8>");
    self->tags = gm_read(plan, "tags", GM_LIST);
    self->quantity = gm_read(plan, "quantity", GM_INT32);
    self->operation = gm_read_operation(plan);

    self->orders = gm_add_output(plan, "orders");
    gm_forward(plan, self->orders, "id");
    gm_forward_operation(plan, self->orders, "operation");
    gm_forward_lookup(plan, self->orders, "name", gm_look_up(plan, "codes", "code", "name"));
    self->tag_count = gm_compute(plan, self->orders, "tag_count", gm_int32());

    self->items = gm_add_output(plan, "items");
    gm_forward(plan, self->items, "id");
    self->position = gm_compute_required(plan, self->items, "position", gm_int32());
    self->tag = gm_compute(plan, self->items, "tag", gm_utf8());
    gm_forward(plan, self->items, "quantity");
}

static void put_orders(gm_list_column tags, gm_outputs *outputs, const map *self) {
    gm_int32_builder *tag_count = gm_int32_out(outputs, self->tag_count);
    gm_selection *last_first = gm_selection_out(outputs, self->orders);
    for (uint32_t row = tags.rows; row-- > 0;) {
        gm_select(last_first, row);
        gm_range items;
        if (gm_list_get(tags, row, &items))
            gm_int32_push(tag_count, (int32_t)(items.end - items.start));
        else
            gm_int32_push_null(tag_count);
    }
}

void map_process(const gm_batch *batch, gm_outputs *outputs, const map *self) {
    gm_list_column tags = gm_list_in(batch, self->tags);
    gm_int32_column quantities = gm_int32_in(batch, self->quantity);
    gm_uint8_column operations = gm_uint8_in(batch, self->operation);
    put_orders(tags, outputs, self);

    gm_text_column texts = gm_text_of(tags.items);
    const gm_text *folded = fold(texts);
    gm_selection *selection = gm_selection_out(outputs, self->items);
    gm_int32_builder *position = gm_int32_out(outputs, self->position);
    gm_text_builder *tag = gm_text_out(outputs, self->tag);
    for (uint32_t row = 0; row < gm_rows(batch); row++) {
        int32_t quantity = 1;
        if (gm_int32_get(quantities, row, &quantity) && quantity < 0) {
            gm_reject(outputs, row, "negative", "quantity", "the quantity is negative");
            continue;
        }
        bool deleted = quantity == 0 || gm_uint8_at(operations, row) == GM_DELETE;
        gm_range items = {0, 0};
        gm_list_get(tags, row, &items);
        for (uint32_t item = items.start; item < items.end; item++) {
            bool first = item == items.start;
            gm_select_as(selection, row, deleted ? GM_DELETE : first ? GM_INSERT : GM_UPDATE);
            gm_int32_push(position, (int32_t)(item - items.start));
            if (gm_text_is_null(texts, item))
                gm_text_push_null(tag);
            else
                gm_text_push(tag, folded[item]);
        }
    }
}
