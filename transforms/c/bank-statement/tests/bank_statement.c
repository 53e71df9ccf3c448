#include <gristmill/testing.h>
#include <string.h>

#include "../src/line.h"

#define LINE "MDE89370400440532013000            20260302        000000000001990DEURREF-0001        Coffee"

static const gm_run *run(const char *config, const char *lines) {
    gm_harness *harness = gm_harness_new(gm_stage_normalize);
    gm_harness_config(harness, config);
    return gm_harness_run(harness, &gristmill_transform, gm_table_csv(gm_concat("line\n", lines, NULL)));
}

/// The line with other characters from a place on, counted from 1.
static const char *with(uint32_t place, const char *characters) {
    char *line = (char *)gm_copy(gm_text_from(LINE));
    memcpy(line + place - 1, characters, strlen(characters));
    return line;
}

static const char *code_of(const char *line) {
    const char *rejects = gm_run_rejects(run("{\"currencies\": [\"EUR\"]}", gm_concat(line, "\n", NULL)));
    return gm_copy(gm_text_slice(gm_text_from(rejects), 2, (uint32_t)strcspn(rejects, "\n")));
}

GM_TEST(movements_become_records_and_the_rest_is_left_out) {
    GM_EXPECT_TEXT(gm_run_output(run("{}",
                                     "HDE89370400440532013000 Statement 3\n" LINE "\n"
                                     "MGB82WEST12345698765432            2026030320260305000123456789012CGBPREF-0002\n"
                                     "TDE89370400440532013000 2 movements\n"),
                                 "records"),
                   "account | reference | booked | valued | amount | currency | text\n"
                   "DE89370400440532013000 | REF-0001 | 2026-03-02 | 2026-03-02 | -19.90 | EUR | Coffee\n");
    GM_EXPECT_TEXT(code_of("MGB82WEST12345698765432            2026030320260305000123456789012CGBPREF-0002"),
                   "short-line line");
}

GM_TEST(a_line_may_end_after_the_reference) {
    GM_EXPECT_TEXT(
        gm_run_output(run("{}", "MGB82WEST12345698765432            2026030320260305000123456789012CGBPREF-0002        \n"),
                      "records"),
        "account | reference | booked | valued | amount | currency | text\n"
        "GB82WEST12345698765432 | REF-0002 | 2026-03-03 | 2026-03-05 | 1234567890.12 | GBP | null\n");
}

GM_TEST(every_fault_has_its_code) {
    GM_EXPECT_TEXT(code_of(LINE), "");
    GM_EXPECT_TEXT(code_of(with(1, "X")), "unknown-kind line");
    GM_EXPECT_TEXT(code_of(with(10, "9")), "bad-account line");
    GM_EXPECT_TEXT(code_of(with(36, "20260229")), "bad-date line");
    GM_EXPECT_TEXT(code_of(with(44, "2026")), "bad-date line");
    GM_EXPECT_TEXT(code_of(with(52, "    ")), "bad-amount line");
    GM_EXPECT_TEXT(code_of(with(67, "+")), "bad-amount line");
    GM_EXPECT_TEXT(code_of(with(68, "eur")), "bad-currency line");
    GM_EXPECT_TEXT(code_of(with(68, "USD")), "bad-currency line");
    GM_EXPECT_TEXT(code_of(with(71, "                ")), "no-reference line");
}

GM_TEST(ibans_are_checked) {
    GM_EXPECT(is_iban(GM_TEXT("DE89370400440532013000")));
    GM_EXPECT(is_iban(GM_TEXT("GB82WEST12345698765432")));
    GM_EXPECT(is_iban(GM_TEXT("MT84MALT011000012345MTLCAST001S")));
    GM_EXPECT(!is_iban(GM_TEXT("DE89370400440532013001")));
    GM_EXPECT(!is_iban(GM_TEXT("de89370400440532013000")));
    GM_EXPECT(!is_iban(GM_TEXT("DE89")));
}

GM_TEST(a_wrong_configuration_is_named) {
    GM_EXPECT_TEXT(gm_run_failure(run("{\"currencies\": \"EUR\"}", "")),
                   "bad-config: `currencies` is not a list of currencies");
}
