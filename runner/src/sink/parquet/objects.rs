//! Small objects: created once, read whole.

use super::error::failed;
use crate::sink::SinkError;
use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions};

/// What a create-only put met.
#[derive(Debug)]
pub(super) enum Created {
    New,
    /// The object was there already, with these bytes: ours from an earlier attempt, or another writer's.
    Existing(Bytes),
}

/// Creates an object, or reads the one that is there. A store may answer its own retry of a put that had succeeded with
/// "exists", so an existing object proves nothing until it is compared.
pub(super) async fn create(store: &dyn ObjectStore, path: &Path, bytes: Bytes) -> Result<Created, SinkError> {
    let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
    match store.put_opts(path, bytes.into(), options).await {
        Ok(_) => Ok(Created::New),
        Err(error @ (Error::AlreadyExists { .. } | Error::Precondition { .. })) => match read(store, path).await? {
            Some(bytes) => Ok(Created::Existing(bytes)),
            // Refused, yet not there: two writers met, and neither has won so far.
            None => Err(SinkError::Transient { doing: format!("creating {path}"), source: Box::new(error) }),
        },
        Err(error) => Err(failed(format!("creating {path}"), error)),
    }
}

/// The bytes of an object; none where there is no such object.
pub(super) async fn read(store: &dyn ObjectStore, path: &Path) -> Result<Option<Bytes>, SinkError> {
    let doing = || format!("reading {path}");
    match store.get(path).await {
        Ok(found) => found.bytes().await.map(Some).map_err(|error| failed(doing(), error)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(failed(doing(), error)),
    }
}
