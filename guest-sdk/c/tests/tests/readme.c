// The README shows the examples that these tests run.
#include <gristmill/testing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const gm_transform trim_transform;

/// A file beside this one.
static const char *read(const char *path) {
    const char *folder = gm_copy((gm_text){__FILE__, (uint32_t)(strlen(__FILE__) - strlen("readme.c"))});
    FILE *file = fopen(gm_concat(folder, path, NULL), "rb");
    if (!file) gm_test_fail(gm_concat("there is no file ", path, NULL));
    char *text = gm_alloc(100000);
    text[fread(text, 1, 99999, file)] = 0;
    fclose(file);
    return text;
}

GM_TEST(the_readme_shows_the_examples) {
    const char *readme = read("../../README.md");
    GM_EXPECT(strstr(readme, read("../src/orders.c")));
    GM_EXPECT(strstr(readme, read("example.c")));
    GM_EXPECT(strstr(readme, read("../src/trim.c")));
}

GM_TEST(the_row_example_trims_and_rejects) {
    const gm_run *run = gm_harness_run(gm_harness_new(gm_stage_normalize), &trim_transform,
                                       gm_table_csv("name,quantity:int64\n ann,25\n,1\nben,\n"));
    GM_EXPECT_TEXT(gm_run_output(run, "records"), "name | dozens\nann | 2\nben | null\n");
    GM_EXPECT_TEXT(gm_run_rejects(run), "1 missing-value name\n");
}
