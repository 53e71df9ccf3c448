//! Where things are.

use crate::Failure;
use std::path::{Path, PathBuf};

pub struct Places {
    /// Generated inputs, temporary runs and the report.
    pub bench: PathBuf,
    /// The release binary that was built together with this one.
    pub gristmill: PathBuf,
    pub components: PathBuf,
    /// `pipelines/flights` of the repository.
    pub flights: PathBuf,
}

impl Places {
    pub fn find() -> Result<Self, Failure> {
        let built = std::env::current_exe()?;
        let profile = built.parent().ok_or("the bench binary has no folder")?;
        let target = profile.parent().ok_or("the bench binary lies in no target folder")?;
        let bench = target.join("bench");
        std::fs::create_dir_all(&bench)?;
        let gristmill = profile.join("gristmill");
        if !gristmill.exists() {
            return Err(
                format!("{} is missing: build it with `-p gristmill -p gristmill-bench`", gristmill.display()).into()
            );
        }
        let components =
            std::env::var_os("GRISTMILL_COMPONENTS").map_or_else(|| target.join("components"), PathBuf::from);
        let flights = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pipelines/flights").canonicalize()?;
        Ok(Self { bench, gristmill, components, flights })
    }

    pub fn component(&self, label: &str) -> Result<Vec<u8>, Failure> {
        let path = self.components.join(format!("{label}.wasm"));
        std::fs::read(&path).map_err(|e| format!("{}: {e}: run `make bench`", path.display()).into())
    }
}
