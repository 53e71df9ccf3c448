// Columns as they come in.
#include "gristmill/column.h"

#include <string.h>

#include "internal.h"

gm_array gm_array_of(const gm_field *field, const gm_node *nodes, const gm_bytes *buffers) {
    gm_array array = {field, nodes->length, nodes->null_count, NULL, nodes, buffers};
    if (gm_own_buffers(field->type.kind) && buffers[0].len) array.valid = buffers[0].data;
    if (!gm_array_is_whole(array)) gm_trap_column_is_not_whole(field);
    return array;
}

static uint64_t offset_at(gm_array array, uint32_t place) {
    const uint8_t *bytes = array.buffers[1].data;
    if (!gm_is_large(array.field->type.kind)) {
        uint32_t offset;
        memcpy(&offset, bytes + (size_t)place * 4, 4);
        return offset;
    }
    uint64_t offset;
    memcpy(&offset, bytes + (size_t)place * 8, 8);
    return offset;
}

static bool has_offsets_up_to(gm_array array, uint64_t end) {
    uint64_t size = gm_is_large(array.field->type.kind) ? 8 : 4;
    return array.buffers[1].len == ((uint64_t)array.rows + 1) * size && offset_at(array, 0) == 0 &&
           offset_at(array, array.rows) == end;
}

bool gm_array_is_whole(gm_array array) {
    const gm_type *type = &array.field->type;
    uint64_t rows = array.rows, bit_bytes = (rows + 7) / 8;
    if (array.valid ? array.buffers[0].len != bit_bytes : type->kind != GM_NULL && array.null_count) return false;
    if (type->kind == GM_BOOLEAN) return array.buffers[1].len == bit_bytes;
    if (gm_own_buffers(type->kind) == 3) return has_offsets_up_to(array, array.buffers[2].len);
    if (gm_width(type) || type->kind == GM_FIXED_SIZE_BINARY) return array.buffers[1].len == rows * gm_width(type);
    uint32_t own = gm_own_buffers(type->kind), nodes = 1;
    for (uint32_t i = 0; i < type->child_count; i++) {
        const gm_node *node = array.nodes + nodes;
        bool right = gm_is_list(type->kind)
                         ? has_offsets_up_to(array, node->length)
                         : node->length == (type->kind == GM_FIXED_SIZE_LIST ? rows * type->size : rows);
        if (!right) return false;
        layout child = gm_layout(&type->children[i].type);
        gm_array_of(&type->children[i], node, array.buffers + own);
        nodes += child.nodes;
        own += child.buffers;
    }
    return true;
}

uint32_t gm_rows(const gm_batch *batch) { return batch->rows; }

gm_array gm_any_in(const gm_batch *batch, gm_in column) {
    if (column.place >= batch->plan->reads.len) gm_trap_handle_is_of_no_plan();
    return batch->columns[column.place];
}

gm_batch *gm_batch_from_abi(const gm_plan *plan, const abi_batch *from, failure *problem) {
    layout whole = {0, 0};
    for (uint32_t i = 0; i < plan->reads.len; i++) {
        layout column = gm_layout(&plan->reads.items[i].field.type);
        whole.nodes += column.nodes;
        whole.buffers += column.buffers;
    }
    *problem = (failure){"bad-batch", "the batch does not hold the columns that the plan reads"};
    if (from->columns.nodes.len != whole.nodes || from->columns.buffers.len != whole.buffers) return NULL;
    gm_batch *batch = gm_alloc(sizeof *batch);
    *batch = (gm_batch){from->rows, plan, gm_alloc(sizeof(gm_array) * plan->reads.len)};
    const gm_node *nodes = from->columns.nodes.data;
    const gm_bytes *buffers = from->columns.buffers.data;
    for (uint32_t i = 0; i < plan->reads.len; i++) {
        const gm_field *field = &plan->reads.items[i].field;
        if (nodes->length != from->rows) return NULL;
        batch->columns[i] = gm_array_of(field, nodes, buffers);
        layout column = gm_layout(&field->type);
        nodes += column.nodes;
        buffers += column.buffers;
    }
    return batch;
}

gm_array gm_child(gm_array array, uint32_t place) {
    const gm_type *type = &array.field->type;
    if (place >= type->child_count) gm_trap_column_has_no_such_member(array.field, gm_uint_text(place));
    const gm_node *nodes = array.nodes + 1;
    const gm_bytes *buffers = array.buffers + gm_own_buffers(type->kind);
    for (uint32_t i = 0; i < place; i++) {
        layout child = gm_layout(&type->children[i].type);
        nodes += child.nodes;
        buffers += child.buffers;
    }
    gm_array child = {&type->children[place], nodes->length, nodes->null_count, NULL, nodes, buffers};
    if (gm_own_buffers(child.field->type.kind) && buffers[0].len) child.valid = buffers[0].data;
    return child;
}

gm_array gm_member(gm_array array, const char *name) {
    const gm_type *type = &array.field->type;
    for (uint32_t i = 0; type->kind == GM_STRUCT && i < type->child_count; i++)
        if (strcmp(type->children[i].name, name) == 0) return gm_child(array, i);
    gm_trap_column_has_no_such_member(array.field, name);
}

static void expect(gm_array array, uint32_t kinds, const char *wanted) {
    if (!(GM_KIND_BIT(array.field->type.kind) & kinds)) gm_trap_column_has_another_type(array.field, wanted);
}

#define FIXED_VIEW(name, kinds)                                                                                  \
    gm_##name##_column gm_##name##_of(gm_array array) {                                                          \
        expect(array, kinds, #name);                                                                             \
        return (gm_##name##_column){(const void *)array.buffers[1].data, array.valid, array.field, array.rows};  \
    }

FIXED_VIEW(int8, GM_KIND_BIT(GM_INT8))
FIXED_VIEW(int16, GM_KIND_BIT(GM_INT16))
FIXED_VIEW(int32, GM_KINDS_OF_INT32)
FIXED_VIEW(int64, GM_KINDS_OF_INT64)
FIXED_VIEW(uint8, GM_KIND_BIT(GM_UINT8))
FIXED_VIEW(uint16, GM_KIND_BIT(GM_UINT16))
FIXED_VIEW(uint32, GM_KIND_BIT(GM_UINT32))
FIXED_VIEW(uint64, GM_KIND_BIT(GM_UINT64))
FIXED_VIEW(float16, GM_KIND_BIT(GM_FLOAT16))
FIXED_VIEW(float32, GM_KIND_BIT(GM_FLOAT32))
FIXED_VIEW(float64, GM_KIND_BIT(GM_FLOAT64))
FIXED_VIEW(decimal128, GM_KIND_BIT(GM_DECIMAL128))
FIXED_VIEW(decimal256, GM_KIND_BIT(GM_DECIMAL256))
FIXED_VIEW(bool, GM_KIND_BIT(GM_BOOLEAN))

/// Offsets of 32 bits, whatever the column has: a guest's memory holds no more.
static const uint32_t *offsets_of(gm_array array) {
    gm_kind kind = array.field->type.kind;
    bool of_one_size = kind == GM_FIXED_SIZE_BINARY || kind == GM_FIXED_SIZE_LIST;
    if (!of_one_size && !gm_is_large(kind)) return (const void *)array.buffers[1].data;
    uint32_t *offsets = gm_alloc(sizeof(uint32_t) * ((size_t)array.rows + 1));
    for (uint32_t i = 0; i <= array.rows; i++) {
        uint64_t offset = of_one_size ? (uint64_t)i * array.field->type.size : offset_at(array, i);
        if (offset > UINT32_MAX) gm_trap_column_is_larger_than_2_gib(array.field);
        offsets[i] = (uint32_t)offset;
    }
    return offsets;
}

gm_text_column gm_text_of(gm_array array) {
    expect(array, GM_KINDS_OF_TEXT, "text");
    return (gm_text_column){offsets_of(array), (const char *)array.buffers[2].data, array.valid, array.field,
                            array.rows};
}

gm_bytes_column gm_bytes_of(gm_array array) {
    expect(array, GM_KINDS_OF_TEXT | GM_KINDS_OF_BYTES, "bytes");
    const gm_bytes *data = &array.buffers[array.field->type.kind == GM_FIXED_SIZE_BINARY ? 1 : 2];
    return (gm_bytes_column){offsets_of(array), data->data, array.valid, array.field, array.rows};
}

gm_list_column gm_list_of(gm_array array) {
    expect(array, GM_KINDS_OF_LIST, "list");
    return (gm_list_column){offsets_of(array), gm_child(array, 0), array.valid, array.field, array.rows};
}
