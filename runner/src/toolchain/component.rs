//! From a core module to a component.

use super::ToolchainError;
use crate::host::is_virtual;
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, decode, embed_component_metadata};
use wit_parser::{Resolve, TypeDefKind, TypeId, WorldItem};

/// The contract, for modules that do not carry its types themselves.
const CONTRACT: &str = include_str!("../../../wit/transform.wit");
const WORLD: &str = "transformer";
/// What a custom section with the types of a world is called; some generators put a suffix behind it.
const TYPES_SECTION: &[u8] = b"component-type";

/// Wraps a core module, and refuses one that imports what the host does not give. `adapters` meet imports from inside.
pub(super) fn from_core_module(
    project: &str,
    core: &[u8],
    adapters: &[(&'static str, Vec<u8>)],
) -> Result<Vec<u8>, ToolchainError> {
    let encode = || {
        let mut core = core.to_vec();
        if !custom_sections(&core).any(|(name, _)| name.starts_with(TYPES_SECTION)) {
            let mut resolve = Resolve::default();
            let package = resolve.push_str("transform.wit", CONTRACT)?;
            let world = resolve.select_world(&[package], Some(WORLD))?;
            embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8)?;
        }
        let mut encoder = ComponentEncoder::default().validate(true).debug_names(false).module(&core)?;
        for (name, adapter) in adapters {
            encoder = encoder.adapter(name, adapter)?;
        }
        encoder.encode()
    };
    let component = encode().map_err(|error| {
        let text = format!("{error:#}");
        match unmet_import(&text) {
            Some(import) => ToolchainError::Imports { project: project.to_owned(), imports: import.to_owned() },
            None => not_a_component(project, text),
        }
    })?;
    let refused: Vec<_> = imports(project, &component)?.into_iter().filter(|name| !is_virtual(name)).collect();
    if !refused.is_empty() {
        return Err(ToolchainError::Imports { project: project.to_owned(), imports: refused.join(", ") });
    }
    Ok(component)
}

/// The import of a core module that nothing meets, such as a libc's `wasi_snapshot_preview1::fd_write`. The encoder's error has no
/// type for it; a test holds the text in place.
fn unmet_import(error: &str) -> Option<&str> {
    error.split_once("failed to resolve import `")?.1.split('`').next()
}

/// Drops what only debuggers read. Names of functions stay: the host shows them of a trap.
pub(super) fn without_debug_sections(core: &[u8]) -> Vec<u8> {
    let mut kept = core.to_vec();
    let dropped = [b".debug_".as_slice(), b"producers", b"target_features"];
    let ranges: Vec<_> = custom_sections(core)
        .filter(|(name, _)| dropped.iter().any(|dropped| name.starts_with(dropped)))
        .map(|(_, range)| range)
        .collect();
    ranges.into_iter().rev().for_each(|range| {
        kept.drain(range);
    });
    kept
}

/// Name and place of each custom section of a module. What is no module has none.
fn custom_sections(module: &[u8]) -> impl Iterator<Item = (&[u8], std::ops::Range<usize>)> {
    let mut at = 8;
    let mut sections = Vec::new();
    while at < module.len() {
        let start = at;
        let Some((size, body)) = leb(module, at + 1) else { break };
        let Some(end) = body.checked_add(size).filter(|end| *end <= module.len()) else { break };
        if module[start] == 0
            && let Some((length, name)) = leb(module, body)
            && let Some(name) = module[..end].get(name..).and_then(|rest| rest.get(..length))
        {
            sections.push((name, start..end));
        }
        at = end;
    }
    sections.into_iter()
}

/// An unsigned LEB128 number of up to 32 bits, and where it ends.
fn leb(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(at)?;
        at += 1;
        value |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((value, at));
        }
    }
    None
}

/// What a component imports, without interfaces that hold nothing but types: those ask the host for nothing.
pub(super) fn imports(project: &str, component: &[u8]) -> Result<Vec<String>, ToolchainError> {
    let decoded = decode(component).map_err(|error| not_a_component(project, error))?;
    let DecodedWasm::Component(resolve, world) = decoded else {
        return Err(not_a_component(project, "it is a WIT package without code"));
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

fn not_a_component(project: &str, error: impl std::fmt::Display) -> ToolchainError {
    ToolchainError::NotAComponent { project: project.to_owned(), problem: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_sections_are_dropped_and_names_stay() {
        let module = wat::parse_str(
            r#"(module (func $f (export "f")) (@custom ".debug_info" "xx") (@custom "producers" "y") (@custom "kept" "z"))"#,
        )
        .unwrap();
        let stripped = without_debug_sections(&module);
        let names: Vec<_> =
            custom_sections(&stripped).map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
        assert_eq!(names, ["kept", "name"]);
        assert_eq!(
            without_debug_sections(b"\0asm\x01\0\0\0\0\xff\xff\xff\xff\xff"),
            b"\0asm\x01\0\0\0\0\xff\xff\xff\xff\xff"
        );
    }

    #[test]
    fn an_import_that_nothing_meets_is_named() {
        let module =
            wat::parse_str(r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))))"#).unwrap();
        let error = from_core_module("p@1.0.0", &module, &[]).unwrap_err().to_string();
        assert!(error.starts_with("p@1.0.0 imports wasi_snapshot_preview1::proc_exit: a transform"), "{error}");
    }

    #[test]
    fn a_module_that_does_not_export_the_contract_is_refused() {
        let module = wat::parse_str("(module)").unwrap();
        let error = from_core_module("p@1.0.0", &module, &[]).unwrap_err().to_string();
        assert!(error.starts_with("p@1.0.0 is no transform component: "), "{error}");
        assert!(error.contains("gristmill:transform/transform@0.1.0"), "{error}");
    }
}
