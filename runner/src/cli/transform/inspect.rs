//! `gristmill transform inspect`.

use super::super::output::{Answer, Failure, grouped, table};
use super::super::{Common, setup};
use super::build::{Target, component_of};
use super::subject::{Subject, SubjectArgs, Subjects};
use crate::cases::{Case, rows_of};
use crate::host::{Dictionaries, Host, HostLimits, PlanError, PlannedStage, Stage, measure};
use crate::schema::from_arrow;
use arrow::datatypes::{Schema, SchemaRef};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A project, which is built first, or a component
    #[arg(value_name = "DIR|FILE")]
    transform: PathBuf,
    #[command(flatten)]
    subject: SubjectArgs,
    #[command(flatten)]
    target: Target,
}

pub fn inspect(common: &Common, args: &Args) -> Result<Answer, Failure> {
    let built = tempfile::tempdir().map_err(|e| super::cannot("make a temporary folder", &e))?;
    let file = component_of(&args.transform, &args.target, built.path())?;
    let bytes = super::read(&file)?;
    let subjects = Subjects::of(&args.subject, &file)?;
    // Compiled anew in a cache of its own, so that the time is that of a first deployment.
    let cache = tempfile::tempdir().map_err(|e| super::cannot("make a temporary folder", &e))?;
    let fresh = || Host::new(cache.path(), HostLimits::default()).map_err(|e| super::cannot("start the engine", &e));
    let timed = |host: &Host| {
        let clock = Instant::now();
        host.load(&bytes).map(|component| (component, clock.elapsed()))
    };
    let (_, compile) = timed(&fresh()?).map_err(super::refused)?;
    let (component, load) = timed(&fresh()?).map_err(super::refused)?;
    let host = setup::host(common, None)?;
    let started =
        measure::instantiate(&component, host.limits()).map_err(|e| super::cannot("start the component", &e))?;

    let mut rows = vec![
        row("component", component.digest()),
        row("size", format!("{} bytes", grouped(bytes.len() as u64))),
        row("contract", "gristmill:transform@0.1.0"),
        row("imports", if component.imports().is_empty() { "none".into() } else { component.imports().join(", ") }),
        row("compile", millis(compile)),
        row("load", format!("{} from the cache", millis(load))),
        row("instantiate", millis(started.elapsed)),
        row("memory", format!("{} bytes when it starts", grouped(started.memory_bytes as u64))),
    ];
    let mut json = json!({
        "component": component.digest(),
        "bytes": bytes.len(),
        "contract": "gristmill:transform@0.1.0",
        "imports": component.imports(),
        "compileMs": compile.as_secs_f64() * 1e3,
        "loadMs": load.as_secs_f64() * 1e3,
        "instantiateMs": started.elapsed.as_secs_f64() * 1e3,
        "memoryBytes": started.memory_bytes,
    });

    let mut stages = Vec::new();
    for stage in [Stage::Normalize, Stage::Migrate, Stage::Map] {
        let columns: SchemaRef = subjects.stated.as_ref().and_then(|s| s.columns.clone()).unwrap_or_else(no_columns);
        let config = subjects.stated.as_ref().map_or("{}", |stated| &stated.config_json);
        let served = match host.plan(&component, stage, config, &columns, subjects.dictionaries()) {
            Ok(_) => "served".to_owned(),
            Err(PlanError::Refused { code, .. }) if code == "wrong-stage" => "not served".to_owned(),
            Err(PlanError::Refused { code, message, .. }) => {
                let of = if subjects.stated.is_some() { "of these columns" } else { "without columns" };
                format!("served; {of} it says {code}: {message}")
            }
            Err(e) => e.to_string(),
        };
        rows.push(row(stage.as_str(), &served));
        stages.push(json!({ "stage": stage.as_str(), "answer": served }));
    }
    json["stages"] = Value::Array(stages);
    let mut text = table(&rows);

    let mut plans = Vec::new();
    for subject in asked(&subjects) {
        let Some(columns) = &subject.columns else { continue };
        let plan = |dictionaries: &Dictionaries| {
            host.plan(&component, subject.stage, &subject.config_json, columns, dictionaries)
        };
        match plan(subjects.dictionaries()) {
            Ok(planned) => {
                text += &format!("\n{} ({})\n{}", subject.name, subject.stage, table(&lines(&planned)));
                plans.push(json_of(&subject, &planned));
            }
            Err(e) => {
                text += &format!("\n{} ({})\n{e}\n", subject.name, subject.stage);
                plans.push(json!({ "name": subject.name, "error": e.to_string() }));
            }
        }
    }
    json["plans"] = Value::Array(plans);
    Ok(Answer::done(text, json))
}

/// What the command line names, else every case with columns of its own kind.
fn asked(subjects: &Subjects) -> Vec<Subject> {
    if let Some(Subject { name, stage, config_json, columns }) = &subjects.stated {
        let (name, config_json, columns) = (name.clone(), config_json.clone(), columns.clone());
        return vec![Subject { name, stage: *stage, config_json, columns }];
    }
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for case in subjects.cases().iter().filter(|case| !case.must_fail()) {
        let columns = columns_of(case);
        let key = (case.stage, case.config_json.clone(), columns.clone());
        if !seen.contains(&key) {
            seen.push(key);
            let (name, config_json) = (case.name.clone(), case.config_json.clone());
            found.push(Subject { name, stage: case.stage, config_json, columns });
        }
    }
    found
}

fn columns_of(case: &Case) -> Option<SchemaRef> {
    case.columns.clone().or_else(|| rows_of(case).ok().map(|(rows, _)| rows.schema()))
}

fn no_columns() -> SchemaRef {
    Arc::new(Schema::empty())
}

fn row(name: &str, value: impl ToString) -> Vec<String> {
    vec![name.to_owned(), value.to_string()]
}

fn lines(planned: &PlannedStage) -> Vec<Vec<String>> {
    let mut rows = vec![row("  reads", listed(&planned.reads()))];
    for output in planned.outputs() {
        rows.push(row(&format!("  {}", output.name), columns(&output.schema).join(", ")));
    }
    rows
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn columns(schema: &SchemaRef) -> Vec<String> {
    let column = |(name, of_type, nullable): (&String, String, bool)| {
        format!("{name}: {of_type}{}", if nullable { "" } else { " not null" })
    };
    match from_arrow(schema) {
        Ok(schema) => {
            schema.fields().iter().map(|f| column((&f.name, f.logical_type.to_string(), f.nullable))).collect()
        }
        Err(_) => {
            schema.fields().iter().map(|f| column((f.name(), f.data_type().to_string(), f.is_nullable()))).collect()
        }
    }
}

fn json_of(subject: &Subject, planned: &PlannedStage) -> Value {
    let outputs =
        planned.outputs().iter().map(|output| json!({ "name": output.name, "columns": columns(&output.schema) }));
    json!({
        "name": subject.name,
        "stage": subject.stage.as_str(),
        "reads": planned.reads(),
        "outputs": outputs.collect::<Vec<_>>(),
    })
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
