//! `gristmill transform new`.

use super::super::output::{Answer, Exit, Failure};
use super::stage_of;
use crate::host::Stage;
use crate::toolchain::{NewProjectError, Template, new_project};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the transform: its folder, and the first half of its label
    name: String,
    /// rust, c, zig, go, typescript, javascript or python
    #[arg(long, value_name = "LANGUAGE", value_parser = template_of)]
    lang: Template,
    /// What it is for: normalize, migrate or map
    #[arg(long, default_value = "normalize", value_parser = stage_of)]
    stage: Stage,
    /// Where its folder goes [default: the working folder]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

fn template_of(text: &str) -> Result<Template, String> {
    let named = Template::all().find(|template| template.name() == text);
    let names = || Template::all().map(Template::name).collect::<Vec<_>>().join(", ");
    named.ok_or_else(|| format!("the languages are {}", names()))
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
    Ok(Answer::done(text, json!({ "project": dir, "language": args.lang.name(), "files": files })))
}

impl From<NewProjectError> for Failure {
    fn from(error: NewProjectError) -> Self {
        let (exit, hint) = match &error {
            NewProjectError::Name(_) => (Exit::Configuration, "for example web-log"),
            NewProjectError::Exists(_) => (Exit::Configuration, "choose another name; new never overwrites"),
            NewProjectError::File { .. } => (Exit::Failed, "check the folder and its permissions"),
        };
        Self::Message { exit, what: error.to_string(), fate: None, hint: hint.into() }
    }
}
