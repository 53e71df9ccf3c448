#include <gristmill/testing.h>

#include "../src/orders.h"

GM_TEST(prices_become_cents_and_bad_ones_are_rejected) {
    gm_harness *harness = gm_harness_new(gm_stage_{{stage}});
    const gm_run *run = gm_harness_run(harness, &gristmill_transform,
                                       gm_table_csv("order_id:int64,customer,price\n"
                                                    "1, Ada ,$19.90\n"
                                                    "2,Grace,free\n"
                                                    "3,,$250.00\n"));
    GM_EXPECT_TEXT(gm_run_output(run, "records"),
                   "order_id | customer | cents\n"
                   "1 | Ada | 1990\n"
                   "3 | null | 25000\n");
    GM_EXPECT_TEXT(gm_run_rejects(run), "1 bad-price price\n");
}

GM_TEST(only_dollars_and_cents_are_a_price) {
    static const char *const bad[] = {"",       "$",      "$1",     "$1.5",   "1.50",
                                      "$-1.50", "$1.-5", "$1.-0", "$-0.50", "$1.505", "$99999999999999999.00"};
    int64_t cents;
    for (int i = 0; i < 11; i++) GM_EXPECT(!to_cents(gm_text_from(bad[i]), &cents));
    GM_EXPECT(to_cents(GM_TEXT("$0.07"), &cents) && cents == 7);
}
