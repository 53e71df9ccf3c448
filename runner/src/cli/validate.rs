//! `gristmill validate`.

use super::Common;
use super::output::{Answer, Failure};
use super::setup::{self, Stores};
use crate::publish;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The pipeline file
    #[arg(required_unless_present = "json_schema")]
    pipeline: Option<PathBuf>,
    /// Print the JSON Schema of pipeline files, for editors
    #[arg(long)]
    json_schema: bool,
}

/// Checks all that a run would check before it writes.
pub async fn validate(common: &Common, args: Args) -> Result<Answer, Failure> {
    let Some(path) = args.pipeline.filter(|_| !args.json_schema) else {
        let schema = crate::config::json_schema();
        return Ok(Answer::done(format!("{schema:#}\n"), schema));
    };
    let pipeline = setup::load(&path)?;
    let scratch = tempfile::tempdir()
        .map_err(|e| Failure::usage(format!("cannot make a scratch folder: {e}"), "check TMPDIR"))?;
    let host = setup::host(common, Some(&pipeline))?;
    let stores = Stores::if_any(common).await?;
    let known = stores.as_ref().map(|s| publish::Known { state: &s.state, content: &s.content });
    let components = setup::component_folders(common, &pipeline);
    let checked = publish::check(&pipeline, &host, &components, known, scratch.path(), publish::History::Same).await?;
    let guarantee = checked.guarantee;

    let pins = &checked.resolved.pins;
    let mut text =
        format!("{} is valid\n\ntask           {}\nschema         {}", path.display(), pipeline.task, pipeline.schema);
    text += if checked.source_inferred { "  (source columns inferred)\n" } else { "\n" };
    for (stage, pin) in [("normalize", &pins.normalize), ("map", &pins.map)] {
        match pin {
            Some(pin) => text += &format!("{stage:<15}{}  {}\n", pin.label, pin.component.short()),
            None => text += &format!("{stage:<15}none\n"),
        }
    }
    for (name, pin) in &pins.dictionaries {
        text += &format!("dictionary     {name}  {}  key {}\n", pin.content.short(), pin.key);
    }
    for output in &checked.outputs {
        let table = pipeline.table(&output.name).table;
        text += &format!("output         {} → {table}  identity {}\n", output.name, output.identity.join(", "));
    }
    text += &format!("batches        {}\nrecords        {}\n", guarantee.batches, guarantee.records);
    text += "\ncolumns of the change records:\n";
    for field in checked.schema.fields() {
        text += &format!("  {}: {}{}\n", field.name, field.logical_type, if field.nullable { "" } else { " not null" });
    }
    let outputs: Vec<_> = checked
        .outputs
        .iter()
        .map(|o| json!({ "name": o.name, "table": pipeline.table(&o.name).table, "identity": o.identity }))
        .collect();
    Ok(Answer::done(
        text,
        json!({
            "task": pipeline.task,
            "schemaId": pipeline.schema,
            "schema": checked.schema,
            "pins": pins,
            "outputs": outputs,
            "guarantee": { "batches": guarantee.batches, "records": guarantee.records },
        }),
    ))
}
