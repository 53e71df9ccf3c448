//! From a pipeline file to a typed pipeline.
//!
//! ```text
//! text ─yaml→ tree with places ─decode→ raw types ─check→ Pipeline
//! ```
//!
//! What is wrong with a file comes back as [`Diagnoses`]: each with its line, column and a hint. Mistakes of form are
//! reported as far as the file can be read; mistakes of meaning all at once. No diagnosis holds the value of a variable
//! or a credential.

mod canonical;
mod check;
mod decode;
mod diagnosis;
mod mask;
pub mod pipeline;
mod raw;
mod suggest;
#[cfg(test)]
mod tests;
mod units;
mod values;
mod variables;
mod yaml;

pub use diagnosis::{Diagnoses, Diagnosis, Style};
pub use pipeline::{
    At, BatchLimits, ComponentRef, CsvFormat, DictionaryConfig, FileFormat, FilesConfig, GuestLimits, Location,
    MigrateConfig, Pipeline, SchemaChanges, SinkConfig, SourceConfig, StageConfig, TableConfig, Tables, Target,
    Transforms,
};

use check::Files;
use diagnosis::{Problem, Shown, Span};
use std::path::Path;
use yaml::{Kind, Node};

/// Whether a name and a version make a component's label; the rule that one of them breaks.
pub fn label_rule(name: &str, version: &str) -> Result<(), &'static str> {
    check::label_rule(name, version)
}

/// The text of a pipeline file, to be shown: secrets are masked, and each byte stands where it stood.
pub fn masked(text: &str) -> String {
    mask::masked(text)
}

/// The JSON Schema of pipeline files, for editors.
pub fn json_schema() -> serde_json::Value {
    raw::json_schema()
}

impl Pipeline {
    /// Reads and checks a pipeline file. `env` gives the values of the variables that it names. Also checks that the
    /// local files and folders it reads from exist; nothing is created, and no component is looked up.
    pub fn load(path: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Diagnoses> {
        let text = read(path)?;
        let base_dir = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        Self::read(&text, Shown::new(path, &text), base_dir, Files::Exist, env)
    }

    /// The pipeline of a published version, from its text. The files that it names may be gone.
    pub fn published(
        text: &str,
        version: &str,
        base_dir: &Path,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Diagnoses> {
        Self::read(text, Shown::new(Path::new(version), text), base_dir, Files::MayBeGone, env)
    }

    fn read(
        text: &str,
        shown: Shown,
        base_dir: &Path,
        files: Files,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Diagnoses> {
        let root = yaml::read(text, env).map_err(|problems| Diagnoses::new(&shown, problems))?;
        check_version(&root).map_err(|problem| Diagnoses::new(&shown, vec![problem]))?;
        let raw = decode::decode(root).map_err(|problems| Diagnoses::new(&shown, problems))?;
        check::check(&raw, text, base_dir, files, shown.clone()).map_err(|problems| Diagnoses::new(&shown, problems))
    }
}

fn read(path: &Path) -> Result<String, Diagnoses> {
    let refused = |message: String, hint: &str| {
        let problem = Problem { span: None, message, hint: Some(hint.to_owned()) };
        Diagnoses::new(&Shown::new(path, ""), vec![problem])
    };
    // A device or a pipe has no size: the limit holds while reading.
    let bytes = std::fs::File::open(path).and_then(|file| {
        let mut bytes = Vec::new();
        let limit = yaml::FILE_MAX_BYTES as u64 + 1;
        std::io::Read::read_to_end(&mut std::io::Read::take(file, limit), &mut bytes)?;
        Ok(bytes)
    });
    let bytes = bytes.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::NotFound => "check the path, or start a pipeline with `gristmill init`",
            _ => "name the pipeline's YAML file",
        };
        refused(format!("cannot be read: {error}"), hint)
    })?;
    if bytes.len() > yaml::FILE_MAX_BYTES {
        let message = format!("the file is larger than {}", units::show_size(yaml::FILE_MAX_BYTES as u64));
        return Err(refused(message, "is this the right file?"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let message = format!("the file is not UTF-8 text from byte {}", error.utf8_error().valid_up_to());
        refused(message, "save the file as UTF-8")
    })
}

/// The version is judged first: what else a file of another version says is unknown.
fn check_version(root: &Node) -> Result<(), Problem> {
    let whole = Span { offset: root.span.offset, len: root.span.len };
    let entries = match &root.kind {
        Kind::Map(entries) => entries,
        Kind::Null => {
            return Err(Problem { span: None, ..Problem::new(whole, "the file is empty") }
                .hint("start a pipeline with `gristmill init`"));
        }
        _ => {
            return Err(Problem::new(whole, "a pipeline is a mapping of keys to values")
                .hint("start with `version: 1`; `gristmill init` writes an example"));
        }
    };
    let Some((_, version)) = entries.iter().find(|(key, _)| key.text == "version") else {
        let first = entries.first().map_or(whole, |(key, _)| key.span);
        let near = entries.iter().find(|(key, _)| suggest::nearest(&key.text, ["version"]).is_some());
        return Err(match near {
            Some((key, _)) => {
                Problem::new(key.span, format!("unknown key `{}`", key.text)).hint("did you mean `version`?")
            }
            None => Problem::new(first, "the file does not say its version").hint("begin the file with `version: 1`"),
        });
    };
    match version.kind {
        Kind::Integer(1) => Ok(()),
        Kind::Integer(_) => Err(Problem::new(version.span, "this version of the pipeline file is not known")
            .hint("this build reads `version: 1`")),
        _ => Err(Problem::new(version.span, "the version is not a number").hint("write `version: 1`")),
    }
}
