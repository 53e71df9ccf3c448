//! `gristmill doctor`.

use super::Common;
use super::output::{Answer, Exit, Failure};
use super::setup::{self, Folders, Stores};
use crate::publish::{self, Standing};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Check what this pipeline works with, too
    pipeline: Option<PathBuf>,
}

struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
}

/// Looks at everything that a run depends on and says what is wrong with it.
pub async fn doctor(common: &Common, args: Args) -> Result<Answer, Failure> {
    let mut checks = Vec::new();
    let mut check = |name, result: Result<String, String>| {
        let ok = result.is_ok();
        checks.push(Check { name, ok, detail: result.unwrap_or_else(|e| e) });
    };
    check("version", Ok(format!("gristmill {}, {}", env!("CARGO_PKG_VERSION"), build())));

    let folders = Folders::of(common);
    let stores = match Stores::if_any(common).await {
        Ok(Some(stores)) => {
            let whole = stores.state.integrity().await;
            check(
                "state",
                whole.map(|()| format!("{} is consistent", folders.database().display())).map_err(|e| e.to_string()),
            );
            check("store", writable(&stores).await);
            Some(stores)
        }
        Ok(None) => {
            check("state", Ok(format!("none in {} yet", folders.root().display())));
            None
        }
        Err(failure) => {
            check("state", Err(describe(&failure)));
            None
        }
    };
    check("compiled components", private(&setup::cache(common)));

    let scratch = tempfile::tempdir()
        .map_err(|e| Failure::usage(format!("cannot make a scratch folder: {e}"), "check TMPDIR"))?;
    check("engine", setup::host(common, None).map(|_| "starts".into()).map_err(|f| describe(&f)));

    if let Some(path) = args.pipeline {
        match pipeline(common, &path, stores.as_ref(), scratch.path()).await {
            Ok(results) => results.into_iter().for_each(|(name, result)| check(name, result)),
            Err(failure) => check("pipeline", Err(describe(&failure))),
        }
    }

    let width = checks.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let text: String = checks
        .iter()
        .map(|c| format!("{} {:<width$}  {}\n", if c.ok { "ok  " } else { "FAIL" }, c.name, c.detail))
        .collect();
    let exit = if checks.iter().all(|c| c.ok) { Exit::Done } else { Exit::Failed };
    let json: Vec<_> = checks.iter().map(|c| json!({ "check": c.name, "ok": c.ok, "detail": c.detail })).collect();
    Ok(Answer { exit, text, json: json!({ "checks": json }) })
}

fn build() -> &'static str {
    if cfg!(feature = "faults") { "built with fault points: for tests only" } else { "without fault points" }
}

async fn writable(stores: &Stores) -> Result<String, String> {
    stores.content.probe().await.map(|()| "can be written and read back".into()).map_err(|e| e.to_string())
}

fn private(cache: &std::path::Path) -> Result<String, String> {
    use std::os::unix::fs::PermissionsExt;
    match std::fs::metadata(cache) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok("none yet".into()),
        Err(e) => Err(format!("{}: {e}", cache.display())),
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            Err(format!("{} can be read or written by others: it holds code; chmod 700 it", cache.display()))
        }
        Ok(_) => Ok(format!("{} is private", cache.display())),
    }
}

type Results = Vec<(&'static str, Result<String, String>)>;

async fn pipeline(
    common: &Common,
    path: &std::path::Path,
    stores: Option<&Stores>,
    scratch: &std::path::Path,
) -> Result<Results, Failure> {
    let pipeline = setup::load(path)?;
    let host = setup::host(common, Some(&pipeline))?;
    let known = stores.map(|s| publish::Known { state: &s.state, content: &s.content });
    let components = setup::component_folders(common, &pipeline);
    let checked = publish::check(&pipeline, &host, &components, known, scratch, publish::History::Same).await?;
    let guarantee = checked.guarantee;
    let standing = match stores {
        Some(stores) => publish::standing(&pipeline, &checked, &stores.state).await?,
        None => Standing::New { in_force: None },
    };
    Ok(vec![
        ("pipeline", Ok(format!("{} fits its source, components and schemas", path.display()))),
        ("version", Ok(standing_text(standing))),
        ("batches", Ok(guarantee.batches.into())),
        ("records", Ok(guarantee.records.into())),
    ])
}

fn standing_text(standing: Standing) -> String {
    match standing {
        Standing::New { in_force: None } => "not published yet: a run does it".into(),
        Standing::New { in_force: Some(latest) } => {
            format!("version {latest} is in force; a run publishes this file as the next")
        }
        Standing::InForce(version) => format!("this file is version {version}, which is in force"),
        Standing::Older { is, in_force } => format!(
            "this file is version {is}; version {in_force} is in force, and a run leaves it so: `gristmill publish` puts the file in force"
        ),
    }
}

fn describe(failure: &Failure) -> String {
    match failure {
        Failure::Diagnoses(diagnoses) => diagnoses.to_string(),
        Failure::Message { what, hint, .. } => format!("{what}; {hint}"),
        Failure::WithAnswer { failure, .. } => describe(failure),
    }
}
