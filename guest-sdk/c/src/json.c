// A parser for JSON (RFC 8259).
#include "gristmill/json.h"

#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { DEPTH_MAX = 64 };

typedef struct {
    const char *at, *end;
    const char *problem;
    uint32_t depth;
} parser;

static bool fail(parser *p, const char *problem) {
    if (!p->problem) p->problem = problem;
    return false;
}

static void skip_space(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) p->at++;
}

static bool take(parser *p, char c) {
    if (p->at == p->end || *p->at != c) return false;
    p->at++;
    return true;
}

static bool word(parser *p, const char *word) {
    size_t len = strlen(word);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0) return false;
    p->at += len;
    return true;
}

static bool hex4(parser *p, uint32_t *code) {
    if (p->end - p->at < 4) return fail(p, "an escape is not whole");
    *code = 0;
    for (int i = 0; i < 4; i++) {
        char c = *p->at++, lower = c | 32;
        bool letter = lower >= 'a' && lower <= 'f';
        if (!letter && (c < '0' || c > '9')) return fail(p, "an escape is not hexadecimal");
        *code = *code << 4 | (uint32_t)(letter ? lower - 'a' + 10 : c - '0');
    }
    return true;
}

static char *put_utf8(char *to, uint32_t code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 63));
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    }
    return to;
}

static bool escape(parser *p, char **to) {
    if (p->at == p->end) return fail(p, "an escape is not whole");
    char c = *p->at++;
    switch (c) {
        case '"':
        case '\\':
        case '/': *(*to)++ = c; return true;
        case 'b': *(*to)++ = '\b'; return true;
        case 'f': *(*to)++ = '\f'; return true;
        case 'n': *(*to)++ = '\n'; return true;
        case 'r': *(*to)++ = '\r'; return true;
        case 't': *(*to)++ = '\t'; return true;
        case 'u': break;
        default: return fail(p, "an unknown escape");
    }
    uint32_t code, low;
    if (!hex4(p, &code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (!word(p, "\\u") || !hex4(p, &low) || low < 0xdc00 || low > 0xdfff) return fail(p, "half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return fail(p, "half a surrogate pair");
    }
    *to = put_utf8(*to, code);
    return true;
}

static bool string(parser *p, gm_text *text) {
    if (!take(p, '"')) return fail(p, "a text is expected");
    // Escapes only ever shrink.
    const char *close = p->at;
    while (close < p->end && *close != '"') close += *close == '\\' ? 2 : 1;
    if (close >= p->end) return fail(p, "a text does not end");
    char *start = gm_alloc((size_t)(close - p->at)), *to = start;
    while (!take(p, '"')) {
        if (p->at == p->end) return fail(p, "a text does not end");
        char c = *p->at++;
        if ((unsigned char)c < 0x20) return fail(p, "a control character in a text");
        if (c != '\\')
            *to++ = c;
        else if (!escape(p, &to))
            return false;
    }
    *text = (gm_text){start, (uint32_t)(to - start)};
    return true;
}

static bool digits(parser *p) {
    const char *start = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9') p->at++;
    return p->at > start;
}

static bool number(parser *p, gm_text *text) {
    const char *start = p->at;
    take(p, '-');
    if (!take(p, '0') && !digits(p)) return fail(p, "a value is expected");
    if (take(p, '.') && !digits(p)) return fail(p, "a number is not whole");
    if (take(p, 'e') || take(p, 'E')) {
        if (!take(p, '-')) take(p, '+');
        if (!digits(p)) return fail(p, "a number is not whole");
    }
    *text = (gm_text){start, (uint32_t)(p->at - start)};
    return true;
}

static bool value(parser *p, gm_json *to);

static bool items(parser *p, gm_json *to, char close) {
    LIST(gm_json) list = {0};
    skip_space(p);
    if (!take(p, close)) {
        do {
            gm_json item = {0};
            skip_space(p);
            if (to->kind == GM_JSON_OBJECT) {
                if (!string(p, &item.key)) return false;
                for (uint32_t i = 0; i < list.len; i++)
                    if (gm_text_equal(list.items[i].key, item.key)) return fail(p, "a key comes twice");
                skip_space(p);
                if (!take(p, ':')) return fail(p, "`:` is expected");
            }
            if (!value(p, &item)) return false;
            LIST_PUSH(list, item);
            skip_space(p);
        } while (take(p, ','));
        if (!take(p, close)) return fail(p, close == ']' ? "`,` or `]` is expected" : "`,` or `}` is expected");
    }
    to->items = list.items;
    to->count = list.len;
    return true;
}

static bool value(parser *p, gm_json *to) {
    skip_space(p);
    if (++p->depth > DEPTH_MAX) return fail(p, "too deeply nested");
    bool done;
    if (take(p, '{')) {
        to->kind = GM_JSON_OBJECT;
        done = items(p, to, '}');
    } else if (take(p, '[')) {
        to->kind = GM_JSON_ARRAY;
        done = items(p, to, ']');
    } else if (p->at < p->end && *p->at == '"') {
        to->kind = GM_JSON_TEXT;
        done = string(p, &to->text);
    } else if (word(p, "null")) {
        to->kind = GM_JSON_NULL;
        done = true;
    } else if (word(p, "true") || word(p, "false")) {
        to->kind = GM_JSON_BOOL;
        to->boolean = p->at[-2] == 'u';
        done = true;
    } else {
        to->kind = GM_JSON_NUMBER;
        done = number(p, &to->text);
    }
    p->depth--;
    return done;
}

const gm_json *gm_json_parse(gm_text text, const char **problem) {
    parser p = {.at = text.data, .end = text.data + text.len};
    gm_json *json = gm_alloc(sizeof *json);
    *json = (gm_json){0};
    if (value(&p, json)) {
        skip_space(&p);
        if (p.at == p.end) return json;
        fail(&p, "something follows the value");
    }
    *problem = gm_concat(p.problem, " at byte ", gm_uint_text((uint64_t)(p.at - text.data)), NULL);
    return NULL;
}

const gm_json *gm_json_member(const gm_json *object, const char *key) {
    for (uint32_t i = 0; object->kind == GM_JSON_OBJECT && i < object->count; i++)
        if (gm_text_is(object->items[i].key, key)) return &object->items[i];
    return NULL;
}

bool gm_json_int(const gm_json *json, int64_t *value) {
    return json->kind == GM_JSON_NUMBER && gm_parse_int(json->text, value);
}

bool gm_json_float(const gm_json *json, double *value) {
    return json->kind == GM_JSON_NUMBER && gm_parse_float(json->text, value);
}
