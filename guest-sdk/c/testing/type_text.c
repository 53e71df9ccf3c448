// Types as people write them in pipelines.
#include <stdlib.h>
#include <string.h>

#include "table.h"

static void skip_spaces(const char **at) {
    while (**at == ' ') ++*at;
}

static bool take(const char **at, const char *word) {
    skip_spaces(at);
    size_t len = strlen(word);
    if (strncmp(*at, word, len) != 0) return false;
    *at += len;
    return true;
}

static void expect(const char **at, const char *word) {
    if (!take(at, word)) gm_test_fail(gm_concat("a type lacks `", word, "` before `", *at, "`", NULL));
}

static const char *word_of(const char **at) {
    skip_spaces(at);
    const char *start = *at;
    while (**at && !strchr(":,()<> ", **at)) ++*at;
    return gm_copy((gm_text){start, (uint32_t)(*at - start)});
}

static int32_t number_of(const char **at) {
    char *end;
    long number = strtol(*at, &end, 10);
    if (end == *at) gm_test_fail(gm_concat("a type lacks a number before `", *at, "`", NULL));
    *at = end;
    return (int32_t)number;
}

static gm_unit unit_of(const char **at) {
    static const char *const units[] = {"s", "ms", "us", "ns"};
    const char *unit = word_of(at);
    for (int i = 0; i < 4; i++)
        if (strcmp(unit, units[i]) == 0) return (gm_unit)i;
    gm_test_fail(gm_concat("`", unit, "` is no unit of time", NULL));
}

static gm_field element(const char **at, const char *name) {
    gm_type type = gm_parse_type(at);
    return (gm_field){name, type, !take(at, "not null")};
}

static void struct_members(const char **at, gm_type *type) {
    LIST(gm_field) members = {0};
    expect(at, "<");
    do {
        const char *name = word_of(at);
        expect(at, ":");
        gm_field member = element(at, name);
        LIST_PUSH(members, member);
    } while (take(at, ","));
    expect(at, ">");
    *type = gm_struct(members.items, members.len);
}

gm_type gm_parse_type(const char **at) {
    const char *name = word_of(at);
    gm_type type = {.kind = GM_NULL};
    while (strcmp(gm_kind_text(type.kind), name) != 0)
        if (type.kind++ == GM_MAP) gm_test_fail(gm_concat("`", name, "` is no type", NULL));
    switch (type.kind) {
        case GM_DECIMAL128:
        case GM_DECIMAL256:
            expect(at, "(");
            type.precision = (uint8_t)number_of(at);
            expect(at, ",");
            type.scale = (int8_t)number_of(at);
            expect(at, ")");
            break;
        case GM_FIXED_SIZE_BINARY:
            expect(at, "(");
            type.size = (uint32_t)number_of(at);
            expect(at, ")");
            break;
        case GM_TIME32:
        case GM_TIME64:
        case GM_DURATION:
        case GM_TIMESTAMP:
            expect(at, "(");
            type.unit = unit_of(at);
            if (take(at, ",")) {
                skip_spaces(at);
                const char *end = strchr(*at, ')');
                if (!end) gm_test_fail("a time zone does not end");
                type.zone = gm_copy((gm_text){*at, (uint32_t)(end - *at)});
                *at = end;
            }
            expect(at, ")");
            break;
        case GM_LIST:
        case GM_LARGE_LIST:
        case GM_FIXED_SIZE_LIST: {
            expect(at, "<");
            gm_field item = element(at, "item");
            gm_kind kind = type.kind;
            if (kind == GM_FIXED_SIZE_LIST) {
                expect(at, ",");
                type = gm_fixed_size_list(item, (uint32_t)number_of(at));
            } else {
                type = kind == GM_LIST ? gm_list(item) : gm_large_list(item);
            }
            expect(at, ">");
            break;
        }
        case GM_STRUCT: struct_members(at, &type); break;
        case GM_MAP: {
            expect(at, "<");
            gm_type key = gm_parse_type(at);
            expect(at, ",");
            type = gm_map(key, element(at, "value"));
            expect(at, ">");
            break;
        }
        default: break;
    }
    return type;
}
