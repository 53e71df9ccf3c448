// What the parts of the library know of each other.
#ifndef GRISTMILL_INTERNAL_H
#define GRISTMILL_INTERNAL_H

#include "abi.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/// A list that grows: `items`, `len` and `capacity` beside each other in a struct.
#define LIST(item)              \
    struct {                    \
        item *items;            \
        uint32_t len, capacity; \
    }
/// Adds an item. `list` is evaluated more than once.
#define LIST_PUSH(list, item)                                                                                     \
    do {                                                                                                          \
        if ((list).len == (list).capacity) {                                                                      \
            uint32_t larger = MAX(8, (list).capacity * 2);                                                        \
            size_t size = sizeof *(list).items;                                                                   \
            (list).items = gm_realloc((list).items, size * (list).capacity, size * larger);                       \
            (list).capacity = larger;                                                                             \
        }                                                                                                         \
        (list).items[(list).len++] = (item);                                                                      \
    } while (0)

typedef struct {
    uint8_t kind;
    const char *input;
    uint32_t lookup;
} source;

typedef struct {
    source source;
    gm_field field;
} read_column;

typedef struct {
    const char *dictionary, *key;
    gm_field value;
} lookup_column;

typedef struct {
    bool computed;
    source source;
    gm_field field;
} output_column;

typedef struct {
    const char *name;
    LIST(output_column) columns;
    uint32_t computed;
} output_plan;

typedef struct {
    const char *name, *key;
    LIST(gm_field) fields;
} dictionary;

typedef struct {
    const char *code, *message;
} failure;

struct gm_plan {
    gm_stage stage;
    LIST(gm_field) input;
    LIST(dictionary) dictionaries;
    const gm_json *config;
    LIST(const char *) asked_keys;
    bool whole_config_asked;

    LIST(read_column) reads;
    LIST(lookup_column) lookups;
    LIST(output_plan) outputs;
    failure failure;
};

struct gm_batch {
    uint32_t rows;
    const gm_plan *plan;
    /// One for each read of the plan.
    gm_array *columns;
};

typedef struct {
    const output_plan *plan;
    gm_selection selection;
    bool selected;
    /// One for each computed column.
    gm_builder *builders;
} output;

struct gm_outputs {
    uint32_t rows;
    output *outputs;
    uint32_t output_count;
    LIST(abi_reject) rejects;
    LIST(abi_string) messages;
    failure failure;
};

/// A plan of this setup, with the transform's plan made. Look at `failure` before the rest.
gm_plan *gm_plan_make(const gm_transform *transform, const abi_setup *setup, void **state);
/// Nodes of a field's tree, and the tree itself in the contract's form; returns what lies behind it.
uint32_t gm_tree_size(const gm_field *field);
abi_field *gm_put_tree(const gm_field *from, abi_field *to);

gm_batch *gm_batch_from_abi(const gm_plan *plan, const abi_batch *from, failure *problem);
gm_outputs *gm_outputs_new(const gm_plan *plan, uint32_t rows);
void gm_outputs_to_abi(gm_outputs *outputs, abi_processed *to);
/// Calls the transform for each row of the batch.
void gm_rows_process(const gm_transform *transform, const gm_plan *plan, const gm_batch *batch, gm_outputs *outputs,
                     const void *state);

/// Buffers of a column itself, and nodes and buffers with its children.
uint32_t gm_own_buffers(gm_kind kind);
typedef struct {
    uint32_t nodes, buffers;
} layout;
layout gm_layout(const gm_type *type);
/// Bytes of one value of fixed width; 0 for other kinds and for booleans.
uint32_t gm_width(const gm_type *type);
bool gm_is_large(gm_kind kind);
bool gm_is_list(gm_kind kind);

/// The array of a field whose nodes and buffers start here. Traps where they are not whole.
gm_array gm_array_of(const gm_field *field, const gm_node *nodes, const gm_bytes *buffers);
/// Whether every buffer has the length that the field's type and its node call for.
bool gm_array_is_whole(gm_array array);

void gm_builder_init(gm_builder *builder, const gm_field *field, uint32_t expected);
/// Writes the column's nodes and buffers, and moves both pointers on.
void gm_builder_finish(gm_builder *builder, gm_node **nodes, gm_bytes **buffers);

const char *gm_uint_text(uint64_t value);

#ifndef __wasm32__
/// Called in place of ending the process, with what went wrong.
extern void (*gm_on_trap)(const char *message);
/// Frees all that was allocated.
void gm_free_all(void);
#endif

#endif
