//! From a core module to a component.

use super::ToolchainError;
use wit_component::{ComponentEncoder, DecodedWasm, decode};
use wit_parser::{Resolve, TypeDefKind, TypeId, WorldItem};

/// Wraps a core module that carries the bindings' metadata, and refuses one that imports anything.
pub(super) fn from_core_module(package: &str, core: &[u8]) -> Result<Vec<u8>, ToolchainError> {
    let not_a_component = |error| not_a_component(package, error);
    let mut encoder =
        ComponentEncoder::default().validate(true).debug_names(false).module(core).map_err(not_a_component)?;
    let component = encoder.encode().map_err(not_a_component)?;
    let imports = imports(package, &component)?;
    if !imports.is_empty() {
        return Err(ToolchainError::Imports { package: package.to_owned(), imports: imports.join(", ") });
    }
    Ok(component)
}

/// What a component imports, without interfaces that hold nothing but types: those ask the host for nothing.
pub(super) fn imports(package: &str, component: &[u8]) -> Result<Vec<String>, ToolchainError> {
    let decoded = decode(component).map_err(|error| not_a_component(package, error))?;
    let DecodedWasm::Component(resolve, world) = decoded else {
        return Err(ToolchainError::NotAComponent {
            package: package.to_owned(),
            problem: "it is a WIT package without code".to_owned(),
        });
    };
    let imports = resolve.worlds[world].imports.iter().filter(|(_, item)| asks_the_host(&resolve, item));
    Ok(imports.map(|(key, _)| resolve.name_world_key(key)).collect())
}

fn asks_the_host(resolve: &Resolve, item: &WorldItem) -> bool {
    let is_resource = |id: &TypeId| matches!(resolve.types[*id].kind, TypeDefKind::Resource);
    match item {
        WorldItem::Function(_) => true,
        WorldItem::Type { id, .. } => is_resource(id),
        WorldItem::Interface { id, .. } => {
            let interface = &resolve.interfaces[*id];
            !interface.functions.is_empty() || interface.types.values().any(is_resource)
        }
    }
}

fn not_a_component(package: &str, error: impl std::fmt::Display) -> ToolchainError {
    ToolchainError::NotAComponent { package: package.to_owned(), problem: error.to_string() }
}
