//! Finds the bytes that a pipeline names, and pins them by digest.

use super::{PublishError, dictionary};
use crate::config::{At, ComponentRef, Diagnosis, Pipeline, StageConfig};
use crate::store::content::ContentKind;
use crate::store::{ContentStore, StateStore};
use bytes::Bytes;
use gristmill_core::digest::Digest;
use gristmill_core::pins::{DictionaryPin, LimitsPin, MigratePin, Pin, Pins};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where components are looked for by label: `<folder>/<name>@<version>.wasm`, first match first; then what the
/// store already has under that label.
#[derive(Debug, Clone, Default)]
pub struct ComponentFolders(pub Vec<PathBuf>);

/// A pipeline's pins, and the bytes behind them.
#[derive(Debug)]
pub struct Resolved {
    pub pins: Pins,
    pub contents: BTreeMap<Digest, (ContentKind, Bytes)>,
}

/// What is already known to a state. None of it exists before the first run.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    pub state: &'a StateStore,
    pub content: &'a ContentStore,
}

/// Reads every component and dictionary that the pipeline names.
pub async fn resolve(
    pipeline: &Pipeline,
    folders: &ComponentFolders,
    known: Option<Known<'_>>,
) -> Result<Resolved, PublishError> {
    let mut contents = BTreeMap::new();
    let transforms = &pipeline.transforms;
    let mut stage = async |config: Option<&StageConfig>, at: At| -> Result<Option<Pin>, PublishError> {
        let Some(config) = config else { return Ok(None) };
        let (label, bytes) = component(pipeline, &config.component, at.clone(), folders, known).await?;
        let digest = Digest::of(&bytes);
        if let Some(known) = known
            && let Some(found) = known.state.labelled(&label).await?
            && found != digest
        {
            let message = format!("{label} is {} here and now has other bytes ({})", found.short(), digest.short());
            return Err(blame(pipeline.diagnose(
                at,
                message,
                "a label never moves: give the changed component a new version",
            )));
        }
        contents.insert(digest, (ContentKind::Component, bytes));
        Ok(Some(Pin { label, component: digest, config: config.config_json.clone() }))
    };
    let mut pins = Pins {
        normalize: stage(transforms.normalize.as_ref(), At::Normalize).await?,
        migrate: BTreeMap::new(),
        map: stage(transforms.map.as_ref(), At::Map).await?,
        dictionaries: BTreeMap::new(),
        limits: None,
    };
    for (from, link) in &transforms.migrate {
        if let Some(pin) = stage(Some(&link.stage), At::Migrate(from.to_string())).await? {
            pins.migrate.insert(from.clone(), MigratePin { to: link.to.clone(), pin });
        }
    }
    if pins.components().next().is_some() {
        let limits = transforms.limits;
        pins.limits = Some(LimitsPin {
            deadline_ms: u64::try_from(limits.deadline.as_millis()).unwrap_or(u64::MAX),
            memory_max_bytes: limits.memory_max_bytes as u64,
            output_max_bytes: limits.output_max_bytes as u64,
        });
    }
    for (name, config) in &transforms.dictionaries {
        let at = || At::Dictionary(name.clone());
        let bytes = read(pipeline, &config.file, at())?;
        let refused = |e: dictionary::DictionaryFileError| {
            let message = format!("dictionary `{name}` ({}): {e}", config.file.display());
            blame(pipeline.diagnose(at(), message, "a dictionary is a CSV file with a header and unique keys"))
        };
        let columns = dictionary::infer(&bytes, config.columns.as_ref()).map_err(refused)?;
        let key = match &config.key {
            Some(key) => key.clone(),
            None => columns.fields()[0].name.clone(),
        };
        if !columns.fields().iter().any(|f| f.name == key) {
            let names: Vec<_> = columns.fields().iter().map(|f| f.name.as_str()).collect();
            let message = format!("dictionary `{name}` has no column `{key}`");
            return Err(blame(pipeline.diagnose(at(), message, format!("its columns are {}", names.join(", ")))));
        }
        let content = Digest::of(&bytes);
        contents.insert(content, (ContentKind::Dictionary, bytes));
        pins.dictionaries.insert(name.clone(), DictionaryPin { content, key, columns });
    }
    Ok(Resolved { pins, contents })
}

/// Label and bytes of a component.
async fn component(
    pipeline: &Pipeline,
    reference: &ComponentRef,
    at: At,
    folders: &ComponentFolders,
    known: Option<Known<'_>>,
) -> Result<(String, Bytes), PublishError> {
    match reference {
        ComponentRef::File(path) => {
            let bytes = read(pipeline, path, at)?;
            let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            // A file that is not named name@version is labelled by its content, so that rebuilding it is no conflict.
            let label = if stem.contains('@') { stem } else { format!("{stem}@{}", Digest::of(&bytes).short()) };
            Ok((label, bytes))
        }
        ComponentRef::Label { name, version } => {
            let label = format!("{name}@{version}");
            let file = format!("{label}.wasm");
            if let Some(path) = folders.0.iter().map(|folder| folder.join(&file)).find(|path| path.is_file()) {
                return Ok((label, read(pipeline, &path, at)?));
            }
            if let Some(known) = known
                && let Some(digest) = known.state.labelled(&label).await?
            {
                return Ok((label, known.content.get(ContentKind::Component, digest).await?));
            }
            let looked: Vec<_> = folders.0.iter().map(|f| f.display().to_string()).collect();
            let message = format!("no component `{label}`");
            let hint = format!(
                "looked for {file} in {}; build it with `gristmill transform build`, or name its folder with --components",
                if looked.is_empty() { "no folder".into() } else { looked.join(", ") }
            );
            Err(blame(pipeline.diagnose(at, message, hint)))
        }
    }
}

fn read(pipeline: &Pipeline, path: &Path, at: At) -> Result<Bytes, PublishError> {
    std::fs::read(path).map(Bytes::from).map_err(|e| {
        let message = format!("cannot read {}: {e}", path.display());
        blame(pipeline.diagnose(at, message, "check the path and its permissions"))
    })
}

pub(super) fn blame(diagnosis: Diagnosis) -> PublishError {
    PublishError::Pipeline(diagnosis.into())
}
