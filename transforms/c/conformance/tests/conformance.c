// What no case of tests/conformance/cases shows so directly; those cases run in the component itself.
#include <gristmill/testing.h>

static const gm_run *normalize(const char *config, const char *csv) {
    gm_harness *harness = gm_harness_new(gm_stage_normalize);
    gm_harness_config(harness, config);
    gm_harness_dictionary(harness, "codes", "code", gm_table_csv("code,name,weight:int64\nAT,Austria,7\nBE,,\n"));
    return gm_harness_run(harness, &gristmill_transform, gm_table_csv(csv));
}

GM_TEST(texts_are_folded_by_bytes) {
    const gm_run *run = normalize("{}",
                                  "id:int64,text\n1,  Trim Me  \n2,\"\"\n3,   \n4,\n5,\xc3\x89\x43OLE\n6, Reject \n7,\tA\t \n");
    GM_EXPECT_TEXT(gm_run_output(run, "records"),
                   "id | text | text_state\n1 | trim me | 2\n2 |  | 1\n3 |  | 1\n4 | null | 0\n"
                   "5 | \xc3\x89\x63ole | 2\n7 | \ta\t | 2\n");
    GM_EXPECT_TEXT(gm_run_rejects(run), "5 refused text\n");
    GM_EXPECT_TEXT(gm_run_messages(run), "1 of 7 rows rejected\n");
}

GM_TEST(a_text_may_ask_for_a_trap) {
    GM_EXPECT_TEXT(gm_run_failure(normalize("{}", "id:int64,text\n1,a\n2, RAISE\n")), "trap: asked to raise");
    GM_EXPECT_TEXT(gm_run_failure(normalize("{}", "id:int64,text\n1,a\n2, Leave\n")), "trap: asked to leave");
    GM_EXPECT_TEXT(gm_run_output(normalize("{}", "id:int64,text\n1,Hoard\n"), "records"),
                   "id | text | text_state\n1 | hoard | 2\n");
}

GM_TEST(totals_of_more_than_38_digits_are_rejected) {
    const gm_run *run =
        normalize("{}",
                  "id:int64,amount:decimal128(38, 10),fee:decimal128(38, 10)\n"
                  "1,-0.5,0.25\n2,,1\n3,1,\n"
                  "4,9999999999999999999999999999.9999999999,0.0000000001\n"
                  "5,-9999999999999999999999999999.9999999999,-9999999999999999999999999999.9999999999\n"
                  "6,9999999999999999999999999999.9999999999,-9999999999999999999999999999.9999999999\n");
    GM_EXPECT_TEXT(gm_run_output(run, "records"),
                   "id | total | negated | order | amount_text\n"
                   "1 | -0.2500000000 | 0.5000000000 | -1 | -0.5000000000\n"
                   "2 | null | null | null | null\n"
                   "3 | null | -1.0000000000 | null | 1.0000000000\n"
                   "6 | 0.0000000000 | -9999999999999999999999999999.9999999999 | 1 | "
                   "9999999999999999999999999999.9999999999\n");
    GM_EXPECT_TEXT(gm_run_rejects(run), "3 overflow amount\n4 overflow amount\n");
}

GM_TEST(times_before_1970_are_rounded_down) {
    GM_EXPECT_TEXT(gm_run_output(normalize("{}", "id:int64,at:timestamp(us, Europe/Paris)\n1,0\n2,-1\n3,-86400000000\n4,\n"),
                                 "records"),
                   "id | day | time\n1 | 1970-01-01 | 0\n2 | 1969-12-31 | 86399999999\n3 | 1969-12-31 | 0\n4 | null | null\n");
}

GM_TEST(counts_take_a_step_and_wrap) {
    const gm_run *run = normalize(
        "{\"step\": -5}", "id:int64,count:int64\n1,9223372036854775807\n2,-9223372036854775808\n3,\n4,-9223372036854775803\n");
    GM_EXPECT_TEXT(gm_run_output(run, "records"),
                   "id | next | mixed\n1 | 9223372036854775802 | 9223372036854775784\n3 | null | null\n"
                   "4 | -9223372036854775808 | -9223372036854775646\n");
    GM_EXPECT_TEXT(gm_run_rejects(run), "1 overflow count\n");
}

GM_TEST(the_rest_of_the_columns) {
    const gm_run *run = normalize("{}",
                                  "id:int64,code,ratio:float64,data:binary,numbers:list<int64>,"
                                  "place:struct<city: utf8, score: int32>,visits:list<struct<page: utf8, seconds: int32>>\n"
                                  "1,AT,-3,0102ff,[1,null,9223372036854775807],[\"Oslo\",1],[[\"a\",null],null]\n"
                                  "2,BE,nan,\"\",[],[null,2],[]\n3,XX,-inf,,,,\n");
    GM_EXPECT_TEXT(gm_run_output(run, "records"),
                   "id | name | weight | half | finite | reversed | sum | city | visits\n"
                   "1 | Austria | 7 | -1.5 | true | ff0201 | -9223372036854775808 | Oslo | [{a, null}, null]\n"
                   "2 | null | -1 | NaN | false |  | 0 | null | []\n"
                   "3 | null | -1 | -inf | false | null | null | null | null\n");
}

GM_TEST(all_rows_may_be_rejected) {
    const gm_run *run =
        normalize("{}", "id:int64,text,numbers:list<int64>,visits:list<struct<page: utf8, seconds: int32>>\n1,reject,[1],[]\n");
    GM_EXPECT_TEXT(gm_run_output(run, "records"), "id | text | text_state | sum | visits\n");
    GM_EXPECT_TEXT(gm_run_messages(run), "1 of 1 rows rejected\n");
}

GM_TEST(plans_are_refused) {
    GM_EXPECT_TEXT(gm_run_failure(normalize("{\"step\": 1001}", "id:int64\n")),
                   "bad-config: `step` is not a whole number from -1000 to 1000");
    GM_EXPECT_TEXT(gm_run_failure(normalize("{}", "text\n")), "missing-column: the input has no column `id`; it has text");
    GM_EXPECT_TEXT(gm_run_failure(normalize("{}", "id:int64,text:binary\n")),
                   "wrong-type: column `text` is binary, not utf8");
}

GM_TEST(orders_come_last_first_and_items_in_order) {
    gm_harness *harness = gm_harness_new(gm_stage_map);
    gm_harness_dictionary(harness, "codes", "code", gm_table_csv("code,name\nAT,Austria\n"));
    gm_harness_operations(harness, "iudi");
    const gm_run *run = gm_harness_run(harness, &gristmill_transform,
                                       gm_table_csv("id:int64,code,tags:list<utf8>,quantity:int32\n"
                                                    "1,AT,[\" One\",null],1\n2,BE,[\"a\"],0\n3,,[\"x\"],\n4,,[\"never\"],-1\n"));
    GM_EXPECT_TEXT(gm_run_output(run, "orders"),
                   "id | operation | name | tag_count\n4 | 0 | null | 1\n3 | 2 | null | 1\n2 | 1 | null | 1\n1 | 0 | Austria | 2\n");
    GM_EXPECT_TEXT(gm_run_output(run, "items"),
                   "id | position | tag | quantity\n1 | 0 | one | 1\n1 | 1 | null | 1\n2 | 0 | a | 0\n3 | 0 | x | null\n");
    GM_EXPECT_TEXT(gm_run_operations(run, "items"), "iudd");
    GM_EXPECT_TEXT(gm_run_rejects(run), "3 negative quantity\n");
}
