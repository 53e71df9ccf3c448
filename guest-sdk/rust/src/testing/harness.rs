//! The runner's part, in memory.

use super::check;
use super::table::Table;
use super::value::Value;
use crate::build::ArrayData;
use crate::column::Array;
use crate::native;
use crate::plan::{Finished, OutputColumn, Source};
use crate::raw;
use crate::types::{DataType, Field, Stage};
use crate::{Reject, Transform};
use std::collections::HashMap;
use std::fmt;

/// The setup of a transform under test.
#[derive(Debug, Clone)]
pub struct Harness {
    stage: Stage,
    config: String,
    dictionaries: Vec<Dictionary>,
    operations: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
struct Dictionary {
    name: String,
    key: String,
    table: Table,
}

/// What a run gave.
#[derive(Debug)]
pub struct Run {
    outputs: Vec<(String, Table, Selected)>,
    /// Input row and reject, in the order given.
    pub rejects: Vec<(usize, Reject)>,
    pub messages: Vec<String>,
}

#[derive(Debug)]
struct Selected {
    rows: Vec<u32>,
    operations: Vec<u8>,
}

/// Why a run gave nothing.
#[derive(Debug)]
pub enum RunError {
    /// The transform's own failure.
    Failure(crate::Failure),
    /// The transform's answer breaks the contract: the runner would refuse it.
    Contract(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failure(failure) => write!(f, "{failure}"),
            Self::Contract(problem) => write!(f, "the contract is broken: {problem}"),
        }
    }
}
impl std::error::Error for RunError {}

impl From<raw::Failure> for RunError {
    fn from(failure: raw::Failure) -> Self {
        Self::Failure(crate::Failure::new(failure.code, failure.message))
    }
}

impl Harness {
    /// A stage without configuration and dictionaries.
    pub fn new(stage: Stage) -> Self {
        Self { stage, config: "{}".to_owned(), dictionaries: Vec::new(), operations: None }
    }

    /// The stage's configuration, one JSON object.
    pub fn config(mut self, json: impl Into<String>) -> Self {
        self.config = json.into();
        self
    }

    /// A dictionary, looked up by its column `key`.
    pub fn dictionary(mut self, name: &str, key: &str, table: Table) -> Self {
        assert!(table.get(key).is_some(), "dictionary {name} has no column {key}");
        self.dictionaries.push(Dictionary { name: name.to_owned(), key: key.to_owned(), table });
        self
    }

    /// The operation of each input row: 0 insert, 1 update, 2 delete. Inserts where it is not called.
    pub fn operations(mut self, operations: impl Into<Vec<u8>>) -> Self {
        self.operations = Some(operations.into());
        self
    }

    /// What the runner gives to `plan` and `process`.
    pub fn setup(&self, input: &Table) -> raw::Setup {
        let dictionary = |d: &Dictionary| raw::Dictionary {
            name: d.name.clone(),
            key: d.key.clone(),
            fields: d.table.to_raw_fields(),
        };
        raw::Setup {
            stage: self.stage,
            config: self.config.clone(),
            input: input.to_raw_fields(),
            dictionaries: self.dictionaries.iter().map(dictionary).collect(),
        }
    }

    /// The batch that the transform's plan asks for: for a benchmark of [`native::process`].
    pub fn batch<T: Transform>(&self, input: &Table) -> Result<raw::Batch, RunError> {
        let (_, plan) = native::prepare::<T>(self.setup(input))?;
        Ok(self.batch_for(&plan, input))
    }

    /// Plans and processes one batch.
    pub fn run<T: Transform>(&self, input: &Table) -> Result<Run, RunError> {
        let (_, plan) = native::prepare::<T>(self.setup(input))?;
        let batch = self.batch_for(&plan, input);
        let processed = native::process::<T>(self.setup(input), batch)?;
        self.apply(&plan, input, processed)
    }

    fn batch_for(&self, plan: &Finished, input: &Table) -> raw::Batch {
        let mut columns = raw::Columns { nodes: Vec::new(), buffers: Vec::new() };
        for read in &plan.reads {
            let (_, data) = self.source(plan, &read.source, input);
            columns.nodes.extend(data.nodes);
            columns.buffers.extend(data.buffers);
        }
        raw::Batch { rows: input.rows() as u32, columns }
    }

    fn source(&self, plan: &Finished, source: &Source, input: &Table) -> (Field, ArrayData) {
        match source {
            Source::Input(name) => match input.get(name) {
                Some(column) => column.clone(),
                None => unreachable!("the plan checked that the input has {name}"),
            },
            Source::Lookup(place) => {
                let lookup = &plan.lookups[*place];
                let joined = self.join(&lookup.dictionary, &input.values(&lookup.key), &lookup.value.name);
                (lookup.value.clone(), super::value::build(&lookup.value.data_type, &joined))
            }
            Source::Operation => {
                let field = Field::required("operation", DataType::UInt8);
                let operations = self.operations.clone().unwrap_or_else(|| vec![0; input.rows()]);
                assert_eq!(operations.len(), input.rows(), "operations and input rows differ");
                let len = operations.len();
                (field, ArrayData::leaf(len, 0, vec![Vec::new(), operations]))
            }
        }
    }

    fn join(&self, dictionary: &str, keys: &[Value], value: &str) -> Vec<Value> {
        let Some(dictionary) = self.dictionaries.iter().find(|d| d.name == dictionary) else {
            unreachable!("the plan checked that there is a dictionary {dictionary}");
        };
        let of_key: HashMap<String, Value> = dictionary
            .table
            .values(&dictionary.key)
            .iter()
            .zip(dictionary.table.values(value))
            .filter(|(key, _)| **key != Value::Null)
            .map(|(key, value)| (format!("{key:?}"), value))
            .collect();
        keys.iter().map(|key| of_key.get(&format!("{key:?}")).cloned().unwrap_or(Value::Null)).collect()
    }

    fn apply(&self, plan: &Finished, input: &Table, processed: raw::Processed) -> Result<Run, RunError> {
        let broken = |problem: String| Err(RunError::Contract(problem));
        let rows = input.rows() as u32;
        if processed.outputs.len() != plan.outputs.len() {
            return broken(format!("{} outputs, the plan has {}", processed.outputs.len(), plan.outputs.len()));
        }
        if let Some(reject) = processed.rejects.iter().find(|reject| reject.row >= rows) {
            return broken(format!("a reject of row {} of {rows}", reject.row));
        }
        let mut outputs = Vec::new();
        for (planned, output) in plan.outputs.iter().zip(processed.outputs) {
            let name = &planned.name;
            let selected = output.selection.unwrap_or_else(|| (0..rows).collect());
            if selected.len() != output.rows as usize || selected.iter().any(|row| *row >= rows) {
                return broken(format!("output {name}: its selection does not name {} input rows", output.rows));
            }
            let rejected = |row: &u32| processed.rejects.iter().any(|reject| reject.row == *row);
            if self.stage != Stage::Map && !processed.rejects.is_empty() && selected.iter().any(rejected) {
                return broken(format!("output {name}: it selects a rejected row"));
            }
            let mut table = Table::new();
            let (mut nodes, mut buffers) = (output.columns.nodes.as_slice(), output.columns.buffers.as_slice());
            for column in &planned.columns {
                match column {
                    OutputColumn::Forwarded { source, field } => {
                        let (_, data) = self.source(plan, source, input);
                        let taken = Table::new().data(field.clone(), data).take(&selected);
                        table = table.data(field.clone(), taken.into_column());
                    }
                    OutputColumn::Computed(field) => {
                        let layout = field.data_type.layout();
                        if nodes.len() < layout.nodes || buffers.len() < layout.buffers {
                            return broken(format!("output {name}: column `{}` is not whole", field.name));
                        }
                        let array = Array::new(field, nodes, buffers);
                        check::column(array).map_err(RunError::Contract)?;
                        if array.len() != selected.len() || (!field.nullable && array.null_count() > 0) {
                            return broken(format!("output {name}: column `{}` has wrong rows or nulls", field.name));
                        }
                        table = table.data(field.clone(), array.to_data());
                        nodes = &nodes[layout.nodes..];
                        buffers = &buffers[layout.buffers..];
                    }
                }
            }
            if !nodes.is_empty() || !buffers.is_empty() {
                return broken(format!("output {name}: it has more columns than the plan"));
            }
            let of_input = self.operations.clone().unwrap_or_else(|| vec![0; input.rows()]);
            let operations =
                output.operations.unwrap_or_else(|| selected.iter().map(|row| of_input[*row as usize]).collect());
            if operations.len() != selected.len() || operations.iter().any(|operation| *operation > 2) {
                return broken(format!("output {name}: its operations are wrong"));
            }
            outputs.push((name.clone(), table, Selected { rows: selected, operations }));
        }
        let reject = |reject: raw::Reject| {
            let mut of_row = Reject::new(reject.code, reject.message);
            of_row.field = reject.field.map(Into::into);
            (reject.row as usize, of_row)
        };
        let rejects = processed.rejects.into_iter().map(reject).collect();
        Ok(Run { outputs, rejects, messages: processed.messages })
    }
}

impl Run {
    /// All columns of an output, forwarded ones included. Panics if there is no such output.
    pub fn output(&self, name: &str) -> &Table {
        &self.find(name).1
    }
    /// For each row of an output, the input row that it comes from.
    pub fn selection(&self, name: &str) -> &[u32] {
        &self.find(name).2.rows
    }
    /// For each row of an output: 0 insert, 1 update, 2 delete.
    pub fn operations(&self, name: &str) -> &[u8] {
        &self.find(name).2.operations
    }
    /// Row, code and column of each reject, for comparison.
    pub fn reject_codes(&self) -> Vec<(usize, &str, Option<&str>)> {
        self.rejects.iter().map(|(row, reject)| (*row, &*reject.code, reject.field.as_deref())).collect()
    }

    fn find(&self, name: &str) -> &(String, Table, Selected) {
        match self.outputs.iter().find(|(output, ..)| output == name) {
            Some(output) => output,
            None => panic!("no output {name}"),
        }
    }
}
