//! `gristmill init`.

use super::output::{Answer, Exit, Failure};
use serde_json::json;
use std::fs;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder to write into; created when missing
    #[arg(default_value = ".")]
    folder: PathBuf,
}

const PIPELINE: &str = include_str!("init/pipeline.yaml");
const ORDERS: &str = include_str!("init/orders.csv");

/// Writes a pipeline that runs as it is. Never overwrites.
pub fn init(args: &Args) -> Result<Answer, Failure> {
    let files = [("pipeline.yaml", PIPELINE), ("data/orders.csv", ORDERS)];
    if let Some((name, _)) = files.iter().find(|(name, _)| args.folder.join(name).exists()) {
        return Err(Failure::usage(
            format!("{} exists", args.folder.join(name).display()),
            "choose another folder; init never overwrites",
        ));
    }
    for (name, text) in files {
        let path = args.folder.join(name);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        written.map_err(|e| Failure::Message {
            exit: Exit::Failed,
            what: format!("cannot write {}: {e}", path.display()),
            fate: None,
            hint: "check the folder and its permissions".into(),
        })?;
    }
    let pipeline = args.folder.join("pipeline.yaml");
    let text = format!(
        "wrote {0}\n\nrun it:    gristmill run --once {0}\ncheck it:  gristmill validate {0}\n",
        pipeline.display()
    );
    Ok(Answer::done(text, json!({ "pipeline": pipeline })))
}
