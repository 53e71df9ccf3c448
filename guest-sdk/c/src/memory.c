// All memory of a call, and copies of texts in it.
#include <stdarg.h>
#include <string.h>

#include "internal.h"

enum { ALIGNMENT = 16 };

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1); }

#ifdef __wasm32__

enum { PAGE = 65536, GROWTH_PAGES = 16 };

// Only memory that is grown here is used, so that a transform may call `malloc` beside it.
static uintptr_t cursor, end;

void *gm_alloc(size_t bytes) {
    bytes = aligned(bytes);
    if (__builtin_expect(bytes > end - cursor, false)) {
        size_t contiguous = end == __builtin_wasm_memory_size(0) * (size_t)PAGE ? end - cursor : 0;
        size_t pages = MAX((bytes - contiguous + PAGE - 1) / PAGE, GROWTH_PAGES);
        size_t grown = __builtin_wasm_memory_grow(0, pages);
        if (grown == SIZE_MAX) {
            // Less may still be there.
            pages = (bytes - contiguous + PAGE - 1) / PAGE;
            grown = __builtin_wasm_memory_grow(0, pages);
            if (grown == SIZE_MAX) gm_trap_out_of_memory();
        }
        if (!contiguous) cursor = grown * PAGE;
        end = (grown + pages) * PAGE;
    }
    void *memory = (void *)cursor;
    cursor += bytes;
    return memory;
}

void *gm_realloc(void *memory, size_t old_bytes, size_t new_bytes) {
    if (memory && (uintptr_t)memory + aligned(old_bytes) == cursor) {
        // Takes the latest allocation back and makes it again: at the same place, or copied where memory is not in one
        // piece.
        cursor = (uintptr_t)memory;
        void *moved = gm_alloc(new_bytes);
        if (moved != memory) memcpy(moved, memory, old_bytes);
        return moved;
    }
    void *moved = gm_alloc(new_bytes);
    if (old_bytes) memcpy(moved, memory, old_bytes);
    return moved;
}

#else

#include <stdlib.h>

// Each allocation by itself, so that tools which look for bad accesses see its ends.
typedef struct block {
    _Alignas(ALIGNMENT) struct block *next;
} block;
static block *blocks;

void *gm_alloc(size_t bytes) {
    block *new = malloc(sizeof(block) + aligned(bytes));
    if (!new) gm_trap_out_of_memory();
    new->next = blocks;
    blocks = new;
    return new + 1;
}

void *gm_realloc(void *memory, size_t old_bytes, size_t new_bytes) {
    void *moved = gm_alloc(new_bytes);
    if (old_bytes) memcpy(moved, memory, old_bytes);
    return moved;
}

void gm_free_all(void) {
    while (blocks) {
        block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

#endif

const char *gm_copy(gm_text text) {
    char *copy = gm_alloc(text.len + 1);
    if (text.len) memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    return copy;
}

const char *gm_concat(const char *first, ...) {
    va_list texts;
    size_t len = 0;
    va_start(texts, first);
    for (const char *text = first; text; text = va_arg(texts, const char *)) len += strlen(text);
    va_end(texts);
    char *all = gm_alloc(len + 1), *to = all;
    va_start(texts, first);
    for (const char *text = first; text; text = va_arg(texts, const char *)) {
        size_t part = strlen(text);
        memcpy(to, text, part);
        to += part;
    }
    va_end(texts);
    *to = 0;
    return all;
}

const char *gm_uint_text(uint64_t value) {
    char *text = gm_alloc(21), *at = text + 20;
    *at = 0;
    do *--at = (char)('0' + value % 10);
    while (value /= 10);
    return at;
}

const char *gm_int_text(int64_t value) {
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    return value < 0 ? gm_concat("-", gm_uint_text(magnitude), NULL) : gm_uint_text(magnitude);
}
