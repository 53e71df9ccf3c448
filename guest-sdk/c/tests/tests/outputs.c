// Several outputs, selections, operations, and rows one by one.
#include <gristmill/testing.h>

typedef struct {
    gm_output lines, deleted;
    gm_in operation, tags;
    gm_out tag;
} explode;

static void plan_explode(gm_plan *plan, void *state) {
    explode *self = state;
    self->lines = gm_add_output(plan, "lines");
    gm_forward(plan, self->lines, "id");
    self->tags = gm_read(plan, "tags", GM_LIST);
    self->tag = gm_compute(plan, self->lines, "tag", gm_utf8());
    self->deleted = gm_add_output(plan, "deleted");
    gm_forward_as(plan, self->deleted, "order", "id");
    gm_forward_operation(plan, self->deleted, "did");
    self->operation = gm_read_operation(plan);
}

static void process_explode(const gm_batch *batch, gm_outputs *outputs, const void *state) {
    const explode *self = state;
    gm_list_column tags = gm_list_in(batch, self->tags);
    gm_text_column items = gm_text_of(tags.items);
    gm_uint8_column operations = gm_uint8_in(batch, self->operation);
    gm_selection *lines = gm_selection_out(outputs, self->lines), *deleted = gm_selection_out(outputs, self->deleted);
    gm_text_builder *tag = gm_text_out(outputs, self->tag);
    for (uint32_t row = gm_rows(batch); row-- > 0;) {
        if (gm_uint8_at(operations, row) == GM_DELETE) gm_select(deleted, row);
        gm_range range = {0, 0};
        gm_list_get(tags, row, &range);
        for (uint32_t item = range.start; item < range.end; item++) {
            gm_select_as(lines, row, item == range.start ? GM_INSERT : GM_UPDATE);
            gm_text_push(tag, gm_text_at(items, item));
        }
    }
}

GM_TEST(rows_are_left_out_repeated_and_reordered) {
    static const gm_transform transform = {
        .state_size = sizeof(explode), .plan = plan_explode, .process = process_explode};
    gm_harness *harness = gm_harness_new(gm_stage_map);
    gm_harness_operations(harness, "iudd");
    const gm_run *run = gm_harness_run(
        harness, &transform, gm_table_csv("id:int64,tags:list<utf8>\n1,[\"a\",\"b\"]\n2,\n3,[]\n4,[\"c,d\"]\n"));
    GM_EXPECT_TEXT(gm_run_output(run, "lines"), "id | tag\n4 | c,d\n1 | a\n1 | b\n");
    GM_EXPECT_TEXT(gm_run_selection(run, "lines"), "3 0 0");
    GM_EXPECT_TEXT(gm_run_operations(run, "lines"), "iiu");
    GM_EXPECT_TEXT(gm_run_output(run, "deleted"), "order | did\n4 | 2\n3 | 2\n");
    GM_EXPECT_TEXT(gm_run_operations(run, "deleted"), "dd");
}

typedef struct {
    gm_output numbers;
} numbers;

static void plan_numbers(gm_plan *plan, void *state) {
    numbers *self = state;
    gm_read(plan, "n", GM_INT64);
    gm_read(plan, "t", GM_UTF8);
    gm_read(plan, "d", GM_DECIMAL128);
    gm_read(plan, "f", GM_FLOAT32);
    gm_read(plan, "b", GM_BOOLEAN);
    gm_read(plan, "x", GM_BINARY);
    gm_read_operation(plan);
    gm_read_lookup(plan, gm_look_up(plan, "names", "n", "name"), GM_UTF8);
    self->numbers = gm_add_output(plan, "numbers");
    gm_compute(plan, self->numbers, "small", gm_int8());
    gm_compute(plan, self->numbers, "text", gm_utf8());
    gm_compute(plan, self->numbers, "decimal", gm_decimal256(40, 2));
    gm_compute(plan, self->numbers, "float", gm_float64());
    gm_compute(plan, self->numbers, "bool", gm_boolean());
    gm_compute(plan, self->numbers, "bytes", gm_fixed_size_binary(2));
}

static void row_numbers(gm_row *row, const void *state) {
    const numbers *self = state;
    int64_t copies = gm_row_int(row, "n");
    for (int64_t i = 0; i < copies; i++) {
        gm_row_output *out = gm_row_out(row, self->numbers);
        gm_put_int(out, "small", copies * 40);
        gm_put_text(out, "text", gm_row_text(row, "names.name"));
        gm_put_text(out, "text", GM_TEXT("a second value does nothing"));
        if (gm_row_has(row, "d")) gm_put_decimal(out, "decimal", gm_row_decimal(row, "d"));
        gm_put_float(out, "float", gm_row_float(row, "f") + gm_row_float(row, "n"));
        gm_put_bool(out, "bool", !gm_row_bool(row, "b"));
        gm_put_bytes(out, "bytes", gm_row_bytes(row, "x"));
        if (gm_row_int(row, "operation") == GM_UPDATE) gm_put_operation(out, GM_DELETE);
    }
    if (gm_text_is(gm_row_text(row, "t"), "refuse")) gm_row_reject(row, "refused", NULL, "it asks to be refused");
}

static const gm_transform numbers_transform = {.state_size = sizeof(numbers), .plan = plan_numbers, .row = row_numbers};

static const gm_run *run_numbers(const char *operations, const char *rows) {
    gm_harness *harness = gm_harness_new(gm_stage_map);
    gm_harness_operations(harness, operations);
    gm_harness_dictionary(harness, "names", "n", gm_table_csv("n:int64,name\n1,one\n2,two\n4,four\n"));
    const char *header = "n:int64,t,d:decimal128(5, 2),f:float32,b:boolean,x:binary\n";
    return gm_harness_run(harness, &numbers_transform, gm_table_csv(gm_concat(header, rows, NULL)));
}

GM_TEST(cells_of_every_sort_go_by_name) {
    const gm_run *run = run_numbers("ii", "1,a,-1.50,0.5,true,0102\n2,a,,1,false,0304\n");
    GM_EXPECT_TEXT(gm_run_output(run, "numbers"),
                   "small | text | decimal | float | bool | bytes\n"
                   "40 | one | -1.50 | 1.5 | false | 0102\n"
                   "80 | two | null | 3 | true | 0304\n"
                   "80 | two | null | 3 | true | 0304\n");
    GM_EXPECT_TEXT(gm_run_selection(run, "numbers"), "0 1 1");
}

GM_TEST(what_a_rejected_row_wrote_is_taken_back) {
    const gm_run *run = run_numbers("iiiiiii",
                                    "2,refuse,1,0,true,0102\n"
                                    "4,a,1,0,true,0102\n"
                                    "3,a,1,0,true,0102\n"
                                    "1,a,1,0,,0102\n"
                                    "1,a,1,0,true,01\n"
                                    "0,a,1,0,true,0102\n"
                                    "1,a,1,0,true,0506\n");
    GM_EXPECT_TEXT(gm_run_output(run, "numbers"),
                   "small | text | decimal | float | bool | bytes\n40 | one | 1.00 | 1 | false | 0506\n");
    GM_EXPECT_TEXT(gm_run_rejects(run),
                   "0 refused\n1 out-of-range small\n2 missing-value names.name\n3 missing-value b\n4 out-of-range bytes\n");
}

GM_TEST(operations_are_set_for_all_rows_or_none) {
    const char *rows = "1,a,1,0,true,0102\n1,a,2,0,true,0102\n1,a,3,0,true,0102\n";
    const gm_run *all = run_numbers("uuu", rows), *some = run_numbers("uiu", rows), *late = run_numbers("iui", rows);
    GM_EXPECT_TEXT(gm_run_operations(all, "numbers"), "ddd");
    GM_EXPECT_TEXT(gm_run_rejects(some), "1 mixed-operations\n");
    GM_EXPECT_TEXT(gm_run_operations(some, "numbers"), "dd");
    GM_EXPECT_TEXT(gm_run_rejects(late), "1 mixed-operations\n");
    GM_EXPECT_TEXT(gm_run_operations(late, "numbers"), "ii");
}
