// The contract's types as they lie in memory: C lays out these structs exactly as the canonical ABI does on wasm32. The
// component exports and the tests call the same two functions on them.
#ifndef GRISTMILL_ABI_H
#define GRISTMILL_ABI_H

#include "gristmill.h"

typedef gm_text abi_string;

#define ABI_LIST(item)   \
    struct {             \
        item *data;      \
        uint32_t len;    \
    }
#define ABI_OPTION(item) \
    struct {             \
        bool is_some;    \
        item some;       \
    }

typedef struct {
    uint8_t kind;
    union {
        struct {
            uint8_t precision;
            int8_t scale;
        } decimal;
        uint32_t size;
        uint8_t unit;
        struct {
            uint8_t unit;
            ABI_OPTION(abi_string) zone;
        } timestamp;
        bool sorted;
    };
} abi_type;

typedef struct {
    abi_string name;
    abi_type type;
    bool nullable;
    uint32_t children;
} abi_field;
typedef ABI_LIST(abi_field) abi_fields;

typedef struct {
    ABI_LIST(gm_node) nodes;
    ABI_LIST(gm_bytes) buffers;
} abi_columns;

typedef struct {
    abi_string name, key;
    abi_fields fields;
} abi_dictionary;

typedef struct {
    uint8_t stage;
    abi_string config;
    abi_fields input;
    ABI_LIST(abi_dictionary) dictionaries;
} abi_setup;

typedef struct {
    uint32_t rows;
    abi_columns columns;
} abi_batch;

enum { ABI_SOURCE_INPUT, ABI_SOURCE_LOOKUP, ABI_SOURCE_OPERATION };

typedef struct {
    uint8_t kind;
    union {
        abi_string input;
        uint32_t lookup;
    };
} abi_source;

typedef struct {
    abi_string dictionary, key, value;
} abi_lookup;

enum { ABI_COLUMN_FORWARDED, ABI_COLUMN_COMPUTED };

typedef struct {
    uint8_t kind;
    union {
        struct {
            abi_string name;
            abi_source source;
        } forwarded;
        abi_fields computed;
    };
} abi_output_column;

typedef struct {
    abi_string name;
    ABI_LIST(abi_output_column) columns;
} abi_output_plan;

typedef struct {
    ABI_LIST(abi_source) reads;
    ABI_LIST(abi_lookup) lookups;
    ABI_LIST(abi_output_plan) outputs;
} abi_plan;

typedef struct {
    uint32_t rows;
    ABI_OPTION(ABI_LIST(uint32_t)) selection;
    ABI_OPTION(ABI_LIST(uint8_t)) operations;
    abi_columns columns;
} abi_output;

typedef struct {
    uint32_t row;
    abi_string code;
    ABI_OPTION(abi_string) field;
    abi_string message;
} abi_reject;

typedef struct {
    ABI_LIST(abi_output) outputs;
    ABI_LIST(abi_reject) rejects;
    ABI_LIST(abi_string) messages;
} abi_processed;

typedef struct {
    abi_string code, message;
} abi_failure;

typedef struct {
    bool is_failure;
    union {
        abi_plan plan;
        abi_failure failure;
    };
} abi_plan_result;

typedef struct {
    bool is_failure;
    union {
        abi_processed processed;
        abi_failure failure;
    };
} abi_process_result;

#ifdef __wasm32__
_Static_assert(sizeof(abi_type) == 20 && sizeof(abi_field) == 36, "the canonical ABI's layout");
_Static_assert(sizeof(abi_source) == 12 && sizeof(abi_output_column) == 24, "the canonical ABI's layout");
_Static_assert(sizeof(abi_output) == 44 && sizeof(abi_reject) == 32, "the canonical ABI's layout");
_Static_assert(sizeof(abi_plan_result) == 28 && sizeof(abi_process_result) == 28, "the canonical ABI's layout");
#endif

abi_plan_result *gm_contract_plan(const gm_transform *transform, const abi_setup *setup);
abi_process_result *gm_contract_process(const gm_transform *transform, const abi_setup *setup, const abi_batch *batch);

#endif
