/// Tests of transforms, natively and without WebAssembly: tables from literal rows, a run as the runner does it, and a
/// test runner. `test.sh` builds and runs the tests of a project.
///
///     GM_TEST(names_are_trimmed) {
///         gm_harness *harness = gm_harness_new(gm_stage_normalize);
///         const gm_run *run = gm_harness_run(harness, &gristmill_transform, gm_table_csv("id:int64,name\n1, ann \n"));
///         GM_EXPECT_TEXT(gm_run_output(run, "records"), "id | name\n1 | ann\n");
///     }
#ifndef GRISTMILL_TESTING_H
#define GRISTMILL_TESTING_H

#include "../gristmill.h"

/// Named columns of one length.
typedef struct gm_table gm_table;

/// Reads CSV. The header has `name:type`, the type as in a pipeline and `utf8` where there is none; `not null` after it makes
/// the column required. An empty cell is null, `""` is the empty text. Decimals and dates are written as such, binary in
/// hexadecimal, times, timestamps and durations as numbers of their unit, nested values as JSON (structs as arrays of
/// their members, maps as arrays of pairs). A text that is not of its type fails the test.
gm_table *gm_table_csv(const char *csv);

/// The setup of a transform under test.
typedef struct gm_harness gm_harness;
/// What a run gave.
typedef struct gm_run gm_run;

gm_harness *gm_harness_new(gm_stage stage);
/// The stage's configuration, one JSON object.
void gm_harness_config(gm_harness *harness, const char *json);
/// A dictionary, looked up by its column `key`.
void gm_harness_dictionary(gm_harness *harness, const char *name, const char *key, const gm_table *table);
/// The operation of each input row, as letters: `i`, `u`, `d`. Inserts where it is not called.
void gm_harness_operations(gm_harness *harness, const char *operations);

/// Plans, processes one batch, and checks the answer against the contract as the runner does.
const gm_run *gm_harness_run(gm_harness *harness, const gm_transform *transform, const gm_table *input);

/// Why the run gave nothing: `code: message` of a failure, `trap: message`, or `contract: message`. NULL if it did not fail.
const char *gm_run_failure(const gm_run *run);
/// All columns of an output, forwarded ones included: a line of names and a line for each row, with ` | ` in between. The
/// failure if the run failed.
const char *gm_run_output(const gm_run *run, const char *output);
/// The input row of each row of an output, in decimal with spaces in between.
const char *gm_run_selection(const gm_run *run, const char *output);
/// The operation of each row of an output, as letters.
const char *gm_run_operations(const gm_run *run, const char *output);
/// A line for each reject: row, code and, where there is one, the field.
const char *gm_run_rejects(const gm_run *run);
/// A line for each message.
const char *gm_run_messages(const gm_run *run);
/// How many columns crossed the boundary to `process`.
uint32_t gm_run_columns_read(const gm_run *run);

/// A test. Its name says what is promised.
#define GM_TEST(name)                                                                                       \
    static void name(void);                                                                                 \
    __attribute__((constructor)) static void gm_register_##name(void) { gm_test_register(#name, name); }    \
    static void name(void)

#define GM_EXPECT(condition) gm_expect(condition, __FILE__, __LINE__, #condition)
#define GM_EXPECT_TEXT(got, wanted) gm_expect_text(got, wanted, __FILE__, __LINE__)

void gm_test_register(const char *name, void (*test)(void));
void gm_expect(bool holds, const char *file, int line, const char *condition);
void gm_expect_text(const char *got, const char *wanted, const char *file, int line);
/// Ends the test as failed.
_Noreturn void gm_test_fail(const char *message);

#endif
