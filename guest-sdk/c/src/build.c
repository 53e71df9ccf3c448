// Builders: room for values, nulls, nested values, and the finished column.
#include "gristmill/build.h"

#include <string.h>

#include "internal.h"

static gm_kind kind_of(const gm_builder *builder) { return builder->field->type.kind; }

static bool has_data(const gm_builder *builder) {
    return gm_own_buffers(kind_of(builder)) == 3 || kind_of(builder) == GM_FIXED_SIZE_BINARY;
}

static uint32_t bit_bytes(uint32_t bits) { return bits / 8 + (bits % 8 != 0); }

void gm_builder_init(gm_builder *builder, const gm_field *field, uint32_t expected) {
    const gm_type *type = &field->type;
    *builder = (gm_builder){.field = field, .expected = expected};
    if (!type->child_count) return;
    builder->children = gm_alloc(sizeof(gm_builder) * type->child_count);
    for (uint32_t i = 0; i < type->child_count; i++) gm_builder_init(&builder->children[i], &type->children[i], expected);
}

gm_builder *gm_expect_kind(gm_builder *builder, uint32_t kinds, const char *wanted) {
    if (!(GM_KIND_BIT(kind_of(builder)) & kinds)) gm_trap_column_has_another_type(builder->field, wanted);
    return builder;
}

static void *grown(void *memory, uint64_t old_bytes, uint64_t new_bytes) {
    if (new_bytes > SIZE_MAX / 2) gm_trap_out_of_memory();
    return gm_realloc(memory, (size_t)old_bytes, (size_t)new_bytes);
}

/// Makes room for more values: what is expected the first time, then twice as many.
void gm_grow(gm_builder *builder, uint32_t more) {
    uint64_t old = builder->capacity, needed = (uint64_t)builder->len + more;
    uint64_t capacity = MAX(MAX(needed, old * 2), MAX(builder->expected, 8));
    if (capacity > UINT32_MAX - 8) capacity = MAX(needed, UINT32_MAX - 8);
    if (capacity >= UINT32_MAX) gm_trap_column_is_larger_than_2_gib(builder->field);
    uint32_t width = has_data(builder) ? 0 : gm_width(&builder->field->type);
    if (width) builder->values = grown(builder->values, old * width, capacity * width);
    if (kind_of(builder) == GM_BOOLEAN)
        builder->values = grown(builder->values, bit_bytes(builder->capacity), bit_bytes((uint32_t)capacity));
    if (has_data(builder) || gm_is_list(kind_of(builder))) {
        builder->offsets = grown(builder->offsets, old ? (old + 1) * 4 : 0, (capacity + 1) * 4);
        if (!old) builder->offsets[0] = 0;
    }
    if (builder->valid) {
        builder->valid = grown(builder->valid, bit_bytes(builder->capacity), bit_bytes((uint32_t)capacity));
        memset(builder->valid + bit_bytes(builder->capacity), 0xff,
               bit_bytes((uint32_t)capacity) - bit_bytes(builder->capacity));
    }
    builder->capacity = (uint32_t)capacity;
}

void gm_grow_data(gm_builder *builder, uint32_t more) {
    uint64_t needed = (uint64_t)builder->data_len + more, old = builder->data_capacity;
    // Texts of a table are short; much more is asked for than used only where they are all empty.
    uint64_t capacity = MAX(MAX(needed, old * 2), MAX((uint64_t)builder->expected * 8, 64));
    if (needed > INT32_MAX && !gm_is_large(kind_of(builder))) gm_trap_column_is_larger_than_2_gib(builder->field);
    if (needed > UINT32_MAX) gm_trap_column_is_larger_than_2_gib(builder->field);
    if (capacity > UINT32_MAX) capacity = needed;
    builder->data = grown(builder->data, old, capacity);
    builder->data_capacity = (uint32_t)capacity;
}

static void reserve(gm_builder *builder, uint32_t more) {
    if (builder->capacity - builder->len < more) gm_grow(builder, more);
}

static void reserve_data(gm_builder *builder, uint32_t more) {
    if (builder->data_capacity - builder->data_len < more) gm_grow_data(builder, more);
}

static void mark_null(gm_builder *builder, uint32_t place) {
    if (!builder->valid) {
        builder->valid = gm_alloc(bit_bytes(builder->capacity));
        memset(builder->valid, 0xff, bit_bytes(builder->capacity));
    }
    builder->valid[place >> 3] &= (uint8_t) ~(1 << (place & 7));
    builder->nulls++;
}

static void set_bit(uint8_t *bits, uint32_t place, bool value) {
    uint8_t mask = (uint8_t)(1 << (place & 7));
    bits[place >> 3] = value ? bits[place >> 3] | mask : bits[place >> 3] & (uint8_t)~mask;
}

static void end_list(gm_builder *list) {
    uint32_t end = list->children[0].len;
    if (end > INT32_MAX && !gm_is_large(kind_of(list))) gm_trap_column_is_larger_than_2_gib(list->field);
    list->offsets[list->len + 1] = end;
}

/// A value of no meaning, where there is room for it: what lies behind a null.
static void push_filler(gm_builder *builder) {
    const gm_type *type = &builder->field->type;
    uint32_t place = builder->len, width = gm_width(type);
    if (kind_of(builder) == GM_FIXED_SIZE_BINARY) {
        reserve_data(builder, width);
        memset(builder->data + builder->data_len, 0, width);
        builder->data_len += width;
    }
    if (has_data(builder)) {
        builder->offsets[place + 1] = builder->data_len;
    } else if (gm_is_list(kind_of(builder))) {
        if (builder->children[0].len != builder->offsets[place]) gm_trap_nested_value_is_not_whole(builder->field);
        end_list(builder);
    } else if (width) {
        memset((uint8_t *)builder->values + (size_t)place * width, 0, width);
    } else if (kind_of(builder) == GM_BOOLEAN) {
        set_bit(builder->values, place, false);
    } else {
        uint32_t each = kind_of(builder) == GM_FIXED_SIZE_LIST ? type->size : 1;
        for (uint32_t i = 0; i < type->child_count; i++)
            for (uint32_t k = 0; k < each; k++) {
                gm_builder *child = &builder->children[i];
                if (child->len != place * each + k) gm_trap_nested_value_is_not_whole(builder->field);
                reserve(child, 1);
                if (child->field->nullable) mark_null(child, child->len);
                push_filler(child);
            }
    }
    builder->len++;
}

void gm_push_null(gm_builder *builder) {
    reserve(builder, 1);
    mark_null(builder, builder->len);
    push_filler(builder);
}

gm_builder *gm_child_builder(gm_builder *nested, uint32_t place) {
    if (place >= nested->field->type.child_count)
        gm_trap_column_has_no_such_member(nested->field, gm_uint_text(place));
    return &nested->children[place];
}

void gm_end_value(gm_builder *nested) {
    const gm_type *type = &nested->field->type;
    gm_expect_kind(nested, GM_KINDS_OF_LIST | GM_KIND_BIT(GM_STRUCT), "list or struct");
    reserve(nested, 1);
    if (gm_is_list(type->kind)) {
        end_list(nested);
    } else {
        uint64_t each = type->kind == GM_FIXED_SIZE_LIST ? type->size : 1, wanted = (nested->len + (uint64_t)1) * each;
        for (uint32_t i = 0; i < type->child_count; i++)
            if (nested->children[i].len != wanted) gm_trap_nested_value_is_not_whole(nested->field);
    }
    nested->len++;
}

#define TAKE(value_type)                                                                          \
    {                                                                                             \
        const value_type *from = (const void *)array.buffers[1].data;                             \
        value_type *to = (value_type *)builder->values + builder->len;                            \
        for (uint32_t i = 0; i < count; i++) to[i] = from[rows[i]];                               \
    }

static void take_bytes(gm_builder *builder, gm_array array, const uint32_t *rows, uint32_t count) {
    gm_bytes_column from = gm_bytes_of(array);
    for (uint32_t i = 0; i < count; i++) {
        gm_bytes value = gm_bytes_at(from, rows[i]);
        if (array.valid && !gm_bit(array.valid, rows[i]) && gm_own_buffers(kind_of(builder)) == 3) value.len = 0;
        reserve_data(builder, value.len);
        gm_copy_bytes(builder->data + builder->data_len, value.data, value.len);
        builder->data_len += value.len;
        builder->offsets[builder->len + i + 1] = builder->data_len;
    }
}

static void push_rows(gm_builder *builder, gm_array array, const uint32_t *rows, uint32_t count);

static void take_items(gm_builder *list, gm_array array, const uint32_t *rows, uint32_t count) {
    gm_list_column from = gm_list_of(array);
    LIST(uint32_t) items = {0};
    bool fixed = kind_of(list) == GM_FIXED_SIZE_LIST;
    uint32_t start = list->children[0].len;
    for (uint32_t i = 0; i < count; i++) {
        gm_range range = gm_list_at(from, rows[i]);
        bool none = !fixed && array.valid && !gm_bit(array.valid, rows[i]);
        for (uint32_t item = range.start; !none && item < range.end; item++) LIST_PUSH(items, item);
        if (!fixed) list->offsets[list->len + i + 1] = start + items.len;
    }
    push_rows(&list->children[0], from.items, items.items, items.len);
}

static void push_rows(gm_builder *builder, gm_array array, const uint32_t *rows, uint32_t count) {
    reserve(builder, count);
    for (uint32_t i = 0; array.valid && i < count; i++)
        if (!gm_bit(array.valid, rows[i])) mark_null(builder, builder->len + i);
    if (has_data(builder)) {
        take_bytes(builder, array, rows, count);
    } else if (GM_KIND_BIT(kind_of(builder)) & GM_KINDS_OF_LIST) {
        take_items(builder, array, rows, count);
    } else if (kind_of(builder) == GM_STRUCT) {
        for (uint32_t i = 0; i < builder->field->type.child_count; i++)
            push_rows(&builder->children[i], gm_child(array, i), rows, count);
    } else if (kind_of(builder) == GM_BOOLEAN) {
        for (uint32_t i = 0; i < count; i++)
            set_bit(builder->values, builder->len + i, gm_bit(array.buffers[1].data, rows[i]));
    } else {
        switch (gm_width(&builder->field->type)) {
            case 1: TAKE(uint8_t) break;
            case 2: TAKE(uint16_t) break;
            case 4: TAKE(uint32_t) break;
            case 8: TAKE(uint64_t) break;
            case 16: TAKE(gm_int128) break;
            case 32: TAKE(gm_int256) break;
            default: break;
        }
    }
    builder->len += count;
}

void gm_push_rows(gm_builder *builder, gm_array array, const uint32_t *rows, uint32_t count) {
    if (!gm_type_equal(&builder->field->type, &array.field->type))
        gm_trap_column_has_another_type(builder->field, gm_type_text(&array.field->type));
    for (uint32_t i = 0; i < count; i++) gm_check_row(array.field, rows[i], array.rows);
    if (kind_of(builder) == GM_NULL)
        for (uint32_t i = 0; i < count; i++) gm_push_null(builder);
    else
        push_rows(builder, array, rows, count);
}

void gm_take_nulls(gm_builder *builder, gm_array array, const uint32_t *rows) {
    if (!array.valid) return;
    if (!rows && !builder->valid && builder->len == array.rows && builder->len) {
        builder->valid = gm_alloc(bit_bytes(builder->capacity));
        memcpy(builder->valid, array.valid, bit_bytes(builder->len));
        // Bits behind the last row may be anything, and values to come are not null.
        for (uint32_t place = builder->len; place % 8; place++) set_bit(builder->valid, place, true);
        memset(builder->valid + bit_bytes(builder->len), 0xff, bit_bytes(builder->capacity) - bit_bytes(builder->len));
        builder->nulls = array.null_count;
        return;
    }
    for (uint32_t i = 0; i < builder->len; i++) {
        uint32_t row = rows ? rows[i] : i;
        gm_check_row(array.field, row, array.rows);
        if (gm_bit(array.valid, row) || (builder->valid && !gm_bit(builder->valid, i))) continue;
        mark_null(builder, i);
    }
}

void gm_truncate(gm_builder *builder, uint32_t len) {
    for (uint32_t place = len; builder->valid && place < builder->len; place++) {
        builder->nulls -= !gm_bit(builder->valid, place);
        set_bit(builder->valid, place, true);
    }
    if (len >= builder->len) return;
    builder->len = len;
    if (has_data(builder)) builder->data_len = builder->offsets[len];
    const gm_type *type = &builder->field->type;
    for (uint32_t i = 0; i < type->child_count; i++) {
        uint32_t items = gm_is_list(type->kind)              ? builder->offsets[len]
                         : type->kind == GM_FIXED_SIZE_LIST ? len * type->size
                                                            : len;
        gm_truncate(&builder->children[i], items);
    }
}

static void put(gm_bytes **buffers, const void *data, uint64_t bytes) {
    *(*buffers)++ = (gm_bytes){data, (uint32_t)bytes};
}

static void put_offsets(gm_builder *builder, gm_bytes **buffers) {
    if (!builder->offsets) gm_grow(builder, 1);
    if (!gm_is_large(kind_of(builder))) {
        put(buffers, builder->offsets, ((uint64_t)builder->len + 1) * 4);
        return;
    }
    uint64_t *wide = gm_alloc(((size_t)builder->len + 1) * 8);
    for (uint32_t i = 0; i <= builder->len; i++) wide[i] = builder->offsets[i];
    put(buffers, wide, ((uint64_t)builder->len + 1) * 8);
}

static void finish_given(gm_array given, gm_node **nodes, gm_bytes **buffers) {
    layout whole = gm_layout(&given.field->type);
    memcpy(*nodes, given.nodes, sizeof(gm_node) * whole.nodes);
    if (whole.buffers) memcpy(*buffers, given.buffers, sizeof(gm_bytes) * whole.buffers);
    *nodes += whole.nodes;
    *buffers += whole.buffers;
}

void gm_builder_finish(gm_builder *builder, gm_node **nodes, gm_bytes **buffers) {
    if (builder->given) {
        finish_given(*builder->given, nodes, buffers);
        return;
    }
    const gm_type *type = &builder->field->type;
    if (builder->nulls && !builder->field->nullable) gm_trap_required_column_holds_nulls(builder->field);
    *(*nodes)++ = (gm_node){builder->len, builder->nulls};
    if (type->kind == GM_NULL) return;
    bool nulls = builder->nulls != 0;
    if (nulls && builder->len % 8) builder->valid[builder->len / 8] &= (uint8_t)((1 << builder->len % 8) - 1);
    put(buffers, nulls ? builder->valid : NULL, nulls ? bit_bytes(builder->len) : 0);
    if (gm_is_list(type->kind) || gm_own_buffers(type->kind) == 3) put_offsets(builder, buffers);
    if (has_data(builder))
        put(buffers, builder->data, builder->data_len);
    else if (type->kind == GM_BOOLEAN)
        put(buffers, builder->values, bit_bytes(builder->len));
    else if (gm_width(type))
        put(buffers, builder->values, (uint64_t)builder->len * gm_width(type));
    for (uint32_t i = 0; i < type->child_count; i++) gm_builder_finish(&builder->children[i], nodes, buffers);
}
