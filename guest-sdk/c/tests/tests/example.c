#include <gristmill/testing.h>

GM_TEST(amounts_become_euros_and_bad_ones_are_rejected) {
    gm_harness *harness = gm_harness_new(gm_stage_normalize);
    gm_harness_config(harness, "{\"max_amount\": 1000}");
    gm_harness_dictionary(harness, "currencies", "code", gm_table_csv("code,rate:float64\nUSD,0.9\nEUR,1\n"));
    const gm_run *run = gm_harness_run(harness, &gristmill_transform,
                                       gm_table_csv("order_id:int64,name,amount:float64,currency\n"
                                                    "7, ann ,10,USD\n"
                                                    "8,ben,,USD\n"
                                                    "9,,3,EUR\n"
                                                    "10,dan,2000,EUR\n"));
    GM_EXPECT_TEXT(gm_run_output(run, "records"),
                   "order_id | name | euros\n"
                   "7 | ann | 9.00\n"
                   "9 | null | 3.00\n");
    GM_EXPECT_TEXT(gm_run_rejects(run), "1 missing-amount amount\n3 too-large amount\n");
}
