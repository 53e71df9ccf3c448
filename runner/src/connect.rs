//! From a pipeline's configuration to its connectors: the one place that knows which key means which.

use crate::config::{self, FilesConfig, Location, Pipeline, SinkConfig, SourceConfig};
use crate::record::OutputSchema;
use crate::sink::parquet::{ParquetSink, ParquetSinkOptions};
use crate::sink::sqlite::{SqliteSink, SqliteSinkOptions};
use crate::sink::{Guarantee, Sink, SinkError};
use crate::source::files::{self, CsvOptions, FilesOptions, FilesRereader, FilesRoot, FilesSource, open_store};
use crate::source::{Rereader, Source, SourceError};
use arrow::datatypes::SchemaRef;
use gristmill_core::cursor::Cursor;
use gristmill_core::id::PartitionId;
use gristmill_core::schema::Schema;
use object_store::memory::InMemory;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The source's columns, from what it holds now.
pub async fn infer_source(config: &SourceConfig, spool: &Path) -> Result<Schema, SourceError> {
    let SourceConfig::Files(files) = config;
    let pattern = files.pattern.as_deref().map(files::parse_pattern).transpose()?;
    let arrow = files::infer_schema(&root(files)?, pattern.as_ref(), &format(files), spool).await?;
    crate::schema::from_arrow(&arrow).map_err(|e| SourceError::Mismatch {
        what: format!("the source's columns cannot be used: {e}"),
        hint: "name the columns and their types in the pipeline".into(),
    })
}

/// The pipeline's source, for its frozen columns.
pub fn source(config: &SourceConfig, columns: SchemaRef, spool: &Path) -> Result<Box<dyn Source>, SourceError> {
    Ok(Box::new(FilesSource::new(options(config, columns, spool)?)?))
}

/// Reads records of the pipeline's source again. `read` and `state` are its checkpoint's cursor and logical state.
pub fn rereader(
    config: &SourceConfig,
    columns: SchemaRef,
    spool: &Path,
    read: &Cursor,
    state: &BTreeMap<String, String>,
) -> Result<Box<dyn Rereader>, SourceError> {
    Ok(Box::new(FilesRereader::new(options(config, columns, spool)?, read, state)?))
}

fn options(config: &SourceConfig, columns: SchemaRef, spool: &Path) -> Result<FilesOptions, SourceError> {
    let SourceConfig::Files(files) = config;
    Ok(FilesOptions {
        root: root(files)?,
        pattern: files.pattern.as_deref().map(files::parse_pattern).transpose()?,
        format: format(files),
        columns,
        ignore_columns: files.ignore_columns,
        settle: files.settle,
        max_field_bytes: files.max_field_bytes,
        spool_dir: spool.to_owned(),
    })
}

fn root(files: &FilesConfig) -> Result<FilesRoot, SourceError> {
    match &files.url {
        Location::Local(path) => Ok(FilesRoot::Local(path.clone())),
        Location::Url(url) => Ok(FilesRoot::parse(url.as_str())?),
    }
}

fn format(files: &FilesConfig) -> files::FileFormat {
    match &files.format {
        config::FileFormat::Jsonl => files::FileFormat::JsonLines,
        config::FileFormat::Parquet => files::FileFormat::Parquet,
        config::FileFormat::Csv(csv) => files::FileFormat::Csv(CsvOptions {
            delimiter: csv.delimiter,
            quote: Some(csv.quote),
            header: csv.header,
            null_values: csv.null_values.clone(),
        }),
    }
}

/// Whether the pipeline's sink can hold these outputs at all, and what it would promise. Touches nothing: a dataset's
/// folder is not made for a check.
pub fn check_sink(pipeline: &Pipeline, outputs: &[OutputSchema]) -> Result<Guarantee, SinkError> {
    let sink: Box<dyn Sink> = match &pipeline.sink {
        SinkConfig::Sqlite { .. } => sink(pipeline)?,
        SinkConfig::Parquet { .. } => {
            let store = Arc::new(InMemory::new());
            Box::new(ParquetSink::new(ParquetSinkOptions { store, prefix: Default::default() }))
        }
    };
    sink.check(outputs)?;
    Ok(sink.guarantee())
}

/// Whether the pipeline's target, as it is now, takes these outputs. Changes nothing; one that is not there yet takes them.
pub async fn check_target(pipeline: &Pipeline, outputs: &[OutputSchema]) -> Result<(), SinkError> {
    if let SinkConfig::Parquet { url: Location::Local(path), .. } = &pipeline.sink
        && !path.exists()
    {
        return Ok(());
    }
    sink(pipeline)?.fits(&pipeline.task, &PartitionId::whole(), outputs).await
}

/// A target of the same kind as the pipeline's, at another place.
pub fn sink_elsewhere(pipeline: &Pipeline, into: &str) -> Result<Box<dyn Sink>, SinkError> {
    match &pipeline.sink {
        SinkConfig::Sqlite { path, .. } => {
            let other = std::path::PathBuf::from(into.strip_prefix("sqlite://").unwrap_or(into));
            refuse_same(std::path::absolute(&other).ok() == std::path::absolute(path).ok())?;
            Ok(Box::new(SqliteSink::new(SqliteSinkOptions { path: other })))
        }
        SinkConfig::Parquet { url, .. } if into.contains("://") => {
            refuse_same(
                matches!(url, Location::Url(url) if url.as_str().trim_end_matches('/') == into.trim_end_matches('/')),
            )?;
            let (store, prefix) = open_store(into).map_err(|e| SinkError::Mismatch { what: e.what, hint: e.hint })?;
            Ok(Box::new(ParquetSink::new(ParquetSinkOptions { store, prefix })))
        }
        SinkConfig::Parquet { url, .. } => {
            let other = Path::new(into);
            let same = |path: &Path| std::path::absolute(path).ok() == std::path::absolute(other).ok();
            refuse_same(matches!(url, Location::Local(path) if same(path)))?;
            Ok(Box::new(ParquetSink::new(ParquetSinkOptions::local(other)?)))
        }
    }
}

fn refuse_same(same: bool) -> Result<(), SinkError> {
    match same {
        false => Ok(()),
        true => Err(SinkError::Mismatch {
            what: "that is the task's own target".into(),
            hint: "name another place, or leave --into out to map the history anew in the target".into(),
        }),
    }
}

/// The pipeline's sink.
pub fn sink(pipeline: &Pipeline) -> Result<Box<dyn Sink>, SinkError> {
    match &pipeline.sink {
        SinkConfig::Sqlite { path, .. } => Ok(Box::new(SqliteSink::new(SqliteSinkOptions { path: path.clone() }))),
        SinkConfig::Parquet { url: Location::Local(path), .. } => {
            Ok(Box::new(ParquetSink::new(ParquetSinkOptions::local(path)?)))
        }
        SinkConfig::Parquet { url: Location::Url(url), .. } => {
            let (store, prefix) =
                open_store(url.as_str()).map_err(|e| SinkError::Mismatch { what: e.what, hint: e.hint })?;
            Ok(Box::new(ParquetSink::new(ParquetSinkOptions { store, prefix })))
        }
    }
}
