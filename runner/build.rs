//! Embeds the SDKs and their templates, so that an installed binary can start a project without a clone.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders of an SDK that are no part of it: tests, and what tools leave behind.
const LEFT_OUT: [&str; 5] = ["test", "tests", "target", "build", "zig-out"];
/// How the names of folders begin that hold a template.
const TEMPLATE: &str = "template";
/// The same, at any depth.
const LEFT_BEHIND: [&str; 2] = ["node_modules", "__pycache__"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("../guest-sdk");
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?).join("sdks.rs");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut text = "&[\n".to_owned();
    for sdk in folder(&root)?.into_iter().filter(|path| path.is_dir()) {
        let files = list(&sdk)?;
        for template in folder(&sdk)?.into_iter().filter(|path| path.is_dir()) {
            // A language without an SDK of its own has its template beside that of the one that it shares.
            let language = match name_of(&template).strip_prefix(TEMPLATE) {
                Some("") => name_of(&sdk),
                Some(suffix) => suffix.trim_start_matches('-').to_owned(),
                None => continue,
            };
            let template = list(&template)?;
            let _ = writeln!(text, "Sdk {{ language: {language:?}, files: &{files}, template: &{template} }},");
        }
    }
    text.push(']');
    fs::write(out, text)
}

/// `[("src/a.c", include_bytes!("/…/src/a.c")), …]`
fn list(root: &Path) -> io::Result<String> {
    let is_template = name_of(root).starts_with(TEMPLATE);
    let mut text = "[".to_owned();
    let mut folders = vec![root.to_owned()];
    while let Some(dir) = folders.pop() {
        for path in folder(&dir)? {
            let name = name_of(&path);
            if path.is_dir() {
                let is_left_out =
                    dir == root && !is_template && (name.starts_with(TEMPLATE) || LEFT_OUT.contains(&name.as_str()));
                if !name.starts_with('.') && !is_left_out && !LEFT_BEHIND.contains(&name.as_str()) {
                    folders.push(path);
                }
                continue;
            }
            let is_hidden = name.starts_with('.') && name != ".gitignore";
            if !is_hidden && (is_template || !name.ends_with("_test.go")) {
                let place = path.strip_prefix(root).map_err(io::Error::other)?;
                let place = place.to_string_lossy().replace('\\', "/");
                let _ = write!(text, "({place:?}, include_bytes!({:?})), ", path.canonicalize()?);
            }
        }
    }
    text.push(']');
    Ok(text)
}

fn folder(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    found.sort();
    Ok(found)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
