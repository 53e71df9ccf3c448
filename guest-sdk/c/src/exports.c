// The component's exports: the canonical ABI passes records as their flattened members.
#ifdef __wasm32__

#include "internal.h"

#define EXPORT(name) __attribute__((export_name(name)))
#define INTERFACE "gristmill:transform/transform@0.1.0"

// The world, as a section that tools which make the component read. Generated from wit/transform.wit.
__asm__(
    ".section \".custom_section.component-type:gristmill\",\"\",@\n"
    ".incbin \"component-type.bin\"\n"
    ".text\n");

EXPORT("cabi_realloc") void *gm_export_realloc(void *old, size_t old_size, size_t alignment, size_t new_size) {
    (void)alignment;  // `gm_alloc` aligns for everything.
    return gm_realloc(old, old_size, new_size);
}

#define SETUP_PARAMETERS                                                                                          \
    uint32_t stage, const char *config, uint32_t config_len, abi_field *input, uint32_t input_len,               \
        abi_dictionary *dictionaries, uint32_t dictionaries_len
#define SETUP                                                                                                     \
    {                                                                                                             \
        (uint8_t)stage, {config, config_len}, {input, input_len}, { dictionaries, dictionaries_len }              \
    }

EXPORT(INTERFACE "#plan") abi_plan_result *gm_export_plan(SETUP_PARAMETERS) {
    abi_setup setup = SETUP;
    return gm_contract_plan(&gristmill_transform, &setup);
}

EXPORT(INTERFACE "#process")
abi_process_result *gm_export_process(SETUP_PARAMETERS, uint32_t rows, gm_node *nodes, uint32_t nodes_len,
                                      gm_bytes *buffers, uint32_t buffers_len) {
    abi_setup setup = SETUP;
    abi_batch batch = {rows, {{nodes, nodes_len}, {buffers, buffers_len}}};
    return gm_contract_process(&gristmill_transform, &setup, &batch);
}

#endif
