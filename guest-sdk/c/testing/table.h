#ifndef GRISTMILL_TABLE_H
#define GRISTMILL_TABLE_H

#include "gristmill/testing.h"
#include "../src/internal.h"

struct gm_table {
    LIST(gm_array) columns;
    uint32_t rows;
};

/// Text in the making.
typedef LIST(char) text_buffer;
void gm_put_cstr(text_buffer *to, const char *text);
const char *gm_buffer_text(text_buffer *from);

/// The array of a finished builder.
gm_array gm_array_of_builder(gm_builder *builder);
/// NULL if there is no column of this name.
const gm_array *gm_table_column(const gm_table *table, const char *name);
/// These rows of a column.
gm_array gm_take(gm_array array, const uint32_t *rows, uint32_t count);
const char *gm_table_text(const gm_table *table);
void gm_put_value(text_buffer *to, gm_array array, uint32_t row);

/// Reads a type, as in a pipeline, from the start of a text; `at` moves past it.
gm_type gm_parse_type(const char **at);

/// What the runner would refuse of a column; NULL if nothing.
const char *gm_check_column(gm_array array);

#endif
