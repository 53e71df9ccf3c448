/// Column types and fields.
#ifndef GRISTMILL_TYPE_H
#define GRISTMILL_TYPE_H

#include "base.h"

/// What a column is, without its parameters.
typedef enum {
    GM_NULL,
    GM_BOOLEAN,
    GM_INT8,
    GM_INT16,
    GM_INT32,
    GM_INT64,
    GM_UINT8,
    GM_UINT16,
    GM_UINT32,
    GM_UINT64,
    GM_FLOAT16,
    GM_FLOAT32,
    GM_FLOAT64,
    GM_DECIMAL128,
    GM_DECIMAL256,
    GM_UTF8,
    GM_LARGE_UTF8,
    GM_BINARY,
    GM_LARGE_BINARY,
    GM_FIXED_SIZE_BINARY,
    /// Days since 1970-01-01.
    GM_DATE32,
    /// Milliseconds since 1970-01-01.
    GM_DATE64,
    /// Seconds or milliseconds since midnight.
    GM_TIME32,
    /// Microseconds or nanoseconds since midnight.
    GM_TIME64,
    /// Since 1970-01-01T00:00:00, in UTC where there is a zone, else local time.
    GM_TIMESTAMP,
    GM_DURATION,
    GM_LIST,
    GM_LARGE_LIST,
    GM_FIXED_SIZE_LIST,
    GM_STRUCT,
    GM_MAP,
} gm_kind;

// Kinds that share a view and a builder.
#define GM_KIND_BIT(kind) (1u << (kind))
#define GM_KINDS_OF_INT32 (GM_KIND_BIT(GM_INT32) | GM_KIND_BIT(GM_DATE32) | GM_KIND_BIT(GM_TIME32))
#define GM_KINDS_OF_INT64                                                                                        \
    (GM_KIND_BIT(GM_INT64) | GM_KIND_BIT(GM_DATE64) | GM_KIND_BIT(GM_TIME64) | GM_KIND_BIT(GM_TIMESTAMP) |       \
     GM_KIND_BIT(GM_DURATION))
#define GM_KINDS_OF_TEXT (GM_KIND_BIT(GM_UTF8) | GM_KIND_BIT(GM_LARGE_UTF8))
#define GM_KINDS_OF_BYTES                                                                                        \
    (GM_KIND_BIT(GM_BINARY) | GM_KIND_BIT(GM_LARGE_BINARY) | GM_KIND_BIT(GM_FIXED_SIZE_BINARY))
#define GM_KINDS_OF_LIST                                                                                         \
    (GM_KIND_BIT(GM_LIST) | GM_KIND_BIT(GM_LARGE_LIST) | GM_KIND_BIT(GM_FIXED_SIZE_LIST) | GM_KIND_BIT(GM_MAP))

typedef enum { GM_SECOND, GM_MILLISECOND, GM_MICROSECOND, GM_NANOSECOND } gm_unit;

typedef struct gm_field gm_field;

/// A column type. Make one with the functions below; only the members that its kind calls for have a meaning.
typedef struct {
    gm_kind kind;
    /// Decimals.
    uint8_t precision;
    int8_t scale;
    /// Times, timestamps and durations.
    gm_unit unit;
    /// Timestamps: an IANA name or a fixed offset such as `+00:00`; NULL is local time.
    const char *zone;
    /// Bytes of a fixed-size binary, items of a fixed-size list.
    uint32_t size;
    /// Maps: the keys of each value are sorted.
    bool sorted;
    /// The item of a list, the members of a struct, the entries of a map (a struct of key and value).
    const gm_field *children;
    uint32_t child_count;
} gm_type;

struct gm_field {
    const char *name;
    gm_type type;
    bool nullable;
};

#define GM_PLAIN_TYPE(name, kind_) \
    static inline gm_type gm_##name(void) { return (gm_type){.kind = kind_}; }

GM_PLAIN_TYPE(null, GM_NULL)
GM_PLAIN_TYPE(boolean, GM_BOOLEAN)
GM_PLAIN_TYPE(int8, GM_INT8)
GM_PLAIN_TYPE(int16, GM_INT16)
GM_PLAIN_TYPE(int32, GM_INT32)
GM_PLAIN_TYPE(int64, GM_INT64)
GM_PLAIN_TYPE(uint8, GM_UINT8)
GM_PLAIN_TYPE(uint16, GM_UINT16)
GM_PLAIN_TYPE(uint32, GM_UINT32)
GM_PLAIN_TYPE(uint64, GM_UINT64)
GM_PLAIN_TYPE(float16, GM_FLOAT16)
GM_PLAIN_TYPE(float32, GM_FLOAT32)
GM_PLAIN_TYPE(float64, GM_FLOAT64)
GM_PLAIN_TYPE(utf8, GM_UTF8)
GM_PLAIN_TYPE(large_utf8, GM_LARGE_UTF8)
GM_PLAIN_TYPE(binary, GM_BINARY)
GM_PLAIN_TYPE(large_binary, GM_LARGE_BINARY)
GM_PLAIN_TYPE(date32, GM_DATE32)
GM_PLAIN_TYPE(date64, GM_DATE64)
#undef GM_PLAIN_TYPE

static inline gm_type gm_decimal128(uint8_t precision, int8_t scale) {
    return (gm_type){.kind = GM_DECIMAL128, .precision = precision, .scale = scale};
}
static inline gm_type gm_decimal256(uint8_t precision, int8_t scale) {
    return (gm_type){.kind = GM_DECIMAL256, .precision = precision, .scale = scale};
}
static inline gm_type gm_fixed_size_binary(uint32_t bytes) {
    return (gm_type){.kind = GM_FIXED_SIZE_BINARY, .size = bytes};
}
static inline gm_type gm_time32(gm_unit unit) { return (gm_type){.kind = GM_TIME32, .unit = unit}; }
static inline gm_type gm_time64(gm_unit unit) { return (gm_type){.kind = GM_TIME64, .unit = unit}; }
static inline gm_type gm_duration(gm_unit unit) { return (gm_type){.kind = GM_DURATION, .unit = unit}; }
/// `zone` is NULL for local time.
static inline gm_type gm_timestamp(gm_unit unit, const char *zone) {
    return (gm_type){.kind = GM_TIMESTAMP, .unit = unit, .zone = zone};
}

/// A field that may hold nulls.
static inline gm_field gm_nullable(const char *name, gm_type type) { return (gm_field){name, type, true}; }
/// A field that never holds nulls.
static inline gm_field gm_required(const char *name, gm_type type) { return (gm_field){name, type, false}; }

gm_type gm_list(gm_field item);
gm_type gm_large_list(gm_field item);
gm_type gm_fixed_size_list(gm_field item, uint32_t items);
/// The members as `GM_FIELDS(…)`: they are copied.
gm_type gm_struct(const gm_field *members, uint32_t count);
#define GM_FIELDS(...) \
    (const gm_field[]){__VA_ARGS__}, (uint32_t)(sizeof((const gm_field[]){__VA_ARGS__}) / sizeof(gm_field))
/// A map with unsorted keys; `value` may be nullable.
gm_type gm_map(gm_type key, gm_field value);

bool gm_type_equal(const gm_type *a, const gm_type *b);
/// As it is written in a pipeline: `decimal128(18, 2)`, `list<int64>`.
const char *gm_type_text(const gm_type *type);
/// The name of a kind alone.
const char *gm_kind_text(gm_kind kind);

#endif
