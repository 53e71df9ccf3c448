//! What `inspect` and `bench` plan a component with: columns from the command line, or those of cases.

use super::super::output::Failure;
use super::stage_of;
use crate::cases::{self, Case, Folder};
use crate::host::{Dictionaries, Stage};
use crate::schema::to_arrow;
use arrow::datatypes::SchemaRef;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct SubjectArgs {
    /// The input's columns, such as "id: int64 not null, name: utf8"
    #[arg(long, value_name = "COLUMNS", conflicts_with = "schema")]
    columns: Option<String>,
    /// The input's columns, as a schema file
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// normalize, migrate or map; with columns
    #[arg(long, value_parser = stage_of, default_value = "normalize")]
    stage: Stage,
    /// The stage's configuration, one JSON object; with columns
    #[arg(long, value_name = "JSON", default_value = "{}")]
    config: String,
    /// Folder with cases, whose dictionaries are used [default: those beside the component]
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
}

/// One way to plan the component.
pub struct Subject {
    pub name: String,
    pub stage: Stage,
    pub config_json: String,
    /// None: those of the case's input, which nobody stated.
    pub columns: Option<SchemaRef>,
}

pub struct Subjects {
    /// As the command line says, if it names columns.
    pub stated: Option<Subject>,
    folder: Option<Folder>,
    none: Dictionaries,
}

impl Subjects {
    pub fn of(args: &SubjectArgs, component: &Path) -> Result<Self, Failure> {
        let dir = args.cases.clone().or_else(|| super::cases_beside(component));
        let folder = dir.map(|dir| Folder::open(&dir, args.stage)).transpose()?;
        let columns = match (&args.columns, &args.schema) {
            (Some(text), _) => Some(cases::parse_columns(text).map_err(|what| {
                Failure::usage(format!("--columns: {what}"), "for example \"id: int64 not null, name: utf8\"")
            })?),
            (None, Some(path)) => Some(cases::read_schema(path)?),
            (None, None) => None,
        };
        if let Err(e) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&args.config) {
            return Err(Failure::usage(format!("--config: {e}"), "one JSON object, such as {\"minutes\": 60}"));
        }
        let stated = columns.map(|columns| Subject {
            name: args.stage.to_string(),
            stage: args.stage,
            config_json: args.config.clone(),
            columns: Some(to_arrow(&columns)),
        });
        Ok(Self { stated, folder, none: Dictionaries::new() })
    }

    pub fn cases(&self) -> &[Case] {
        self.folder.as_ref().map_or(&[], Folder::cases)
    }

    pub fn dictionaries(&self) -> &Dictionaries {
        self.folder.as_ref().map_or(&self.none, Folder::dictionaries)
    }
}
