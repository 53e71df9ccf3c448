// The stage's configuration.
#include <string.h>

#include "internal.h"

const gm_json *gm_config(gm_plan *plan) {
    plan->whole_config_asked = true;
    return plan->config;
}

const gm_json *gm_config_json(gm_plan *plan, const char *key) {
    LIST_PUSH(plan->asked_keys, key);
    return gm_json_member(plan->config, key);
}

void gm_config_require(gm_plan *plan, const char *key) {
    if (!gm_config_json(plan, key)) gm_fail(plan, "bad-config", gm_concat("the key `", key, "` is missing", NULL));
}

static void bad(gm_plan *plan, const char *key, const char *wanted) {
    gm_fail(plan, "bad-config", gm_concat("`", key, "` is not ", wanted, NULL));
}

int64_t gm_config_int(gm_plan *plan, const char *key, int64_t fallback, int64_t min, int64_t max) {
    const gm_json *json = gm_config_json(plan, key);
    int64_t value;
    if (!json) return fallback;
    if (gm_json_int(json, &value) && value >= min && value <= max) return value;
    bad(plan, key, gm_concat("a whole number from ", gm_int_text(min), " to ", gm_int_text(max), NULL));
    return fallback;
}

double gm_config_float(gm_plan *plan, const char *key, double fallback) {
    const gm_json *json = gm_config_json(plan, key);
    double value;
    if (!json) return fallback;
    if (gm_json_float(json, &value)) return value;
    bad(plan, key, "a number");
    return fallback;
}

bool gm_config_bool(gm_plan *plan, const char *key, bool fallback) {
    const gm_json *json = gm_config_json(plan, key);
    if (!json) return fallback;
    if (json->kind == GM_JSON_BOOL) return json->boolean;
    bad(plan, key, "true or false");
    return fallback;
}

const char *gm_config_text(gm_plan *plan, const char *key, const char *fallback) {
    const gm_json *json = gm_config_json(plan, key);
    if (!json) return fallback;
    if (json->kind == GM_JSON_TEXT && !memchr(json->text.data, 0, json->text.len)) return gm_copy(json->text);
    bad(plan, key, "a text");
    return fallback;
}
