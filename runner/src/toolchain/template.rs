//! New projects: the template of a language, with the SDK beside it, both from inside this binary.

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

/// What a project is started from: a language's template with its SDK.
#[derive(Clone, Copy)]
pub struct Template(&'static Sdk);

impl Template {
    /// All that there are, by their names.
    pub fn all() -> impl Iterator<Item = Self> {
        SDKS.iter().map(Self)
    }

    /// The language. JavaScript has a template of its own and the SDK of TypeScript.
    pub const fn name(self) -> &'static str {
        self.0.language
    }
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Template").field(&self.name()).finish()
    }
}

/// Why a project was not started.
#[derive(Debug, thiserror::Error)]
pub enum NewProjectError {
    #[error(
        "`{0}` is no name for a transform: it has lower-case letters, digits and single dashes, and starts with a letter"
    )]
    Name(String),
    #[error("{} exists and is not empty", .0.display())]
    Exists(PathBuf),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Writes a project that builds and passes its tests, into `dir`, which must not exist or be empty. Returns the files of
/// the project, without those of the SDK.
pub fn new_project(dir: &Path, name: &str, template: Template, stage: Stage) -> Result<Vec<PathBuf>, NewProjectError> {
    if !is_name(name) {
        return Err(NewProjectError::Name(name.to_owned()));
    }
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) || dir.is_file() {
        return Err(NewProjectError::Exists(dir.to_owned()));
    }
    let mut written = Vec::new();
    for (place, content) in template.0.template {
        let content = match std::str::from_utf8(content) {
            Ok(text) => filled(text, name, stage).into_bytes(),
            Err(_) => content.to_vec(),
        };
        let path = dir.join(filled(place, name, stage));
        write(&path, &content)?;
        written.push(path);
    }
    let vendored = dir.join(SDK_DIR);
    template.0.files.iter().try_for_each(|(place, content)| write(&vendored.join(place), content))?;
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
    use super::super::Language;
    use super::*;

    #[test]
    fn every_language_has_a_template_that_leaves_no_placeholder() {
        let names: Vec<_> = Template::all().map(Template::name).collect();
        assert!(Language::ALL.iter().all(|language| names.contains(&language.as_str())), "{names:?}");
        assert!(names.contains(&"javascript"), "{names:?}");
        for template in Template::all() {
            let language = template.name();
            let dir = tempfile::tempdir().unwrap();
            let project = dir.path().join("web-log");
            let written = new_project(&project, "web-log", template, Stage::Map).unwrap();
            for path in &written {
                let text = std::fs::read(path).unwrap();
                let text = String::from_utf8_lossy(&text);
                assert!(!text.contains("{{name}}") && !text.contains("{{s"), "{}", path.display());
            }
            let names: Vec<_> =
                written.iter().map(|path| path.strip_prefix(&project).unwrap().to_str().unwrap()).collect();
            assert!(names.contains(&"cases/example.in.jsonl"), "{language}: {names:?}");
            assert!(project.join(SDK_DIR).join("README.md").exists(), "{language}");
            let vendored = std::fs::read_dir(project.join(SDK_DIR)).unwrap();
            let vendored: Vec<_> = vendored.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            assert!(!vendored.iter().any(|name| name == "tests" || name.starts_with("template")), "{vendored:?}");
            let built = super::super::project::Project::read(&project).unwrap();
            let shared = if language == "javascript" { "typescript" } else { language };
            assert_eq!((built.label().as_str(), built.language.as_str()), ("web-log@0.1.0", shared));

            let again = new_project(&project, "web-log", template, Stage::Map).unwrap_err();
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
