//! Opens what a verb works with: folders, state, store, engine, source, sink.

use super::Common;
use super::output::{Exit, Failure};
use crate::config::Pipeline;
use crate::host::{Host, HostError, HostLimits};
use crate::publish::{ComponentFolders, Loader};
use crate::source::files::open_store;
use crate::store::{BatchStore, ContentStore, Objects, StateStore};
use std::path::{Path, PathBuf};

/// Folders below `--state`.
#[derive(Debug, Clone)]
pub struct Folders {
    root: PathBuf,
}

impl Folders {
    pub fn of(common: &Common) -> Self {
        Self { root: common.state.clone() }
    }
    pub fn root(&self) -> &Path {
        &self.root
    }
    pub fn database(&self) -> PathBuf {
        self.root.join("state.db")
    }
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }
    pub fn spool(&self) -> PathBuf {
        self.root.join("spool")
    }
    fn store(&self) -> PathBuf {
        self.root.join("store")
    }
}

/// Compiled components. Apart from any state: they depend on the component's bytes and the engine alone, and checking a
/// pipeline must not leave a state behind.
pub fn cache(common: &Common) -> PathBuf {
    let of_user = || {
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).map(|dir| dir.join("gristmill/compiled"))
    };
    common.cache.clone().or_else(of_user).unwrap_or_else(|| common.state.join("compiled"))
}

/// Opened stores of a state that exists.
pub struct Stores {
    pub state: StateStore,
    pub batches: BatchStore,
    pub content: ContentStore,
    /// All that the two hold.
    pub objects: Objects,
}

impl Stores {
    /// Opens the state, creating it.
    pub async fn create(common: &Common) -> Result<Self, Failure> {
        let folders = Folders::of(common);
        create_private(folders.root())?;
        create_private(&folders.spool())?;
        Self::with(common, StateStore::open(&folders.database()).await?)
    }

    /// Opens a state that must exist.
    pub async fn existing(common: &Common) -> Result<Self, Failure> {
        let database = Folders::of(common).database();
        if !database.exists() {
            return Err(Failure::usage(
                format!("there is no state in {}", common.state.display()),
                "run a pipeline first, or name its folder with --state",
            ));
        }
        Self::with(common, StateStore::open_existing(&database).await?)
    }

    /// Opens the state if there is one.
    pub async fn if_any(common: &Common) -> Result<Option<Self>, Failure> {
        match Folders::of(common).database().exists() {
            true => Self::existing(common).await.map(Some),
            false => Ok(None),
        }
    }

    /// Loads the code of task versions.
    pub fn loader(&self, host: Host) -> Loader {
        Loader { host, state: self.state.clone(), content: self.content.clone() }
    }

    fn with(common: &Common, state: StateStore) -> Result<Self, Failure> {
        let objects = objects(common)?;
        Ok(Self {
            batches: BatchStore::new(objects.clone(), state.clone()),
            content: ContentStore::new(objects.clone()),
            objects,
            state,
        })
    }
}

/// The folder for what must not last; created when it is not there.
pub fn spool(common: &Common) -> Result<PathBuf, Failure> {
    let spool = Folders::of(common).spool();
    create_private(&spool)?;
    Ok(spool)
}

fn create_private(folder: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| {
        Failure::usage(format!("cannot create {}: {e}", folder.display()), "choose another folder with --state")
    })
}

fn objects(common: &Common) -> Result<Objects, Failure> {
    match &common.storage {
        None => Ok(Objects::local(&Folders::of(common).store())?),
        Some(url) if url.contains("://") => {
            let (store, prefix) = open_store(url).map_err(|e| Failure::usage(e.what, e.hint))?;
            Ok(Objects::remote(store, prefix, url.clone()))
        }
        Some(path) => Ok(Objects::local(Path::new(path))?),
    }
}

/// Where components are looked for by label.
pub fn component_folders(common: &Common, pipeline: &Pipeline) -> ComponentFolders {
    if common.components.is_empty() {
        return ComponentFolders(vec![pipeline.base_dir.join("components"), PathBuf::from("components")]);
    }
    ComponentFolders(common.components.clone())
}

/// Reads and checks a pipeline file.
pub fn load(path: &Path) -> Result<Pipeline, Failure> {
    Ok(Pipeline::load(path, &|name| std::env::var(name).ok())?)
}

/// Starts the engine with a pipeline's limits.
pub fn host(common: &Common, pipeline: Option<&Pipeline>) -> Result<Host, Failure> {
    let limits = match pipeline.map(|p| p.transforms.limits) {
        Some(l) => HostLimits {
            deadline: l.deadline,
            memory_max_bytes: l.memory_max_bytes,
            output_max_bytes: l.output_max_bytes,
        },
        None => HostLimits::default(),
    };
    Host::new(&cache(common), limits).map_err(|e: HostError| Failure::Message {
        exit: Exit::Failed,
        what: e.to_string(),
        fate: None,
        hint: format!("is {} writable? choose another folder with --cache", cache(common).display()),
    })
}

/// How the names of folders beside the state begin that must not outlast a run.
pub const SCRATCH: &str = "scratch-";

/// A folder for what must not last.
pub fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|e| Failure::usage(format!("cannot make a scratch folder: {e}"), "check TMPDIR"))
}
