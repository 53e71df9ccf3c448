// Types: made, compared, named and measured.
#include <string.h>

#include "internal.h"

static const gm_field *copy_fields(const gm_field *fields, uint32_t count) {
    gm_field *copy = gm_alloc(sizeof(gm_field) * count);
    if (count) memcpy(copy, fields, sizeof(gm_field) * count);
    return copy;
}

static gm_type with_child(gm_kind kind, gm_field child) {
    return (gm_type){.kind = kind, .children = copy_fields(&child, 1), .child_count = 1};
}

gm_type gm_list(gm_field item) { return with_child(GM_LIST, item); }
gm_type gm_large_list(gm_field item) { return with_child(GM_LARGE_LIST, item); }

gm_type gm_fixed_size_list(gm_field item, uint32_t items) {
    gm_type type = with_child(GM_FIXED_SIZE_LIST, item);
    type.size = items;
    return type;
}

gm_type gm_struct(const gm_field *members, uint32_t count) {
    return (gm_type){.kind = GM_STRUCT, .children = copy_fields(members, count), .child_count = count};
}

gm_type gm_map(gm_type key, gm_field value) {
    gm_type entry = gm_struct(GM_FIELDS(gm_required("key", key), value));
    return with_child(GM_MAP, gm_required("entries", entry));
}

static bool zones_equal(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

bool gm_type_equal(const gm_type *a, const gm_type *b) {
    if (a->kind != b->kind || a->precision != b->precision || a->scale != b->scale || a->unit != b->unit ||
        a->size != b->size || a->sorted != b->sorted || a->child_count != b->child_count ||
        !zones_equal(a->zone, b->zone))
        return false;
    for (uint32_t i = 0; i < a->child_count; i++) {
        const gm_field *x = &a->children[i], *y = &b->children[i];
        if (x->nullable != y->nullable || strcmp(x->name, y->name) != 0 || !gm_type_equal(&x->type, &y->type))
            return false;
    }
    return true;
}

const char *gm_kind_text(gm_kind kind) {
    static const char *const names[] = {
        "null",   "boolean",   "int8",      "int16",      "int32",   "int64",        "uint8",
        "uint16", "uint32",    "uint64",    "float16",    "float32", "float64",      "decimal128",
        "decimal256", "utf8",  "large_utf8", "binary",    "large_binary", "fixed_size_binary", "date32",
        "date64", "time32",    "time64",    "timestamp",  "duration", "list",        "large_list",
        "fixed_size_list", "struct", "map",
    };
    return names[kind];
}

static const char *element_text(const gm_field *field) {
    return gm_concat(gm_type_text(&field->type), field->nullable ? NULL : " not null", NULL);
}

const char *gm_type_text(const gm_type *type) {
    static const char *const units[] = {"s", "ms", "us", "ns"};
    const char *name = gm_kind_text(type->kind), *inner = "";
    switch (type->kind) {
        case GM_DECIMAL128:
        case GM_DECIMAL256:
            return gm_concat(name, "(", gm_uint_text(type->precision), ", ", gm_int_text(type->scale), ")", NULL);
        case GM_FIXED_SIZE_BINARY: return gm_concat(name, "(", gm_uint_text(type->size), ")", NULL);
        case GM_TIME32:
        case GM_TIME64:
        case GM_DURATION: return gm_concat(name, "(", units[type->unit], ")", NULL);
        case GM_TIMESTAMP:
            if (!type->zone) return gm_concat(name, "(", units[type->unit], ")", NULL);
            return gm_concat(name, "(", units[type->unit], ", ", type->zone, ")", NULL);
        case GM_LIST:
        case GM_LARGE_LIST: return gm_concat(name, "<", element_text(type->children), ">", NULL);
        case GM_FIXED_SIZE_LIST:
            return gm_concat(name, "<", element_text(type->children), ", ", gm_uint_text(type->size), ">", NULL);
        case GM_STRUCT:
            for (uint32_t i = 0; i < type->child_count; i++) {
                const gm_field *member = &type->children[i];
                inner = gm_concat(inner, i ? ", " : "", member->name, ": ", element_text(member), NULL);
            }
            return gm_concat(name, "<", inner, ">", NULL);
        case GM_MAP: {
            const gm_type *entry = &type->children[0].type;
            return gm_concat(name, "<", gm_type_text(&entry->children[0].type), ", ",
                             element_text(&entry->children[1]), ">", NULL);
        }
        default: return name;
    }
}

uint32_t gm_own_buffers(gm_kind kind) {
    switch (kind) {
        case GM_NULL: return 0;
        case GM_FIXED_SIZE_LIST:
        case GM_STRUCT: return 1;
        case GM_UTF8:
        case GM_LARGE_UTF8:
        case GM_BINARY:
        case GM_LARGE_BINARY: return 3;
        default: return 2;
    }
}

layout gm_layout(const gm_type *type) {
    layout whole = {1, gm_own_buffers(type->kind)};
    for (uint32_t i = 0; i < type->child_count; i++) {
        layout child = gm_layout(&type->children[i].type);
        whole.nodes += child.nodes;
        whole.buffers += child.buffers;
    }
    return whole;
}

uint32_t gm_width(const gm_type *type) {
    switch (type->kind) {
        case GM_INT8:
        case GM_UINT8: return 1;
        case GM_INT16:
        case GM_UINT16:
        case GM_FLOAT16: return 2;
        case GM_INT32:
        case GM_UINT32:
        case GM_FLOAT32:
        case GM_DATE32:
        case GM_TIME32: return 4;
        case GM_INT64:
        case GM_UINT64:
        case GM_FLOAT64:
        case GM_DATE64:
        case GM_TIME64:
        case GM_TIMESTAMP:
        case GM_DURATION: return 8;
        case GM_DECIMAL128: return 16;
        case GM_DECIMAL256: return 32;
        case GM_FIXED_SIZE_BINARY: return type->size;
        default: return 0;
    }
}

bool gm_is_large(gm_kind kind) { return kind == GM_LARGE_UTF8 || kind == GM_LARGE_BINARY || kind == GM_LARGE_LIST; }
bool gm_is_list(gm_kind kind) { return kind == GM_LIST || kind == GM_LARGE_LIST || kind == GM_MAP; }
