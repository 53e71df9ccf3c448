// What a plan refuses, what a call traps on, and what the runner would refuse.
#include <gristmill/testing.h>
#include <string.h>

// One transform that does what its configuration says, right or wrong.
typedef struct {
    const char *deed;
    gm_in name, operation;
    gm_output records;
    gm_out text, number;
} deeds;

static bool does(const deeds *self, const char *deed) { return strcmp(self->deed, deed) == 0; }

static void plan(gm_plan *plan, void *state) {
    deeds *self = state;
    self->deed = gm_config_text(plan, "do", "");
    self->records = gm_add_output(plan, "records");
    gm_forward(plan, self->records, "id");
    self->name = gm_read(plan, "name", GM_UTF8);
    self->operation = gm_read_operation(plan);
    self->text = gm_compute(plan, self->records, "text", gm_utf8());
    self->number = gm_compute_required(plan, self->records, "number", gm_int32());
    if (does(self, "read a missing column")) gm_read(plan, "nmae", GM_UTF8);
    if (does(self, "read as another type")) gm_read(plan, "id", GM_UTF8);
    if (does(self, "look up nowhere")) gm_look_up(plan, "cities", "name", "mayor");
    if (does(self, "look up a missing value")) gm_look_up(plan, "codes", "name", "mayor");
    if (does(self, "compute twice")) gm_compute(plan, self->records, "id", gm_utf8());
    if (does(self, "serve map")) gm_serve(plan, gm_stage_migrate | gm_stage_map);
    if (does(self, "require")) gm_config_require(plan, "limit");
    // Whatever failed, the rest of the plan is harmless.
    gm_forward_lookup(plan, self->records, "mayor", gm_look_up(plan, "nowhere", "nothing", "no one"));
}

static void process(const gm_batch *batch, gm_outputs *outputs, const void *state) {
    const deeds *self = state;
    gm_text_builder *text = gm_text_out(outputs, self->text);
    gm_int32_builder *number = gm_int32_out(outputs, self->number);
    gm_text_column names = gm_text_in(batch, self->name);
    for (uint32_t row = 0; row < gm_rows(batch); row++) {
        gm_text_push(text, gm_text_at(names, row));
        gm_int32_push(number, (int32_t)row);
    }
    if (does(self, "read past the end")) gm_text_at(names, gm_rows(batch));
    if (does(self, "test a null past the end")) gm_text_is_null(names, 1000);
    if (does(self, "view as another type")) gm_int64_in(batch, self->name);
    if (does(self, "build as another type")) gm_int64_out(outputs, self->number);
    if (does(self, "use no handle")) gm_any_in(batch, (gm_in){77});
    if (does(self, "push one too many")) gm_int32_push(number, 1);
    if (does(self, "push a null")) gm_truncate(&number->base, gm_rows(batch) - 1), gm_int32_push_null(number);
    if (does(self, "select past the end")) gm_select(gm_selection_out(outputs, self->records), 3);
    if (does(self, "reject past the end")) gm_reject(outputs, 3, "bad", NULL, "bad");
    if (does(self, "operate on some")) {
        gm_selection *selection = gm_selection_out(outputs, self->records);
        gm_select_as(selection, 0, GM_DELETE);
        gm_select(selection, 1);
        gm_select(selection, 2);
    }
    if (does(self, "select a rejected row")) gm_reject(outputs, 1, "bad", "name", "bad");
    if (does(self, "push no UTF-8")) {
        gm_truncate(&text->base, gm_rows(batch) - 1);
        gm_text_push(text, GM_TEXT("\xff"));
    }
    if (does(self, "fail")) gm_fail_call(outputs, "no-way", "it cannot be done");
    if (does(self, "say")) gm_say(outputs, "one"), gm_say(outputs, "two");
}

static const gm_transform deeds_transform = {.state_size = sizeof(deeds), .plan = plan, .process = process};

static const gm_run *run_of(const char *config) {
    gm_harness *harness = gm_harness_new(gm_stage_normalize);
    gm_harness_config(harness, config);
    gm_harness_dictionary(harness, "codes", "code", gm_table_csv("code,city\nA,Aa\n"));
    gm_harness_dictionary(harness, "nowhere", "name", gm_table_csv("name,no one\nA,B\n"));
    return gm_harness_run(harness, &deeds_transform, gm_table_csv("id:int64,name,nothing\n1,a,\n2,b,A\n3,,B\n"));
}

static const gm_run *run(const char *deed) { return run_of(gm_concat("{\"do\": \"", deed, "\"}", NULL)); }

GM_TEST(a_plan_names_what_it_misses) {
    static const char *const failures[][2] = {
        {"read a missing column", "missing-column: the input has no column `nmae`; it has id, name, nothing"},
        {"read as another type", "wrong-type: column `id` is int64, not utf8"},
        {"look up nowhere",
         "missing-dictionary: the pipeline has no dictionary `cities`: add it under transforms.dictionaries"},
        {"look up a missing value", "missing-column: dictionary `codes` has no column `mayor`"},
        {"compute twice", "duplicate-column: output `records` has two columns named `id`"},
        {"serve map", "wrong-stage: this transform serves migrate, map, not normalize"},
        {"require", "bad-config: the key `limit` is missing"},
        {"fail", "no-way: it cannot be done"},
    };
    for (int i = 0; i < 8; i++) GM_EXPECT_TEXT(gm_run_failure(run(failures[i][0])), failures[i][1]);
    GM_EXPECT_TEXT(gm_run_failure(run_of("{\"od\": 1}")), "bad-config: unknown key `od`; known are do");
    GM_EXPECT_TEXT(gm_run_failure(run_of("{\"do\": 1}")), "bad-config: `do` is not a text");
    GM_EXPECT_TEXT(gm_run_failure(run_of("[]")), "bad-config: the configuration is not a JSON object");
    GM_EXPECT_TEXT(gm_run_failure(run_of("{")), "bad-config: the configuration is not JSON: a text is expected at byte 1");
}

GM_TEST(mistakes_trap_with_what_and_where) {
    static const char *const traps[][2] = {
        {"read past the end", "column `name` (utf8): row 3 is out of range, it has 3"},
        {"test a null past the end", "column `name` (utf8): row 1000 is out of range, it has 3"},
        {"view as another type", "column `name` (utf8) cannot be used as int64"},
        {"build as another type", "column `number` (int32) cannot be used as int64"},
        {"use no handle", "a handle that the plan did not give"},
        {"push one too many", "column `number` (int32) has 4 values, its output has 3 rows"},
        {"push a null", "column `number` (int32) is required but holds nulls"},
        {"select past the end", "selected row 3 is out of range, the input has 3"},
        {"reject past the end", "rejected row 3 is out of range, the input has 3"},
        {"operate on some", "some rows of an output have operations and some have not"},
    };
    for (int i = 0; i < 10; i++)
        GM_EXPECT_TEXT(gm_run_failure(run(traps[i][0])), gm_concat("trap: ", traps[i][1], NULL));
}

GM_TEST(what_the_runner_would_refuse_is_refused_here) {
    GM_EXPECT_TEXT(gm_run_failure(run("select a rejected row")), "contract: a rejected row is selected");
    GM_EXPECT_TEXT(gm_run_failure(run("push no UTF-8")), "contract: column `text` (utf8): not UTF-8");
}

GM_TEST(messages_come_in_their_order) { GM_EXPECT_TEXT(gm_run_messages(run("say")), "one\ntwo\n"); }

GM_TEST(what_is_read_twice_crosses_once) { GM_EXPECT(gm_run_columns_read(run("")) == 2); }

GM_TEST(look_ups_are_null_where_there_is_no_key) {
    GM_EXPECT_TEXT(gm_run_output(run(""), "records"),
                   "id | text | number | mayor\n1 | a | 0 | null\n2 | b | 1 | B\n3 |  | 2 | null\n");
}
