// Every type of the contract goes through the plan, views and builders and comes out as it went in.
#include <gristmill/testing.h>
#include <math.h>
#include <string.h>

typedef enum { GIVEN, TAKEN, BUILT } way;

typedef struct {
    way way;
    gm_output records;
    uint32_t count;
    gm_in reads[40];
    gm_out columns[40];
} identity;

static void plan(gm_plan *plan, void *state) {
    identity *self = state;
    self->way = (way)gm_config_int(plan, "way", 0, 0, 2);
    self->records = gm_add_output(plan, "records");
    self->count = gm_input_count(plan);
    for (uint32_t i = 0; i < self->count; i++) {
        self->reads[i] = gm_read_any(plan, gm_input(plan, i)->name);
        self->columns[i] = gm_compute_field(plan, self->records, *gm_input(plan, i));
    }
}

static void push(gm_builder *to, gm_array from, uint32_t row);

static void push_nested(gm_builder *to, gm_array from, uint32_t row) {
    if (from.field->type.kind == GM_STRUCT) {
        for (uint32_t i = 0; i < from.field->type.child_count; i++)
            push(gm_child_builder(to, i), gm_child(from, i), row);
    } else {
        gm_list_column lists = gm_list_of(from);
        gm_range range = gm_list_at(lists, row);
        for (uint32_t item = range.start; item < range.end; item++) push(gm_child_builder(to, 0), lists.items, item);
    }
    gm_end_value(to);
}

#define PUSH(name) gm_##name##_push(gm_##name##_builder_of(to), gm_##name##_at(gm_##name##_of(from), row))

static void push(gm_builder *to, gm_array from, uint32_t row) {
    if (gm_is_null(from, row)) {
        gm_push_null(to);
        return;
    }
    switch (from.field->type.kind) {
        case GM_NULL: break;
        case GM_BOOLEAN: PUSH(bool); break;
        case GM_INT8: PUSH(int8); break;
        case GM_INT16: PUSH(int16); break;
        case GM_INT32:
        case GM_DATE32:
        case GM_TIME32: PUSH(int32); break;
        case GM_INT64:
        case GM_DATE64:
        case GM_TIME64:
        case GM_TIMESTAMP:
        case GM_DURATION: PUSH(int64); break;
        case GM_UINT8: PUSH(uint8); break;
        case GM_UINT16: PUSH(uint16); break;
        case GM_UINT32: PUSH(uint32); break;
        case GM_UINT64: PUSH(uint64); break;
        case GM_FLOAT16: PUSH(float16); break;
        case GM_FLOAT32: PUSH(float32); break;
        case GM_FLOAT64: PUSH(float64); break;
        case GM_DECIMAL128: PUSH(decimal128); break;
        case GM_DECIMAL256: PUSH(decimal256); break;
        case GM_UTF8:
        case GM_LARGE_UTF8: PUSH(text); break;
        case GM_BINARY:
        case GM_LARGE_BINARY:
        case GM_FIXED_SIZE_BINARY: PUSH(bytes); break;
        default: push_nested(to, from, row);
    }
}

static void process(const gm_batch *batch, gm_outputs *outputs, const void *state) {
    const identity *self = state;
    for (uint32_t i = 0; i < self->count; i++) {
        gm_array from = gm_any_in(batch, self->reads[i]);
        for (uint32_t row = 0; self->way == TAKEN && row < gm_rows(batch); row++)
            gm_push_rows(gm_any_out(outputs, self->columns[i]), from, &row, 1);
        for (uint32_t row = 0; self->way == BUILT && row < gm_rows(batch); row++)
            push(gm_any_out(outputs, self->columns[i]), from, row);
        if (self->way == GIVEN) gm_give(outputs, self->columns[i], from);
    }
}

static const gm_transform identity_transform = {.state_size = sizeof(identity), .plan = plan, .process = process};

static const char EVERY_TYPE[] =
    "n:null,b:boolean,i8:int8,i16:int16,i32:int32,i64:int64 not null,u8:uint8,u16:uint16,u32:uint32,u64:uint64,"
    "f16:float16,f32:float32,f64:float64,d128:decimal128(38, 10),d256:decimal256(50, 2),t:utf8,lt:large_utf8,"
    "bin:binary,lbin:large_binary,fix:fixed_size_binary(3),day:date32,day64:date64,t32:time32(s),t64:time64(ns),"
    "at:timestamp(us, Europe/Paris),local:timestamp(ms),took:duration(ns),list:list<int64>,"
    "ll:large_list<utf8 not null>,fl:fixed_size_list<int16, 2>,s:struct<a: int32, b: utf8 not null>,"
    "m:map<utf8, list<int32>>,deep:list<struct<c: list<utf8>, d: map<int8, fixed_size_list<boolean, 2>>>>\n"
    ",true,-128,-32768,-2147483648,-9223372036854775808,255,65535,4294967295,9223372036854775807,"
    "-1.5,0.25,1e300,-0.0000000001,-12.34,a,\xc3\xa9,00ff,ff,616263,1969-12-31,-1,86399,1,"
    "-1,2,3,[1,null,3],[\"x\",\"\"],[1,null],[7,\"y\"],[[\"k\",[1]],[\"l\",null]],[[[\"p\",null],[[1,[true,false]]]],null]\n"
    ",,,,,0,,,,,,,,,,,,,,,,,,,,,,,,,,,\n"
    ",false,127,32767,2147483647,9223372036854775807,0,0,0,0,"
    "65504,-3.5,-0.5,9999999999999999999999999999.9999999999,0.00,\"\",\"\",\"\",\"\",000000,2000-02-29,0,0,0,"
    "0,0,0,[],[],[3,4],[null,\"\"],[],[]\n";

static void comes_back(const char *way) {
    gm_harness *harness = gm_harness_new(gm_stage_migrate);
    gm_harness_config(harness, gm_concat("{\"way\": ", way, "}", NULL));
    const gm_run *run = gm_harness_run(harness, &identity_transform, gm_table_csv(EVERY_TYPE));
    const char *wanted =
        "n | b | i8 | i16 | i32 | i64 | u8 | u16 | u32 | u64 | f16 | f32 | f64 | d128 | d256 | t | lt | bin | lbin | fix | "
        "day | day64 | t32 | t64 | at | local | took | list | ll | fl | s | m | deep\n"
        "null | true | -128 | -32768 | -2147483648 | -9223372036854775808 | 255 | 65535 | 4294967295 | "
        "9223372036854775807 | -1.5 | 0.25 | 1e+300 | -0.0000000001 | -12.34 | a | \xc3\xa9 | 00ff | ff | 616263 | 1969-12-31 | "
        "-1 | 86399 | 1 | -1 | 2 | 3 | [1, null, 3] | [x, ] | [1, null] | {7, y} | [{k, [1]}, {l, null}] | "
        "[{[p, null], [{1, [true, false]}]}, null]\n"
        "null | null | null | null | null | 0 | null | null | null | null | null | null | null | null | null | null | null | "
        "null | null | null | null | null | null | null | null | null | null | null | null | null | null | null | null\n"
        "null | false | 127 | 32767 | 2147483647 | 9223372036854775807 | 0 | 0 | 0 | 0 | 65504 | -3.5 | -0.5 | "
        "9999999999999999999999999999.9999999999 | 0.00 |  |  |  |  | 000000 | 2000-02-29 | 0 | 0 | 0 | 0 | 0 | 0 | [] | [] | "
        "[3, 4] | {null, } | [] | []\n";
    GM_EXPECT_TEXT(gm_run_output(run, "records"), wanted);
    GM_EXPECT(gm_run_columns_read(run) == 33);
}

GM_TEST(every_type_is_given_back) { comes_back("0"); }
GM_TEST(every_type_is_taken_row_by_row) { comes_back("1"); }
GM_TEST(every_type_is_built_anew) { comes_back("2"); }

GM_TEST(no_rows_are_no_problem) {
    const char *header = gm_copy((gm_text){EVERY_TYPE, (uint32_t)(strchr(EVERY_TYPE, '\n') - EVERY_TYPE + 1)});
    for (const char *way = "012"; *way; way++) {
        gm_harness *harness = gm_harness_new(gm_stage_migrate);
        gm_harness_config(harness, gm_concat("{\"way\": ", gm_copy((gm_text){way, 1}), "}", NULL));
        const gm_run *run = gm_harness_run(harness, &identity_transform, gm_table_csv(header));
        GM_EXPECT(!gm_run_failure(run));
        GM_EXPECT_TEXT(gm_run_selection(run, "records"), "");
    }
}

GM_TEST(halves_are_exact_and_round_to_even) {
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        float value = gm_float16_to_float((uint16_t)bits);
        if (isnan(value))
            GM_EXPECT(isnan(gm_float16_to_float(gm_float16_from_float(value))));
        else
            GM_EXPECT(gm_float16_from_float(value) == bits);
    }
    GM_EXPECT(gm_float16_to_float(gm_float16_from_float(2049)) == 2048);
    GM_EXPECT(gm_float16_to_float(gm_float16_from_float(2051)) == 2052);
    GM_EXPECT(gm_float16_to_float(gm_float16_from_float(65519)) == 65504);
    GM_EXPECT(gm_float16_to_float(gm_float16_from_float(65520)) == INFINITY);
    GM_EXPECT(gm_float16_to_float(gm_float16_from_float(1e-9f)) == 0);
}

GM_TEST(wide_integers_narrow_only_when_they_fit) {
    gm_int128 most = (gm_int128)(~(gm_uint128)0 >> 1), values[] = {0, 1, -1, most, -most - 1}, narrow;
    for (int i = 0; i < 5; i++) {
        GM_EXPECT(gm_int256_to_int128(gm_int256_from(values[i]), &narrow));
        GM_EXPECT(narrow == values[i]);
    }
    GM_EXPECT(!gm_int256_to_int128((gm_int256){{0, 1ull << 63, 0, 0}}, &narrow));
    GM_EXPECT(!gm_int256_to_int128((gm_int256){{0, 0, 0, 1}}, &narrow));
}
