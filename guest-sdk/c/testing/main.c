// The test runner: all tests that are linked in, in the order of their files.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { TESTS_MAX = 1000 };

static struct {
    const char *name;
    void (*run)(void);
} tests[TESTS_MAX];
static int test_count;

static jmp_buf ended;
static bool failed;

void gm_test_register(const char *name, void (*test)(void)) {
    if (test_count == TESTS_MAX) {
        fprintf(stderr, "more than %d tests\n", TESTS_MAX);
        exit(1);
    }
    tests[test_count].name = name;
    tests[test_count++].run = test;
}

void gm_expect(bool holds, const char *file, int line, const char *condition) {
    if (holds) return;
    failed = true;
    printf("  %s:%d: does not hold: %s\n", file, line, condition);
}

void gm_expect_text(const char *got, const char *wanted, const char *file, int line) {
    if (got && strcmp(got, wanted) == 0) return;
    failed = true;
    printf("  %s:%d: got\n%s\n  wanted\n%s\n", file, line, got ? got : "(nothing)", wanted);
}

void gm_test_fail(const char *message) {
    failed = true;
    printf("  %s\n", message);
    longjmp(ended, 1);
}

static bool passes(int test) {
    failed = false;
    if (!setjmp(ended)) tests[test].run();
    return !failed;
}

/// Runs the tests whose names contain the argument; all of them without one.
int main(int argc, char **argv) {
    int passed = 0, failures = 0;
    for (int i = 0; i < test_count; i++) {
        if (argc > 1 && !strstr(tests[i].name, argv[1])) continue;
        bool ok = passes(i);
        printf("%s %s\n", ok ? "ok" : "FAILED", tests[i].name);
        passed += ok;
        failures += !ok;
        gm_free_all();
    }
    printf("%d passed, %d failed\n", passed, failures);
    return failures || !passed;
}
