//! What task versions and labels name, for whoever removes what nothing names.

use super::{StateStore, json, parsed};
use crate::store::StoreError;
use gristmill_core::digest::Digest;
use gristmill_core::pins::Pins;
use sqlx::{Sqlite, Transaction};
use std::collections::HashSet;

/// Components and dictionaries that versions and labels name. While it lives nobody publishes a version or gives a label: what
/// is not named now can be removed. Ask the state for nothing else meanwhile.
#[derive(Debug)]
pub struct Named<'a> {
    pub components: HashSet<Digest>,
    pub dictionaries: HashSet<Digest>,
    _lock: Transaction<'a, Sqlite>,
}

impl StateStore {
    /// Reads what is named, and holds it.
    pub async fn hold_named(&self) -> Result<Named<'_>, StoreError> {
        const DOING: &str = "reading what versions name";
        let mut tx = self.begin(DOING).await?;
        let mut named = (HashSet::new(), HashSet::new());
        let labels = sqlx::query("SELECT digest FROM component").fetch_all(&mut *tx).await;
        for row in labels.map_err(StoreError::database(DOING))? {
            named.0.insert(parsed(&row, "digest")?);
        }
        let versions = sqlx::query("SELECT DISTINCT pins FROM task_version").fetch_all(&mut *tx).await;
        for row in versions.map_err(StoreError::database(DOING))? {
            let pins: Pins = json(&row, "pins")?;
            named.0.extend(pins.components().map(|(_, pin)| pin.component));
            named.1.extend(pins.dictionaries.values().map(|pin| pin.content));
        }
        Ok(Named { components: named.0, dictionaries: named.1, _lock: tx })
    }
}
