//! What `process` gives back.

use crate::build::{ArrayData, Builder};
use crate::failure::Reject;
use crate::kind::Kind;
use crate::plan::{Finished, Out, Output};
use crate::raw;

/// The operation of a change record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Operation {
    Insert = 0,
    Update = 1,
    Delete = 2,
}

impl Operation {
    /// From a value of [`crate::Plan::read_operation`]. Panics on any other byte: the runner gives none.
    pub fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Insert,
            1 => Self::Update,
            2 => Self::Delete,
            other => panic!("{other} is no operation"),
        }
    }
}

/// Takes the columns, selections and rejects of one call.
///
/// Every computed column of the plan must be set. An output without a selection has one row for each input row.
#[derive(Debug)]
pub struct Outputs {
    rows: usize,
    outputs: Vec<Pending>,
    rejects: Vec<raw::Reject>,
    messages: Vec<String>,
}

#[derive(Debug)]
struct Pending {
    selection: Option<Vec<u32>>,
    operations: Option<Vec<u8>>,
    columns: Vec<Option<ArrayData>>,
}

impl Outputs {
    pub(crate) fn new(plan: &Finished, rows: usize) -> Self {
        let pending =
            |computed| Pending { selection: None, operations: None, columns: (0..computed).map(|_| None).collect() };
        let outputs = plan.outputs.iter().map(|output| pending(output.computed)).collect();
        Self { rows, outputs, rejects: Vec::new(), messages: Vec::new() }
    }

    /// Sets a computed column.
    pub fn set<K: Kind>(&mut self, column: &Out<K>, values: K::Builder) {
        self.set_data(column, values.finish());
    }

    /// Sets a computed column from a finished one of the same type.
    pub fn set_data<K: Kind>(&mut self, column: &Out<K>, values: ArrayData) {
        self.outputs[column.output.0].columns[column.place] = Some(values);
    }

    pub(crate) fn set_place(&mut self, output: usize, place: usize, values: ArrayData) {
        self.outputs[output].columns[place] = Some(values);
    }

    /// Sets which input row each output row comes from.
    pub fn select(&mut self, output: Output, selection: Selection) {
        self.outputs[output.0].selection = selection.into_rows(self.rows);
    }

    /// Sets the operation of each output row; those of the input rows where it is not called.
    pub fn operations(&mut self, output: Output, operations: impl IntoIterator<Item = Operation>) {
        self.outputs[output.0].operations = Some(operations.into_iter().map(|operation| operation as u8).collect());
    }

    /// Does not accept an input row. Stages normalize and migrate must leave it out of the selection too.
    pub fn reject(&mut self, row: usize, reject: Reject) {
        self.rejects.push(reject.into_raw(row as u32));
    }

    /// Says something to the operator. The runner keeps the first few messages and cuts long ones.
    pub fn message(&mut self, message: impl Into<String>) {
        self.messages.push(message.into());
    }

    /// Checks what the types cannot: a mistake here is the transform's own, so it panics.
    pub(crate) fn finish(self, plan: &Finished) -> raw::Processed {
        let rows = self.rows;
        let finish = |(pending, planned): (Pending, &crate::plan::OutputPlan)| {
            let output_rows = pending.selection.as_ref().map_or(rows, Vec::len);
            let mut columns = raw::Columns { nodes: Vec::new(), buffers: Vec::new() };
            for (column, field) in pending.columns.into_iter().zip(planned.computed_fields()) {
                let place = || format!("column `{}` of output `{}`", field.name, planned.name);
                let Some(column) = column else { panic!("{} was not set", place()) };
                assert_eq!(column.len(), output_rows, "{}: values and output rows differ", place());
                assert!(field.nullable || column.null_count() == 0, "{} is required but holds nulls", place());
                columns.nodes.extend(column.nodes);
                columns.buffers.extend(column.buffers);
            }
            if let Some(operations) = &pending.operations {
                assert_eq!(operations.len(), output_rows, "operations and rows of output `{}` differ", planned.name);
            }
            raw::Output {
                rows: output_rows as u32,
                selection: pending.selection,
                operations: pending.operations,
                columns,
            }
        };
        raw::Processed {
            outputs: self.outputs.into_iter().zip(&plan.outputs).map(finish).collect(),
            rejects: self.rejects,
            messages: self.messages,
        }
    }
}

/// Which input row each output row comes from. Rows may be left out, repeated and reordered.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    rows: Vec<u32>,
}

impl Selection {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { rows: Vec::with_capacity(capacity) }
    }

    /// The next output row comes from this input row.
    #[inline]
    pub fn push(&mut self, row: usize) {
        self.rows.push(row as u32);
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.rows.truncate(len);
    }

    /// None where it selects all of `rows` in place: then nothing needs to cross, and the runner need not copy.
    fn into_rows(self, rows: usize) -> Option<Vec<u32>> {
        let all = self.rows.len() == rows && self.rows.iter().enumerate().all(|(i, row)| i == *row as usize);
        (!all).then_some(self.rows)
    }
}

impl FromIterator<usize> for Selection {
    fn from_iter<I: IntoIterator<Item = usize>>(rows: I) -> Self {
        let mut selection = Self::with_capacity(0);
        rows.into_iter().for_each(|row| selection.push(row));
        selection
    }
}
