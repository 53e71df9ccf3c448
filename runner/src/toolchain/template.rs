//! New projects: the template of a language, with the SDK beside it, both from inside this binary.

use super::Language;
use super::project::SDK_DIR;
use crate::host::Stage;
use std::io;
use std::path::{Path, PathBuf};

/// The SDK of a language, as it was when this binary was built.
struct Sdk {
    language: &'static str,
    files: &'static [(&'static str, &'static [u8])],
    template: &'static [(&'static str, &'static [u8])],
}

const SDKS: &[Sdk] = include!(concat!(env!("OUT_DIR"), "/sdks.rs"));

/// Why a project was not started.
#[derive(Debug, thiserror::Error)]
pub enum NewProjectError {
    #[error(
        "`{0}` is no name for a transform: it has lower-case letters, digits and single dashes, and starts with a letter"
    )]
    Name(String),
    #[error("{} exists and is not empty", .0.display())]
    Exists(PathBuf),
    #[error("{} is not there: this binary was built without its template", .0)]
    NoTemplate(Language),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Writes a project that builds and passes its tests, into `dir`, which must not exist or be empty. Returns the files of
/// the project, without those of the SDK.
pub fn new_project(dir: &Path, name: &str, language: Language, stage: Stage) -> Result<Vec<PathBuf>, NewProjectError> {
    if !is_name(name) {
        return Err(NewProjectError::Name(name.to_owned()));
    }
    let sdk = SDKS.iter().find(|sdk| sdk.language == language.as_str() && !sdk.template.is_empty());
    let sdk = sdk.ok_or(NewProjectError::NoTemplate(language))?;
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) || dir.is_file() {
        return Err(NewProjectError::Exists(dir.to_owned()));
    }
    let mut written = Vec::new();
    for (place, content) in sdk.template {
        let content = match std::str::from_utf8(content) {
            Ok(text) => filled(text, name, stage).into_bytes(),
            Err(_) => content.to_vec(),
        };
        let path = dir.join(filled(place, name, stage));
        write(&path, &content)?;
        written.push(path);
    }
    let vendored = dir.join(SDK_DIR);
    sdk.files.iter().try_for_each(|(place, content)| write(&vendored.join(place), content))?;
    written.sort();
    Ok(written)
}

/// A name that every language's package file takes, and a label too.
fn is_name(name: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= 64 && name.split('-').all(word) && name.starts_with(|c: char| c.is_ascii_lowercase())
}

fn filled(text: &str, name: &str, stage: Stage) -> String {
    let stage = stage.as_str();
    let capital = stage[..1].to_uppercase() + &stage[1..];
    [
        ("{{name}}", name),
        ("{{snake_name}}", &name.replace('-', "_")),
        ("{{version}}", "0.1.0"),
        ("{{stage}}", stage),
        ("{{Stage}}", &capital),
    ]
    .iter()
    .fold(text.to_owned(), |text, (placeholder, value)| text.replace(placeholder, value))
}

fn write(path: &Path, content: &[u8]) -> Result<(), NewProjectError> {
    let failed = |source| NewProjectError::File { path: path.to_owned(), source };
    path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, content)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_a_template_that_leaves_no_placeholder() {
        for language in Language::ALL {
            let dir = tempfile::tempdir().unwrap();
            let project = dir.path().join("web-log");
            let written = new_project(&project, "web-log", language, Stage::Map).unwrap();
            for path in &written {
                let text = std::fs::read(path).unwrap();
                let text = String::from_utf8_lossy(&text);
                assert!(!text.contains("{{name}}") && !text.contains("{{s"), "{}", path.display());
            }
            let names: Vec<_> =
                written.iter().map(|path| path.strip_prefix(&project).unwrap().to_str().unwrap()).collect();
            assert!(names.contains(&"cases/example.in.jsonl"), "{language}: {names:?}");
            assert!(project.join(SDK_DIR).join("README.md").exists(), "{language}");
            assert!(!project.join(SDK_DIR).join("tests").exists(), "{language}");
            let built = super::super::project::Project::read(&project).unwrap();
            assert_eq!((built.label().as_str(), built.language), ("web-log@0.1.0", language));

            let again = new_project(&project, "web-log", language, Stage::Map).unwrap_err();
            assert!(matches!(again, NewProjectError::Exists(_)), "{again}");
        }
    }

    #[test]
    fn names_fit_every_package_file() {
        for name in ["a", "web-log", "v2-orders"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "a--b", "2a", "A", "a_b", "a/b", "..", "é"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
