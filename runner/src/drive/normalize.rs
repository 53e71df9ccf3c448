//! From a page to change records: the transform, the keys, the versions.

use crate::host::{PlannedStage, RejectKind, Selection, StageFault, StageRows};
use crate::record::{ChangeRecords, Origins, Page};
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, BooleanArray, RecordBatch, UInt8Array, UInt32Array,
};
use arrow::compute::{cast, filter, filter_record_batch, is_not_null};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use gristmill_core::dead_letter::{DeadLetter, DeadLetterClass, RecordPosition, RefusedAt};
use gristmill_core::id::Sequence;
use gristmill_core::version::{self, TAG_ARRIVAL, TAG_POSITION, VersionSource};

/// The normalize stage of a task version.
#[derive(Debug)]
pub struct Normalizer {
    /// None: the source's columns are the records.
    pub stage: Option<PlannedStage>,
    pub identity: Vec<String>,
    pub version: VersionSource,
}

/// A page after normalize: what goes into the batch and what was refused.
#[derive(Debug)]
pub struct Normalized {
    pub records: ChangeRecords,
    /// The row of the page that each record comes from.
    pub source_rows: UInt32Array,
    /// Those of the source, then those of the transform, then records without a key.
    pub dead_letters: Vec<DeadLetter>,
    pub messages: Vec<String>,
}

/// The place of a page's rows in the order of arrival, for versions that have no better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    sequence: u64,
    first_row: u64,
}

impl Arrival {
    /// As the batch of that number.
    pub fn of(sequence: Sequence) -> Self {
        Self { sequence: sequence.get(), first_row: 0 }
    }

    /// After all rows of the batch before that number, and before all of its own: whatever came with it or later stands.
    pub fn just_before(sequence: Sequence) -> Self {
        Self { sequence: sequence.get().saturating_sub(1), first_row: 1 << 63 }
    }
}

/// Why a page could not become change records.
#[derive(Debug, thiserror::Error)]
pub enum NormalizeError {
    #[error(transparent)]
    Stage(#[from] StageFault),
    /// The plan was checked against the pipeline when the task version was published.
    #[error("a checked schema does not hold: {0}")]
    Broken(#[from] arrow::error::ArrowError),
}

impl Normalizer {
    /// Turns a page into the records of the batch number `sequence`.
    pub fn run(
        &self,
        page: &Page,
        dead_letters: Vec<DeadLetter>,
        sequence: Sequence,
    ) -> Result<Normalized, NormalizeError> {
        self.run_as(page, dead_letters, Arrival::of(sequence))
    }

    /// As [`Self::run`], with rows that arrived elsewhere than now.
    pub fn run_as(
        &self,
        page: &Page,
        dead_letters: Vec<DeadLetter>,
        arrival: Arrival,
    ) -> Result<Normalized, NormalizeError> {
        let mut dead_letters = dead_letters;
        let (rows, messages) = match &self.stage {
            None => (StageRows::unchanged(&page.rows, &page.operations), Vec::new()),
            Some(stage) => {
                let mut output = stage.process(&page.rows, &page.operations)?;
                dead_letters.extend(output.rejects.drain(..).map(|reject| DeadLetter {
                    refused_at: RefusedAt::Normalize,
                    class: class_of(reject.kind),
                    code: reject.code,
                    field: reject.field,
                    output: None,
                    position: locate(&page.origins, reject.row as usize),
                    message: reject.message,
                }));
                (output.outputs.swap_remove(0), output.messages)
            }
        };
        let source_rows = rows.source_rows();
        let StageRows { rows, operations, .. } = rows;
        let source_row = |row: usize| source_rows.value(row) as usize;
        let versions = self.versions(&rows, &page.origins, source_row, arrival)?;
        let keyed = self.keyed(&rows, &versions)?;
        if keyed.true_count() < rows.num_rows() {
            for row in (0..rows.num_rows()).filter(|row| !keyed.value(*row)) {
                dead_letters.push(self.without_key(&rows, row, locate(&page.origins, source_row(row))));
            }
        }
        let source_rows = match keyed.true_count() == rows.num_rows() {
            true => source_rows,
            false => filter(&source_rows, &keyed)?.as_primitive().clone(),
        };
        let records = retain(ChangeRecords { rows, operations, versions }, &keyed)?;
        Ok(Normalized { records, source_rows, dead_letters, messages })
    }

    /// The source version of each record; null where the version column is.
    fn versions(
        &self,
        rows: &RecordBatch,
        origins: &Origins,
        source_row: impl Fn(usize) -> usize,
        arrival: Arrival,
    ) -> Result<BinaryArray, arrow::error::ArrowError> {
        let count = rows.num_rows();
        match &self.version {
            VersionSource::Arrival => {
                let Arrival { sequence, first_row } = arrival;
                let pairs = (0..count as u64).map(|row| version::pair(TAG_ARRIVAL, sequence, first_row + row));
                Ok(fixed(count, pairs))
            }
            VersionSource::Position => {
                let pairs = (0..count).map(|row| {
                    let row = source_row(row);
                    version::pair(TAG_POSITION, origins.run_of(row).object_sequence, origins.records.value(row))
                });
                Ok(fixed(count, pairs))
            }
            VersionSource::Column(name) => {
                let index = rows.schema().index_of(name)?;
                column_versions(rows.column(index))
            }
        }
    }

    fn keyed(&self, rows: &RecordBatch, versions: &BinaryArray) -> Result<BooleanArray, arrow::error::ArrowError> {
        let mut keyed = is_not_null(versions)?;
        for name in &self.identity {
            let column = rows.column(rows.schema().index_of(name)?);
            if column.null_count() > 0 {
                keyed = arrow::compute::and(&keyed, &is_not_null(column)?)?;
            }
        }
        Ok(keyed)
    }

    fn without_key(&self, rows: &RecordBatch, row: usize, position: RecordPosition) -> DeadLetter {
        let is_null = |name: &&String| rows.column_by_name(name).is_some_and(|column| column.is_null(row));
        let field = self.identity.iter().find(is_null);
        let (field, what) = match (field, &self.version) {
            (Some(name), _) => (name, "identity"),
            (None, VersionSource::Column(name)) => (name, "source version"),
            (None, _) => return missing_key(None, "identity", position, RefusedAt::Normalize, None),
        };
        missing_key(Some(field.clone()), what, position, RefusedAt::Normalize, None)
    }
}

/// A dead letter for a record whose identity or version is null.
pub(super) fn missing_key(
    field: Option<String>,
    what: &str,
    position: RecordPosition,
    refused_at: RefusedAt,
    output: Option<String>,
) -> DeadLetter {
    DeadLetter {
        refused_at,
        class: DeadLetterClass::MissingKey,
        code: DeadLetterClass::MissingKey.as_str().into(),
        field,
        output,
        position,
        message: format!("the {what} is null"),
    }
}

pub(super) fn class_of(kind: RejectKind) -> DeadLetterClass {
    match kind {
        RejectKind::ByTransform => DeadLetterClass::Rejected,
        RejectKind::Poison => DeadLetterClass::PoisonRow,
    }
}

fn retain(records: ChangeRecords, keep: &BooleanArray) -> Result<ChangeRecords, arrow::error::ArrowError> {
    if keep.true_count() == records.rows.num_rows() {
        return Ok(records);
    }
    let operations = filter(&records.operations, keep)?.as_primitive().clone();
    let versions = filter(&records.versions, keep)?.as_binary::<i32>().clone();
    Ok(ChangeRecords { rows: filter_record_batch(&records.rows, keep)?, operations, versions })
}

fn locate(origins: &Origins, row: usize) -> RecordPosition {
    let run = origins.run_of(row);
    RecordPosition::Source {
        object: run.object.to_string(),
        object_sequence: run.object_sequence,
        record: origins.records.value(row),
        line: origins.lines.as_ref().map(|lines| lines.value(row)),
    }
}

fn fixed<const N: usize>(count: usize, versions: impl Iterator<Item = [u8; N]>) -> BinaryArray {
    let mut builder = BinaryBuilder::with_capacity(count, count * N);
    versions.for_each(|version| builder.append_value(version));
    builder.finish()
}

/// Whether a column of this type can order versions.
pub fn can_version(data_type: &DataType) -> bool {
    use DataType::*;
    data_type.is_integer()
        || data_type.is_floating()
        || data_type.is_temporal()
        || matches!(data_type, Utf8 | LargeUtf8 | Binary | LargeBinary | FixedSizeBinary(_) | Decimal128(..))
}

fn column_versions(column: &ArrayRef) -> Result<BinaryArray, arrow::error::ArrowError> {
    use DataType::*;
    let mut builder = BinaryBuilder::with_capacity(column.len(), column.len() * 9);
    match column.data_type() {
        Utf8 | LargeUtf8 | Binary | LargeBinary | FixedSizeBinary(_) => {
            let column = cast(column, &Binary)?;
            column.as_binary::<i32>().iter().for_each(|v| builder.append_option(v.map(version::bytes)));
        }
        UInt8 | UInt16 | UInt32 | UInt64 => {
            let column = cast(column, &UInt64)?;
            column.as_primitive::<UInt64Type>().iter().for_each(|v| builder.append_option(v.map(version::unsigned)));
        }
        Float16 | Float32 | Float64 => {
            let column = cast(column, &Float64)?;
            column.as_primitive::<Float64Type>().iter().for_each(|v| {
                // NaN is no place in an order: as the largest version it would hold its record for ever.
                builder.append_option(v.filter(|v| !v.is_nan()).map(version::float));
            });
        }
        Decimal128(..) => {
            column.as_primitive::<Decimal128Type>().iter().for_each(|v| builder.append_option(v.map(version::decimal)));
        }
        Date32 | Time32(_) => {
            let column = cast(&cast(column, &Int32)?, &Int64)?;
            column.as_primitive::<Int64Type>().iter().for_each(|v| builder.append_option(v.map(version::signed)));
        }
        _ => {
            let column = cast(column, &Int64)?;
            column.as_primitive::<Int64Type>().iter().for_each(|v| builder.append_option(v.map(version::signed)));
        }
    }
    Ok(builder.finish())
}

/// Operation and origin of rows that no transform touched.
impl StageRows {
    pub(super) fn unchanged(rows: &RecordBatch, operations: &UInt8Array) -> Self {
        Self { rows: rows.clone(), operations: operations.clone(), selection: Selection::All }
    }

    pub(super) fn source_rows(&self) -> UInt32Array {
        match &self.selection {
            Selection::All => UInt32Array::from_iter_values(0..self.rows.num_rows() as u32),
            Selection::Rows(rows) => rows.clone(),
        }
    }
}
