//! `gristmill run --watch`: publishes what was edited, beside the run, which takes it at the next batch boundary.
//!
//! Notifications say when to look, and a look now and then makes up for those that get lost (network drives, editors that
//! replace a file). What is half-written or broken is refused like any publication, and the version in force stays.

use crate::config::{ComponentRef, Style};
use crate::config::{Pipeline, StageConfig};
use crate::publish::{self, ComponentFolders, History, Intent, Known, Loader, PublishError};
use gristmill_core::digest::Digest;
use gristmill_core::id::TaskVersion;
use notify::{RecursiveMode, Watcher};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Between looks without a notification.
const RESCAN: Duration = Duration::from_secs(2);
/// An editor or a compiler writes in bursts.
const BURST: Duration = Duration::from_millis(100);
const BURST_MAX: Duration = Duration::from_millis(300);

pub struct Watch {
    /// The pipeline file.
    pub path: PathBuf,
    pub folders: ComponentFolders,
    pub loader: Loader,
    pub spool: PathBuf,
}

impl Watch {
    /// Watches on a thread of its own until the process ends: compiling a component must not hold up the run.
    pub fn start(self, pipeline: Pipeline) {
        let runtime = tokio::runtime::Handle::current();
        let started = std::thread::Builder::new().name("gristmill-watch".into()).spawn(move || {
            let (changed, changes) = mpsc::channel();
            // A watcher that cannot be had costs only time: the looks go on.
            let mut watcher = notify::recommended_watcher(move |_| {
                let _ = changed.send(());
            })
            .inspect_err(|e| tracing::warn!(error = %e, "no notifications of changed files: looking now and then"))
            .ok();
            let mut watched = BTreeSet::new();
            let mut files = self.files(&pipeline);
            let mut seen = fingerprint(&files);
            loop {
                for folder in files.iter().filter_map(|file| file.parent()) {
                    if watched.insert(folder.to_owned())
                        && let Some(watcher) = &mut watcher
                    {
                        let _ = watcher.watch(folder, RecursiveMode::NonRecursive);
                    }
                }
                if watcher.is_none() {
                    std::thread::sleep(RESCAN);
                } else if changes.recv_timeout(RESCAN).is_ok() {
                    // Bounded: a target in the same folder is written, and read, all the time.
                    let end = Instant::now() + BURST_MAX;
                    while Instant::now() < end && changes.recv_timeout(BURST).is_ok() {}
                }
                let now = fingerprint(&files);
                if now == seen {
                    continue;
                }
                match runtime.block_on(self.publish()) {
                    Ok((pipeline, version)) => {
                        tracing::info!(%version, "published what was edited");
                        files = self.files(&pipeline);
                    }
                    Err(why) => tracing::warn!("what was edited is not published, the version in force stays: {why}"),
                }
                // As it was before the look: a file that changed meanwhile is looked at again.
                seen = if files == now.keys().cloned().collect::<Vec<_>>() { now } else { fingerprint(&files) };
            }
        });
        if let Err(e) = started {
            tracing::warn!(error = %e, "the pipeline is not watched: no thread can be started");
        }
    }

    async fn publish(&self) -> Result<(Pipeline, TaskVersion), String> {
        let env = |name: &str| std::env::var(name).ok();
        let pipeline = Pipeline::load(&self.path, &env).map_err(|e| e.render(Style::Plain))?;
        let told = |e: PublishError| match e {
            PublishError::Pipeline(diagnoses) => diagnoses.render(Style::Plain),
            e => e.to_string(),
        };
        let Loader { host, state, content } = &self.loader;
        let known = Some(Known { state, content });
        let checked =
            publish::check(&pipeline, host, &self.folders, known, &self.spool, History::Same).await.map_err(told)?;
        let version =
            publish::publish(&pipeline, checked, state, content, Intent::Publish, "published by a watching run").await;
        Ok((pipeline, version.map_err(told)?))
    }

    /// The files that a version is made of.
    fn files(&self, pipeline: &Pipeline) -> Vec<PathBuf> {
        let transforms = &pipeline.transforms;
        let stages = [&transforms.normalize, &transforms.map].into_iter().flatten();
        let stages = stages.chain(transforms.migrate.values().map(|link| &link.stage));
        let component = |stage: &StageConfig| match &stage.component {
            ComponentRef::File(path) => vec![path.clone()],
            ComponentRef::Label { name, version } => {
                self.folders.0.iter().map(|folder| folder.join(format!("{name}@{version}.wasm"))).collect()
            }
        };
        let dictionaries = transforms.dictionaries.values().map(|dictionary| dictionary.file.clone());
        let all: BTreeSet<PathBuf> =
            stages.flat_map(component).chain(dictionaries).chain([self.path.clone()]).map(absolute).collect();
        all.into_iter().collect()
    }
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// What the files hold now; a file that is not there has no digest.
fn fingerprint(files: &[PathBuf]) -> BTreeMap<PathBuf, Option<Digest>> {
    let digest = |path: &Path| std::fs::read(path).ok().map(|bytes| Digest::of(&bytes));
    files.iter().map(|path| (path.clone(), digest(path))).collect()
}
