//! `gristmill transform new`.

use super::super::output::{Answer, Exit, Failure};
use super::stage_of;
use crate::host::Stage;
use crate::toolchain::{Language, NewProjectError, new_project};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the transform: its folder, and the first half of its label
    name: String,
    /// rust, c, zig, go, typescript or python
    #[arg(long, value_name = "LANGUAGE", value_parser = language_of)]
    lang: Language,
    /// What it is for: normalize, migrate or map
    #[arg(long, default_value = "normalize", value_parser = stage_of)]
    stage: Stage,
    /// Where its folder goes [default: the working folder]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

fn language_of(text: &str) -> Result<Language, String> {
    let named = Language::ALL.into_iter().find(|language| language.as_str() == text);
    // JavaScript has the SDK of TypeScript.
    let named = named.or((text == "javascript").then_some(Language::TypeScript));
    named.ok_or_else(|| format!("the languages are {}", Language::ALL.map(Language::as_str).join(", ")))
}

pub fn new(args: &Args) -> Result<Answer, Failure> {
    let dir = args.into.as_ref().map_or_else(|| PathBuf::from(&args.name), |into| into.join(&args.name));
    let files = new_project(&dir, &args.name, args.lang, args.stage)?;
    let mut text = String::new();
    for file in &files {
        text += &format!("wrote {}\n", file.display());
    }
    let dir_shown = dir.display();
    text += &format!(
        "\nbuild it:  gristmill transform build {dir_shown}\ntest it:   gristmill transform test {dir_shown}\n"
    );
    Ok(Answer::done(text, json!({ "project": dir, "language": args.lang.as_str(), "files": files })))
}

impl From<NewProjectError> for Failure {
    fn from(error: NewProjectError) -> Self {
        let (exit, hint) = match &error {
            NewProjectError::Name(_) => (Exit::Configuration, "for example web-log"),
            NewProjectError::Exists(_) => (Exit::Configuration, "choose another name; new never overwrites"),
            NewProjectError::NoTemplate(_) => (Exit::Failed, "build gristmill from a whole clone"),
            NewProjectError::File { .. } => (Exit::Failed, "check the folder and its permissions"),
        };
        Self::Message { exit, what: error.to_string(), fate: None, hint: hint.into() }
    }
}
