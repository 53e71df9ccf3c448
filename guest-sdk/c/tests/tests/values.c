// Texts, numbers, dates, JSON, and memory.
#include <gristmill/testing.h>
#include <string.h>

GM_TEST(integers_are_read_or_not_at_all) {
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-7", -7},
                {"007", 7},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"0000000000000000000000001", 1}};
    static const char *const bad[] = {"", "-", "+1", "--1", "1.5", " 1", "1 ", "x", "9223372036854775808",
                                      "-9223372036854775809", "92233720368547758070"};
    int64_t value;
    for (int i = 0; i < 6; i++) {
        GM_EXPECT(gm_parse_int(gm_text_from(good[i].text), &value));
        GM_EXPECT(value == good[i].value);
    }
    for (int i = 0; i < 11; i++) GM_EXPECT(!gm_parse_int(gm_text_from(bad[i]), &value));
}

GM_TEST(decimals_are_read_exactly_or_not_at_all) {
    static const struct {
        const char *text;
        int scale;
        int64_t unscaled;
    } good[] = {{"1", 2, 100}, {"-1.5", 2, -150}, {"0.05", 2, 5}, {"12.34", 2, 1234}, {"-0", 0, 0}, {"000.10", 2, 10}};
    static const char *const bad[] = {"", "-", ".", "1.", ".5", "1.234", "1,5", "1.2.3", "1e3",
                                      "1000000000000000000000000000000000000"};
    gm_int128 value;
    for (int i = 0; i < 6; i++) {
        GM_EXPECT(gm_parse_decimal(gm_text_from(good[i].text), good[i].scale, &value));
        GM_EXPECT(value == good[i].unscaled);
    }
    for (int i = 0; i < 10; i++) GM_EXPECT(!gm_parse_decimal(gm_text_from(bad[i]), 2, &value));
    GM_EXPECT(gm_parse_decimal(GM_TEXT("99999999999999999999999999999999999999"), 0, &value));
}

/// `digits` of a number, by the school's method.
static const char *digits_of(gm_int128 value) {
    char text[41] = {0}, *at = text + 40;
    gm_uint128 left = value < 0 ? -(gm_uint128)value : (gm_uint128)value;
    do *--at = (char)('0' + (int)(left % 10));
    while (left /= 10);
    if (value < 0) *--at = '-';
    return gm_copy((gm_text){at, (uint32_t)strlen(at)});
}

static const char *appended(gm_int128 value, int scale) {
    gm_field field = gm_nullable("text", gm_utf8());
    gm_builder builder = {.field = &field};
    gm_text_append_decimal(gm_text_builder_of(&builder), value, scale);
    return gm_copy((gm_text){(const char *)builder.data, builder.data_len});
}

GM_TEST(decimals_of_every_length_are_written) {
    gm_int128 most = (gm_int128)(~(gm_uint128)0 >> 1);
    GM_EXPECT_TEXT(appended(most, 0), digits_of(most));
    GM_EXPECT_TEXT(appended(-most - 1, 0), digits_of(-most - 1));
    gm_int128 power = 1, mixed = 0;
    for (int i = 0; i < 38; i++, power *= 10, mixed = mixed * 10 + i % 10) {
        GM_EXPECT_TEXT(appended(power, 0), digits_of(power));
        GM_EXPECT_TEXT(appended(power - 1, 0), digits_of(power - 1));
        GM_EXPECT_TEXT(appended(-mixed, 0), digits_of(-mixed));
    }
    GM_EXPECT_TEXT(appended(5, 3), "0.005");
    GM_EXPECT_TEXT(appended(-1234, 3), "-1.234");
    GM_EXPECT_TEXT(appended(0, 2), "0.00");
    GM_EXPECT_TEXT(appended(12, -2), "1200");
    GM_EXPECT_TEXT(appended(0, -2), "0");
}

GM_TEST(floats_are_read_or_not_at_all) {
    double value;
    GM_EXPECT(gm_parse_float(GM_TEXT("-12.5e-1"), &value) && value == -1.25);
    GM_EXPECT(gm_parse_float(GM_TEXT("0.1"), &value) && value == 0.1);
    const char *zeros = gm_concat("1", "000000000000000000000000000000000000000000000000000000000000000000000000", NULL);
    GM_EXPECT(gm_parse_float(gm_text_from(zeros), &value) && value == 1e72);
    static const char *const bad[] = {"", "-", "1.", ".1", "1e", "1e+", "0x1", "inf", "nan", " 1", "1 ", "1f"};
    for (int i = 0; i < 12; i++) GM_EXPECT(!gm_parse_float(gm_text_from(bad[i]), &value));
}

GM_TEST(texts_are_cut_and_compared) {
    gm_text before, after;
    GM_EXPECT(gm_text_is(gm_text_trim(GM_TEXT(" \t a b\r\n")), "a b"));
    GM_EXPECT(gm_text_is(gm_text_trim(GM_TEXT(" \n ")), ""));
    GM_EXPECT(gm_text_is(gm_text_trim_byte(GM_TEXT("  a\t "), ' '), "a\t"));
    GM_EXPECT(gm_text_split(GM_TEXT("k=v=w"), '=', &before, &after));
    GM_EXPECT(gm_text_is(before, "k") && gm_text_is(after, "v=w"));
    GM_EXPECT(!gm_text_split(GM_TEXT("k"), '=', &before, &after));
    GM_EXPECT(gm_text_is(gm_text_slice(GM_TEXT("abc"), 1, 9), "bc"));
    GM_EXPECT(gm_text_is(gm_text_slice(GM_TEXT("abc"), 5, 9), ""));
    GM_EXPECT(gm_text_starts_with(GM_TEXT("abc"), "ab") && !gm_text_starts_with(GM_TEXT("a"), "ab"));
}

GM_TEST(only_utf8_is_utf8) {
    static const char *const good[] = {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\xff",         "\xc3",         "\xc0\x80",         "\xe0\x9f\xbf",
                                      "\xed\xa0\x80", "\xe2\x82",     "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf",
                                      "\x80",         "a\xc3\xc3\xa9"};
    for (int i = 0; i < 6; i++) GM_EXPECT(gm_is_utf8((gm_bytes){(const uint8_t *)good[i], (uint32_t)strlen(good[i])}));
    for (int i = 0; i < 10; i++) GM_EXPECT(!gm_is_utf8((gm_bytes){(const uint8_t *)bad[i], (uint32_t)strlen(bad[i])}));
}

GM_TEST(every_day_is_a_date_and_back) {
    gm_date last = gm_date_from_days(-1000000);
    for (int32_t days = -999999; days <= 1000000; days++) {
        gm_date date = gm_date_from_days(days);
        int32_t back;
        bool next = date.day == last.day + 1 ? date.month == last.month : date.day == 1;
        if (!next || !gm_days_from_date(date, &back) || back != days) gm_test_fail(gm_concat("a day is wrong", NULL));
        last = date;
    }
    int32_t days;
    GM_EXPECT(gm_parse_date(GM_TEXT("1970-01-01"), &days) && days == 0);
    GM_EXPECT(gm_parse_date(GM_TEXT("2000-03-01"), &days) && days == 11017);
    static const char *const bad[] = {"2001-02-29", "2000-13-01", "2000-00-01", "2000-01-00", "2000-1-01", "2000/01/01", "", "-000-01-01"};
    for (int i = 0; i < 8; i++) GM_EXPECT(!gm_parse_date(gm_text_from(bad[i]), &days));
}

GM_TEST(json_is_read_or_refused) {
    const char *problem;
    const gm_json *json = gm_json_parse(
        GM_TEXT(" {\"a\": [1, -2.5e3, true, null], \"b\": \"\\u00e9\\ud83d\\ude00\\n\", \"c\": {}} "), &problem);
    GM_EXPECT(json != NULL);
    if (!json) return;
    const gm_json *a = gm_json_member(json, "a");
    int64_t whole;
    double number;
    GM_EXPECT(a->count == 4 && gm_json_int(&a->items[0], &whole) && whole == 1);
    GM_EXPECT(!gm_json_int(&a->items[1], &whole) && gm_json_float(&a->items[1], &number) && number == -2500);
    GM_EXPECT(a->items[2].kind == GM_JSON_BOOL && a->items[2].boolean && a->items[3].kind == GM_JSON_NULL);
    GM_EXPECT(gm_text_is(gm_json_member(json, "b")->text, "\xc3\xa9\xf0\x9f\x98\x80\n"));
    GM_EXPECT(gm_json_member(json, "d") == NULL);
    static const char *const bad[] = {"",         "{",         "[1,]",       "{\"a\" 1}", "{\"a\":1,}", "01",     "1.",      "tru",
                                      "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"",       "\"\\",       "[1] 2",  "\"\\u00g0\"", "\"\\u``00\"",
                                      "\"\n\"",  "{\"a\":1,\"a\":2}", "-",   "nul"};
    for (int i = 0; i < 20; i++) GM_EXPECT(!gm_json_parse(gm_text_from(bad[i]), &problem));
    char deep[201] = {0};
    memset(deep, '[', 200);
    GM_EXPECT(!gm_json_parse(gm_text_from(deep), &problem));
    GM_EXPECT(strstr(problem, "too deeply nested") != NULL);
}

typedef struct {
    gm_in count;
    gm_output records;
    gm_out text, flag, list;
} growing;

static void plan(gm_plan *plan, void *state) {
    growing *self = state;
    self->count = gm_read(plan, "count", GM_INT32);
    self->records = gm_add_output(plan, "records");
    self->text = gm_compute(plan, self->records, "text", gm_large_utf8());
    self->flag = gm_compute(plan, self->records, "flag", gm_boolean());
    self->list = gm_compute(plan, self->records, "list", gm_list(gm_nullable("item", gm_int16())));
}

/// Pushes far more rows than there are input rows, every third one null.
static void process(const gm_batch *batch, gm_outputs *outputs, const void *state) {
    const growing *self = state;
    uint32_t count = (uint32_t)gm_int32_at(gm_int32_in(batch, self->count), 0);
    gm_text_builder *text = gm_text_out(outputs, self->text);
    gm_bool_builder *flag = gm_bool_out(outputs, self->flag);
    gm_builder *list = gm_any_out(outputs, self->list);
    gm_int16_builder *items = gm_int16_builder_of(gm_child_builder(list, 0));
    gm_selection *selection = gm_selection_out(outputs, self->records);
    for (uint32_t i = 0; i < count; i++) {
        gm_select(selection, 0);
        if (i % 3 == 0) {
            gm_text_push_null(text);
            gm_bool_push_null(flag);
            gm_push_null(list);
            continue;
        }
        gm_text_append(text, GM_TEXT("number "));
        gm_text_append_int(text, -(int64_t)i);
        gm_text_end(text, 0);
        gm_bool_push(flag, i % 2);
        for (uint32_t k = 0; k < i % 5; k++) gm_int16_push(items, (int16_t)i);
        gm_end_value(list);
    }
    // Cutting back and pushing again leaves no trace.
    gm_truncate(&text->base, count - 2);
    gm_text_push_null(text);
    gm_text_push(text, GM_TEXT("last"));
    gm_truncate(&flag->base, count - 2);
    gm_bool_push(flag, true);
    gm_bool_push(flag, false);
    gm_truncate(list, count - 2);
    gm_end_value(list);
    gm_push_null(list);
}

GM_TEST(builders_grow_and_shrink) {
    static const gm_transform transform = {.state_size = sizeof(growing), .plan = plan, .process = process};
    const gm_run *run = gm_harness_run(gm_harness_new(gm_stage_map), &transform, gm_table_csv("count:int32\n10000\n"));
    const char *got = gm_run_output(run, "records");
    GM_EXPECT(strncmp(got, "text | flag | list\nnull | null | null\nnumber -1 | true | [1]\nnumber -2 | false | [2, 2]\nnull |", 90) == 0);
    GM_EXPECT(strstr(got, "number -9997 | true | [9997, 9997]\nnull | true | []\nlast | false | null\n") != NULL);
}
