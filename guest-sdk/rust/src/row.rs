//! A row view for simple transforms: read cells by name, write cells by name.
//!
//! It costs several times what typed columns cost, but no allocation for each row. Nested columns are for
//! [`crate::Transform`] alone.

use crate::batch::Batch;
use crate::build::{Builder, Cell, ScalarBuilder, Unfit};
use crate::column::*;
use crate::failure::{Failure, Reject};
use crate::outputs::{Operation, Outputs, Selection};
use crate::plan::{Output, OutputColumn, Plan, Source};
use crate::setup::Setup;
use crate::transform::Transform;
use crate::types::{DataType, Field};
use std::cell::Cell as Slot;

/// A transform that sees one row at a time. Export it as `Rows<YourTransform>`.
pub trait RowTransform: Sized {
    /// As in [`Transform::plan`]. Rows show the columns read here: an input column under its name, a look-up as
    /// `dictionary.column`.
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure>;

    /// Writes the output rows that one input row makes: none, one or more, to any output. When it rejects the row,
    /// whatever it wrote for it is taken back.
    fn row(&self, row: &Row<'_>, out: &mut RowOutputs) -> Result<(), Reject>;
}

/// Makes a [`Transform`] of a [`RowTransform`].
#[derive(Debug)]
pub struct Rows<T> {
    transform: T,
    reads: Vec<String>,
    outputs: Vec<Vec<Field>>,
}

impl<T: RowTransform> Transform for Rows<T> {
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        let transform = T::plan(setup, plan)?;
        let mut reads = Vec::new();
        for read in plan.reads() {
            scalar(&read.field)?;
            reads.push(match &read.source {
                Source::Lookup(place) => format!("{}.{}", plan.lookup_dictionary(*place), read.field.name),
                Source::Input(_) | Source::Operation => read.field.name.clone(),
            });
        }
        let mut outputs = Vec::new();
        for output in plan.outputs() {
            let computed = output.columns.iter().filter_map(|column| match column {
                OutputColumn::Computed(field) => Some(field.clone()),
                OutputColumn::Forwarded { .. } => None,
            });
            let computed: Vec<_> = computed.collect();
            computed.iter().try_for_each(scalar)?;
            outputs.push(computed);
        }
        Ok(Self { transform, reads, outputs })
    }

    fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        let cells: Vec<_> = batch.arrays().map(CellColumn::of).collect();
        let mut out = RowOutputs::new(&self.outputs, batch.rows());
        let mut row = Row { index: 0, names: &self.reads, cells: &cells, next: Slot::new(0) };
        for index in 0..batch.rows() {
            row.index = index;
            out.begin(index);
            let result = self.transform.row(&row, &mut out);
            if let Err(reject) = result.and(out.fault.take().map_or(Ok(()), Err)) {
                out.take_back();
                outputs.reject(index, reject);
            }
        }
        out.finish(outputs);
        Ok(())
    }
}

fn scalar(field: &Field) -> Result<(), Failure> {
    if field.data_type.children().is_empty() {
        return Ok(());
    }
    let message = format!("column `{}` is {}: nested columns have no row view", field.name, field.data_type);
    Err(Failure::new("wrong-type", message))
}

/// One input row. Every getter fails with a reject that names the column: `wrong-type` where it holds another sort of
/// value or is not read by the plan, and `missing-value` where it is null, unless the getter is an `opt_` one.
pub struct Row<'a> {
    index: usize,
    names: &'a [String],
    cells: &'a [CellColumn<'a>],
    /// The column asked for after the last one: rows ask for the same columns in the same order.
    next: Slot<usize>,
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident, $opt_name:ident, $type:ty, $sort:literal, $get:ident);+ $(;)?) => {
        $($(#[$doc])*
        pub fn $name(&self, column: &str) -> Result<$type, Reject> {
            self.$opt_name(column)?.ok_or_else(|| missing(column))
        }
        /// The same, or none where it is null.
        pub fn $opt_name(&self, column: &str) -> Result<Option<$type>, Reject> {
            let cells = self.cells(column)?;
            if cells.is_null(self.index) {
                return Ok(None);
            }
            cells.$get(self.index).map(Some).ok_or_else(|| wrong_type(column, $sort))
        })+
    };
}

impl<'a> Row<'a> {
    /// The row's place in the batch.
    pub fn index(&self) -> usize {
        self.index
    }

    pub fn is_null(&self, column: &str) -> Result<bool, Reject> {
        Ok(self.cells(column)?.is_null(self.index))
    }

    getters! {
        /// A text.
        str, opt_str, &'a str, "a text", text;
        /// The bytes of a byte string or of a text.
        bytes, opt_bytes, &'a [u8], "a byte string", bytes;
        bool, opt_bool, bool, "a boolean", boolean;
        /// Any integer that fits, date, time, timestamp or duration.
        i64, opt_i64, i64, "an integer of 64 bits", integer;
        /// A float, or any integer.
        f64, opt_f64, f64, "a number", float;
        /// The unscaled value of a decimal that fits.
        decimal, opt_decimal, i128, "a decimal of 128 bits", decimal;
    }

    fn cells(&self, column: &str) -> Result<&'a CellColumn<'a>, Reject> {
        let expected = self.next.get();
        let place = match self.names.get(expected) {
            Some(name) if name == column => expected,
            _ => self.names.iter().position(|name| name == column).ok_or_else(|| {
                Reject::new("wrong-type", "the transform's plan does not read this column").field(column.to_owned())
            })?,
        };
        self.next.set(if place + 1 < self.names.len() { place + 1 } else { 0 });
        Ok(&self.cells[place])
    }
}

fn missing(column: &str) -> Reject {
    Reject::new("missing-value", "the value is null").field(column.to_owned())
}

fn wrong_type(column: &str, sort: &str) -> Reject {
    Reject::new("wrong-type", format!("the column does not hold {sort}")).field(column.to_owned())
}

/// A view of a column of any scalar type.
enum CellColumn<'a> {
    Null(NullColumn),
    Boolean(BooleanColumn<'a>),
    Int8(Int8Column<'a>),
    Int16(Int16Column<'a>),
    Int32(Int32Column<'a>),
    Int64(Int64Column<'a>),
    UInt8(UInt8Column<'a>),
    UInt16(UInt16Column<'a>),
    UInt32(UInt32Column<'a>),
    UInt64(UInt64Column<'a>),
    Float16(Float16Column<'a>),
    Float32(Float32Column<'a>),
    Float64(Float64Column<'a>),
    Decimal128(Decimal128Column<'a>),
    Decimal256(Decimal256Column<'a>),
    Utf8(Utf8Column<'a>),
    LargeUtf8(LargeUtf8Column<'a>),
    Binary(BinaryColumn<'a>),
    LargeBinary(LargeBinaryColumn<'a>),
    FixedSizeBinary(FixedSizeBinaryColumn<'a>),
}

impl<'a> CellColumn<'a> {
    fn of(array: Array<'a>) -> Self {
        match array.data_type() {
            DataType::Boolean => Self::Boolean(BooleanColumn::new(array)),
            DataType::Int8 => Self::Int8(PrimitiveColumn::new(array)),
            DataType::Int16 => Self::Int16(PrimitiveColumn::new(array)),
            DataType::Int32 | DataType::Date32 | DataType::Time32(_) => Self::Int32(PrimitiveColumn::new(array)),
            DataType::Int64
            | DataType::Date64
            | DataType::Time64(_)
            | DataType::Timestamp { .. }
            | DataType::Duration(_) => Self::Int64(PrimitiveColumn::new(array)),
            DataType::UInt8 => Self::UInt8(PrimitiveColumn::new(array)),
            DataType::UInt16 => Self::UInt16(PrimitiveColumn::new(array)),
            DataType::UInt32 => Self::UInt32(PrimitiveColumn::new(array)),
            DataType::UInt64 => Self::UInt64(PrimitiveColumn::new(array)),
            DataType::Float16 => Self::Float16(PrimitiveColumn::new(array)),
            DataType::Float32 => Self::Float32(PrimitiveColumn::new(array)),
            DataType::Float64 => Self::Float64(PrimitiveColumn::new(array)),
            DataType::Decimal128 { .. } => Self::Decimal128(PrimitiveColumn::new(array)),
            DataType::Decimal256 { .. } => Self::Decimal256(PrimitiveColumn::new(array)),
            DataType::Utf8 => Self::Utf8(TextColumn::new(array)),
            DataType::LargeUtf8 => Self::LargeUtf8(TextColumn::new(array)),
            DataType::Binary => Self::Binary(BytesColumn::new(array)),
            DataType::LargeBinary => Self::LargeBinary(BytesColumn::new(array)),
            DataType::FixedSizeBinary(_) => Self::FixedSizeBinary(FixedSizeBinaryColumn::new(array)),
            DataType::Null => Self::Null(NullColumn::new(array)),
            nested => unreachable!("{nested} was refused by the plan"),
        }
    }

    fn is_null(&self, i: usize) -> bool {
        match self {
            Self::Null(column) => column.is_null(i),
            Self::Boolean(column) => column.is_null(i),
            Self::Int8(column) => column.is_null(i),
            Self::Int16(column) => column.is_null(i),
            Self::Int32(column) => column.is_null(i),
            Self::Int64(column) => column.is_null(i),
            Self::UInt8(column) => column.is_null(i),
            Self::UInt16(column) => column.is_null(i),
            Self::UInt32(column) => column.is_null(i),
            Self::UInt64(column) => column.is_null(i),
            Self::Float16(column) => column.is_null(i),
            Self::Float32(column) => column.is_null(i),
            Self::Float64(column) => column.is_null(i),
            Self::Decimal128(column) => column.is_null(i),
            Self::Decimal256(column) => column.is_null(i),
            Self::Utf8(column) => column.is_null(i),
            Self::LargeUtf8(column) => column.is_null(i),
            Self::Binary(column) => column.is_null(i),
            Self::LargeBinary(column) => column.is_null(i),
            Self::FixedSizeBinary(column) => column.is_null(i),
        }
    }

    fn text(&self, i: usize) -> Option<&'a str> {
        match self {
            Self::Utf8(column) => Some(column.value(i)),
            Self::LargeUtf8(column) => Some(column.value(i)),
            _ => None,
        }
    }

    fn bytes(&self, i: usize) -> Option<&'a [u8]> {
        match self {
            Self::Utf8(column) => Some(column.bytes(i)),
            Self::LargeUtf8(column) => Some(column.bytes(i)),
            Self::Binary(column) => Some(column.value(i)),
            Self::LargeBinary(column) => Some(column.value(i)),
            Self::FixedSizeBinary(column) => Some(column.value(i)),
            _ => None,
        }
    }

    fn boolean(&self, i: usize) -> Option<bool> {
        match self {
            Self::Boolean(column) => Some(column.value(i)),
            _ => None,
        }
    }

    fn integer(&self, i: usize) -> Option<i64> {
        match self {
            Self::Int8(column) => Some(column.value(i).into()),
            Self::Int16(column) => Some(column.value(i).into()),
            Self::Int32(column) => Some(column.value(i).into()),
            Self::Int64(column) => Some(column.value(i)),
            Self::UInt8(column) => Some(column.value(i).into()),
            Self::UInt16(column) => Some(column.value(i).into()),
            Self::UInt32(column) => Some(column.value(i).into()),
            Self::UInt64(column) => column.value(i).try_into().ok(),
            _ => None,
        }
    }

    fn float(&self, i: usize) -> Option<f64> {
        match self {
            Self::Float16(column) => Some(column.value(i).to_f32().into()),
            Self::Float32(column) => Some(column.value(i).into()),
            Self::Float64(column) => Some(column.value(i)),
            Self::UInt64(column) => Some(column.value(i) as f64),
            _ => self.integer(i).map(|value| value as f64),
        }
    }

    fn decimal(&self, i: usize) -> Option<i128> {
        match self {
            Self::Decimal128(column) => Some(column.value(i)),
            Self::Decimal256(column) => column.value(i).to_i128(),
            _ => None,
        }
    }
}

fn unfit_cell(unfit: Unfit, column: &str) -> Reject {
    let reject = match unfit {
        Unfit::Type => Reject::new("wrong-type", "the value is of another sort than the output column"),
        Unfit::Range => Reject::new("out-of-range", "the output column cannot hold the value"),
    };
    reject.field(column.to_owned())
}

/// Takes the output rows of a [`RowTransform`].
pub struct RowOutputs {
    input_row: usize,
    outputs: Vec<RowOutput>,
    /// Rows of each output before the input row in hand.
    before: Vec<usize>,
    /// What was wrong with a row that ended without saying so.
    fault: Option<Reject>,
}

struct RowOutput {
    fields: Vec<Field>,
    columns: Vec<ScalarBuilder>,
    selection: Selection,
    /// One for each row, or none at all: then rows keep those of their input rows.
    operations: Vec<Operation>,
}

impl RowOutputs {
    fn new(outputs: &[Vec<Field>], capacity: usize) -> Self {
        let output = |fields: &Vec<Field>| RowOutput {
            columns: fields.iter().filter_map(|field| ScalarBuilder::of(&field.data_type, capacity)).collect(),
            fields: fields.clone(),
            selection: Selection::with_capacity(capacity),
            operations: Vec::new(),
        };
        Self {
            input_row: 0,
            before: vec![0; outputs.len()],
            outputs: outputs.iter().map(output).collect(),
            fault: None,
        }
    }

    /// Starts a row of an output. It ends when the returned value goes; cells that were not set are null.
    pub fn row(&mut self, output: Output) -> OutputRow<'_> {
        OutputRow { input_row: self.input_row, output: &mut self.outputs[output.0], fault: &mut self.fault, next: 0 }
    }

    fn begin(&mut self, input_row: usize) {
        self.input_row = input_row;
        for (before, output) in self.before.iter_mut().zip(&self.outputs) {
            *before = output.selection.len();
        }
    }

    fn take_back(&mut self) {
        for (before, output) in self.before.iter().zip(&mut self.outputs) {
            output.columns.iter_mut().for_each(|column| column.truncate(*before));
            output.selection.truncate(*before);
            output.operations.truncate(*before);
        }
    }

    fn finish(self, outputs: &mut Outputs) {
        for (place, output) in self.outputs.into_iter().enumerate() {
            for (column, values) in output.columns.into_iter().enumerate() {
                outputs.set_place(place, column, values.finish());
            }
            outputs.select(Output(place), output.selection);
            if !output.operations.is_empty() {
                outputs.operations(Output(place), output.operations);
            }
        }
    }
}

/// One output row in the making.
pub struct OutputRow<'a> {
    input_row: usize,
    output: &'a mut RowOutput,
    fault: &'a mut Option<Reject>,
    next: usize,
}

impl OutputRow<'_> {
    /// Sets a cell. Fails with `wrong-type` or `out-of-range`, naming the column; a column set twice keeps the first.
    pub fn set<'v>(&mut self, column: &str, value: impl Into<Cell<'v>>) -> Result<&mut Self, Reject> {
        let place = match self.output.fields.get(self.next) {
            Some(field) if field.name == column => self.next,
            _ => self.output.fields.iter().position(|field| field.name == column).ok_or_else(|| {
                Reject::new("wrong-type", "the transform's plan does not compute this column").field(column.to_owned())
            })?,
        };
        self.next = place + 1;
        let rows = self.output.selection.len();
        let builder = &mut self.output.columns[place];
        let value = value.into();
        if value == Cell::Null && !self.output.fields[place].nullable {
            return Err(missing(column));
        }
        if builder.len() == rows {
            builder.push(value).map_err(|unfit| unfit_cell(unfit, column))?;
        }
        Ok(self)
    }

    /// Sets what the row does to the target; the operation of its input row otherwise. An output's rows set it all
    /// or none: a row that differs is rejected with `mixed-operations`.
    pub fn operation(&mut self, operation: Operation) -> &mut Self {
        if self.output.operations.len() == self.output.selection.len() {
            self.output.operations.push(operation);
        } else {
            *self.fault = Some(mixed_operations());
        }
        self
    }
}

impl Drop for OutputRow<'_> {
    fn drop(&mut self) {
        let rows = self.output.selection.len();
        for (field, column) in self.output.fields.iter().zip(&mut self.output.columns) {
            if column.len() == rows {
                column.push_null();
                if !field.nullable {
                    *self.fault = Some(missing(&field.name));
                }
            }
        }
        self.output.selection.push(self.input_row);
        if !self.output.operations.is_empty() && self.output.operations.len() == rows {
            *self.fault = Some(mixed_operations());
        }
    }
}

fn mixed_operations() -> Reject {
    Reject::new("mixed-operations", "some rows of this output set their operation and some do not")
}
