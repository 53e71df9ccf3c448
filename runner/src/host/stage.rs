//! A planned stage: batches in, outputs, rejects and messages out.

use super::bindings::{Processed, wit};
use super::budget::{Budget, Cost};
use super::call;
use super::component::{Component, Host};
use super::encode::Encoded;
use super::fault::{Fault, Isolation, PlanError, StageFault};
use super::forward::Checked;
use super::isolate::{Isolated, isolate};
use super::limits::{
    CODE_MAX_BYTES, HostLimits, ISOLATION_DEADLINES, ITEMS_MAX, MESSAGES_MAX, NAME_MAX_BYTES, guest_message, guest_text,
};
use super::lookup::{Dictionaries, Dictionary};
use super::plan::{self, CheckedPlan, Column, PlannedOutput, Source};
use super::setup::Described;
use super::types::{Unsupported, unpacked_fields};
use super::wasi::Moment;
use super::{Stage, decode};
use arrow::array::{Array, ArrayRef, RecordBatch, UInt8Array, UInt32Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{Fields, SchemaRef};
use arrow::error::ArrowError;
use gristmill_core::record::Operation;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// What a stage made of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct StageOutput {
    /// One for each of [`PlannedStage::outputs`], in its order.
    pub outputs: Vec<StageRows>,
    /// Input rows that were not accepted, ascending, each once.
    pub rejects: Vec<Reject>,
    /// The guest's notes for the operator: the first few, cut to a bounded length.
    pub messages: Vec<String>,
}

/// Rows of one output.
#[derive(Debug, Clone, PartialEq)]
pub struct StageRows {
    pub rows: RecordBatch,
    /// [`Operation`] code of each row; no nulls.
    pub operations: UInt8Array,
    pub selection: Selection,
}

/// Which input row each output row comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// Row i from row i.
    All,
    /// For each output row its input row; no nulls, all in range.
    Rows(UInt32Array),
}

/// An input row that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    pub row: u32,
    pub kind: RejectKind,
    /// The transform's word for it or, for poison, the class of the fault ([`Fault::code`]).
    pub code: String,
    pub field: Option<String>,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectKind {
    /// The transform refused the row.
    ByTransform,
    /// The transform failed on the row alone.
    Poison,
}

/// A component that has planned: it can process batches of one schema.
pub struct PlannedStage {
    stage: Stage,
    component: Component,
    limits: HostLimits,
    config_json: String,
    input: SchemaRef,
    /// The input's columns as they cross.
    crossing: Fields,
    dictionaries: Vec<Arc<Dictionary>>,
    plan: CheckedPlan,
}

impl Host {
    /// Asks the component for its plan, twice, and checks that it can be carried out.
    ///
    /// `config_json` is one JSON object; `dictionaries` are those that the task pins for this stage.
    pub fn plan(
        &self,
        component: &Component,
        stage: Stage,
        config_json: &str,
        input: &SchemaRef,
        dictionaries: &Dictionaries,
    ) -> Result<PlannedStage, PlanError> {
        let digest = component.digest();
        let mut names = HashSet::new();
        if let Some(twice) = input.fields().iter().find(|field| !names.insert(field.name())) {
            return Err(PlanError::Input { stage, what: format!("has two columns named `{}`", twice.name()) });
        }
        let unsupported = |(column, Unsupported(data_type))| PlanError::UnsupportedType { stage, column, data_type };
        let crossing = unpacked_fields(input.fields()).map_err(unsupported)?;
        let pinned: Vec<_> = dictionaries.iter().cloned().collect();
        let ask = || {
            let setup = Described::new(stage, config_json, &crossing, &pinned).map_err(unsupported)?;
            setup.with(|setup| call::plan(component, self.limits(), setup)).map(|(plan, _)| plan).map_err(|fault| {
                match fault {
                    Fault::Refused { code, message } => PlanError::Refused { stage, component: digest, code, message },
                    fault => PlanError::Fault { stage, component: digest, fault },
                }
            })
        };
        let plan = ask()?;
        if ask()? != plan {
            return Err(PlanError::Impure { stage, component: digest });
        }
        let plan = plan::check(&plan, stage, input, dictionaries).map_err(|rule| PlanError::Invalid {
            stage,
            component: digest,
            rule: guest_message(&rule),
        })?;
        Ok(PlannedStage {
            stage,
            component: component.clone(),
            limits: *self.limits(),
            config_json: config_json.to_owned(),
            input: input.clone(),
            crossing,
            dictionaries: pinned,
            plan,
        })
    }
}

impl PlannedStage {
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Digest of the component.
    pub fn component(&self) -> gristmill_core::digest::Digest {
        self.component.digest()
    }

    /// The schema of the batches that it takes.
    pub fn input(&self) -> &SchemaRef {
        &self.input
    }

    /// The columns that the component is given, in its order: `name`, `dictionary[key].value` or `@operation`.
    pub fn reads(&self) -> Vec<String> {
        let name = |source: &Source| match source {
            Source::Input(place) => self.input.field(*place).name().clone(),
            Source::Operation => "@operation".to_owned(),
            Source::Lookup(place) => {
                let lookup = &self.plan.lookups[*place];
                let (key, value) = (self.input.field(lookup.key).name(), lookup.dictionary.schema());
                format!("{}[{key}].{}", lookup.dictionary.name(), value.field(lookup.value).name())
            }
        };
        self.plan.reads.iter().map(|read| name(&read.source)).collect()
    }

    /// What the stage emits, in the component's order.
    pub fn outputs(&self) -> &[PlannedOutput] {
        &self.plan.outputs
    }

    /// As [`Self::process_in`], for components that ask for no virtual WASI, or rows that are no batch.
    pub fn process(&self, rows: &RecordBatch, operations: &UInt8Array) -> Result<StageOutput, StageFault> {
        self.process_in(Moment::EPOCH, rows, operations)
    }

    /// Processes one batch, each call in a fresh instance. `operations` has the code of each row; `moment` is what a
    /// component with virtual WASI sees, so that a replay must give the one of the first run.
    ///
    /// Rows on which the component fails alone come back as rejects of kind [`RejectKind::Poison`].
    pub fn process_in(
        &self,
        moment: Moment,
        rows: &RecordBatch,
        operations: &UInt8Array,
    ) -> Result<StageOutput, StageFault> {
        let fault = |(fault, isolation): (Fault, Option<Isolation>)| StageFault {
            stage: self.stage,
            component: self.component.digest(),
            fault,
            isolation: isolation.map(Box::new),
        };
        let input = self.gather(rows, operations).map_err(|message| fault((Fault::Runner { message }, None)))?;
        let started = Instant::now();
        let time = self.limits.deadline * ISOLATION_DEADLINES;
        let mut budget = self.budget(&input);
        let whole = rows.num_rows();
        let call = |part: Range<u32>| {
            self.process_part(moment, &input.slice(&part)).inspect_err(|fault| {
                let (stage, component, rows) = (self.stage.as_str(), self.component.digest().short(), part.len());
                if rows == whole {
                    tracing::warn!(stage, component, rows, %fault, "a call of a transform failed");
                } else {
                    tracing::debug!(stage, component, rows, %fault, "a call for a part of the batch failed");
                }
            })
        };
        let keep = |(_, cost): &(StageOutput, Cost)| budget.charge(*cost);
        let isolated = isolate(rows.num_rows() as u32, call, keep, || started.elapsed() > time).map_err(fault)?;
        let Isolated { parts, poison } = isolated;
        let parts = parts.into_iter().map(|(part, (output, _))| (part, output)).collect();
        self.merge(Isolated { parts, poison }).map_err(|e| fault((Fault::Runner { message: e.to_string() }, None)))
    }

    /// All columns that the plan can name, joined once for the whole batch.
    pub(super) fn gather(&self, rows: &RecordBatch, operations: &UInt8Array) -> Result<Input, String> {
        let names = |schema: &SchemaRef| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        let planned = RecordBatch::try_new(self.input.clone(), rows.columns().to_vec());
        let (Ok(rows), true) = (planned, names(rows.schema_ref()) == names(&self.input)) else {
            return Err("the rows do not have the schema that the stage was planned for".into());
        };
        if rows.num_rows() > ITEMS_MAX {
            return Err(format!("a batch of {} rows is too large", rows.num_rows()));
        }
        if operations.len() != rows.num_rows() || operations.null_count() > 0 || !are_operations(operations.values()) {
            return Err("the rows do not have one operation each".into());
        }
        let lookups = self.join(&rows).map_err(|e| format!("a look-up failed: {e}"))?;
        Ok(Input { rows, lookups, operations: operations.clone() })
    }

    fn join(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>, ArrowError> {
        // Several values of one dictionary by one key are one search.
        let mut found: HashMap<(&str, usize), UInt32Array> = HashMap::new();
        let lookups = self.plan.lookups.iter().map(|lookup| {
            let rows_of_keys = match found.entry((lookup.dictionary.name(), lookup.key)) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(lookup.dictionary.find(rows.column(lookup.key))?)
                }
            };
            take(lookup.dictionary.rows().column(lookup.value), rows_of_keys, None)
        });
        lookups.collect()
    }

    fn process_part(&self, moment: Moment, input: &Input) -> Result<(StageOutput, Cost), Fault> {
        let encoded = self.encode(input)?;
        let mut budget = self.budget(input);
        let output = self.check(self.call(moment, input, &encoded)?.0, input, &mut budget)?;
        Ok((output, budget.spent()))
    }

    /// What may come back for these rows.
    pub(super) fn budget(&self, input: &Input) -> Budget {
        Budget::new(self.limits.output_max_bytes, input.rows.get_array_memory_size())
    }

    /// The columns that the guest reads, as they cross.
    pub(super) fn encode(&self, input: &Input) -> Result<Encoded, Fault> {
        let columns: Vec<ArrayRef> = self.plan.reads.iter().map(|read| input.column(read.source)).collect();
        Encoded::of(columns.iter().zip(self.plan.reads.iter().map(|read| &read.crossing)))
            .map_err(|e| Fault::Runner { message: format!("the batch cannot be encoded: {e}") })
    }

    pub(super) fn call(
        &self,
        moment: Moment,
        input: &Input,
        encoded: &Encoded,
    ) -> Result<(Processed, call::Taken), Fault> {
        let runner = |message: String| Fault::Runner { message };
        let buffers = encoded.slices();
        let batch = wit::Batch {
            rows: input.rows.num_rows() as u32,
            columns: wit::ColumnsParam { nodes: &encoded.nodes, buffers: &buffers },
        };
        let setup = Described::new(self.stage, &self.config_json, &self.crossing, &self.dictionaries)
            .map_err(|(column, _)| runner(format!("column `{column}` cannot be described")))?;
        setup.with(|setup| call::process(&self.component, &self.limits, moment, setup, batch))
    }

    /// Checks what the guest returned, and builds the output rows.
    pub(super) fn check(&self, processed: Processed, input: &Input, budget: &mut Budget) -> Result<StageOutput, Fault> {
        let input_rows = input.rows.num_rows();
        budget.charge(Cost::of_result(&processed, input_rows))?;
        let rejects = check_rejects(processed.rejects, input_rows).map_err(Fault::invalid)?;
        if processed.outputs.len() != self.plan.outputs.len() {
            let (got, planned) = (processed.outputs.len(), self.plan.outputs.len());
            return Err(Fault::invalid(format!("it has {got} outputs, the plan has {planned}")));
        }
        let mut outputs = Vec::with_capacity(processed.outputs.len());
        for (place, output) in processed.outputs.into_iter().enumerate() {
            let invalid = |rule| Fault::invalid(format!("output `{}`: {rule}", self.plan.outputs[place].name));
            let selection = Checked::new(output.selection, output.rows, input_rows).map_err(invalid)?;
            if self.stage != Stage::Map && selects_a_reject(&selection, &rejects, input_rows) {
                return Err(invalid("it has a row that is also rejected".into()));
            }
            let wit::ColumnsResult { nodes, buffers } = output.columns;
            let computed = decode::decode(&self.plan.computed[place], output.rows as usize, &nodes, buffers);
            let mut computed = computed.map_err(invalid)?.into_iter();
            let mut columns = Vec::with_capacity(self.plan.columns[place].len());
            for column in &self.plan.columns[place] {
                columns.push(match column {
                    Column::Forwarded(source) => budget.forward(&input.column(*source), &selection)?,
                    Column::Computed => {
                        computed.next().ok_or_else(|| invalid("a computed column is missing".into()))?
                    }
                });
            }
            let operations = match output.operations {
                Some(codes) if codes.len() != output.rows as usize => {
                    return Err(invalid(format!("it has {} operations for {} rows", codes.len(), output.rows)));
                }
                Some(codes) if !are_operations(&codes) => return Err(invalid("an operation code is unknown".into())),
                Some(codes) => UInt8Array::from(codes),
                None => match &selection {
                    Checked::All => input.operations.clone(),
                    Checked::Rows { rows, .. } => {
                        rows.values().iter().map(|row| input.operations.value(*row as usize)).collect::<Vec<_>>().into()
                    }
                },
            };
            let rows = RecordBatch::try_new(self.plan.outputs[place].schema.clone(), columns);
            outputs.push(StageRows {
                rows: rows.map_err(|e| invalid(e.to_string()))?,
                operations,
                selection: match selection {
                    Checked::All => Selection::All,
                    Checked::Rows { rows, .. } => Selection::Rows(rows),
                },
            });
        }
        let messages = processed.messages.iter().take(MESSAGES_MAX).map(|message| guest_message(message)).collect();
        Ok(StageOutput { outputs, rejects, messages })
    }

    /// What a transform that is not a component leaves to the runner: the forwarded columns of each output.
    pub(super) fn forward(&self, input: &Input, selections: Vec<Checked>) -> Result<Vec<Vec<ArrayRef>>, Fault> {
        let mut budget = self.budget(input);
        let outputs = self.plan.columns.iter().zip(selections).map(|(columns, selection)| {
            let forwarded = columns.iter().filter_map(|column| match column {
                Column::Forwarded(source) => Some(budget.forward(&input.column(*source), &selection)),
                Column::Computed => None,
            });
            forwarded.collect()
        });
        outputs.collect()
    }

    /// One call with the whole batch.
    #[cfg(test)]
    pub(super) fn process_once(&self, rows: &RecordBatch, operations: &UInt8Array) -> Result<StageOutput, Fault> {
        let input = self.gather(rows, operations).map_err(|message| Fault::Runner { message })?;
        self.process_part(Moment::EPOCH, &input).map(|(output, _)| output)
    }

    /// Puts the parts of a batch together again, in input order, and the rows at fault among the rejects.
    fn merge(&self, isolated: Isolated<StageOutput>) -> Result<StageOutput, ArrowError> {
        let Isolated { mut parts, poison } = isolated;
        if parts.len() == 1 && poison.is_empty() {
            return Ok(parts.remove(0).1);
        }
        let mut rejects: Vec<Reject> = poison.into_iter().map(|(row, fault)| poisoned(row, &fault)).collect();
        for (part, output) in &mut parts {
            let moved = output.rejects.drain(..).map(|reject| Reject { row: reject.row + part.start, ..reject });
            rejects.extend(moved);
        }
        rejects.sort_by_key(|reject| reject.row);
        let rows: u32 = parts.iter().map(|(part, _)| part.end - part.start).sum();
        let whole = rejects.iter().all(|reject| reject.kind == RejectKind::ByTransform);
        let outputs = self.plan.outputs.iter().enumerate().map(|(place, planned)| {
            let pieces = || parts.iter().map(|(part, output)| (part.clone(), &output.outputs[place]));
            let all = whole && pieces().all(|(_, piece)| piece.selection == Selection::All);
            let selection = if all {
                Selection::All
            } else {
                let mut selected = Vec::with_capacity(rows as usize);
                for (part, piece) in pieces() {
                    match &piece.selection {
                        Selection::All => selected.extend(part),
                        Selection::Rows(rows) => selected.extend(rows.values().iter().map(|row| row + part.start)),
                    }
                }
                Selection::Rows(selected.into())
            };
            Ok(StageRows {
                rows: concat_batches(&planned.schema, pieces().map(|(_, piece)| &piece.rows))?,
                operations: pieces()
                    .flat_map(|(_, piece)| piece.operations.values().iter().copied())
                    .collect::<Vec<_>>()
                    .into(),
                selection,
            })
        });
        let outputs = outputs.collect::<Result<_, ArrowError>>()?;
        let messages = parts.into_iter().flat_map(|(_, output)| output.messages).take(MESSAGES_MAX).collect();
        Ok(StageOutput { outputs, rejects, messages })
    }
}

impl fmt::Debug for PlannedStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedStage")
            .field("stage", &self.stage)
            .field("component", &self.component)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

/// A batch, or a part of one, with everything that the plan can name.
pub(super) struct Input {
    rows: RecordBatch,
    lookups: Vec<ArrayRef>,
    operations: UInt8Array,
}

impl Input {
    fn column(&self, source: Source) -> ArrayRef {
        match source {
            Source::Input(place) => self.rows.column(place).clone(),
            Source::Lookup(place) => self.lookups[place].clone(),
            Source::Operation => Arc::new(self.operations.clone()),
        }
    }

    fn slice(&self, part: &Range<u32>) -> Self {
        let (offset, len) = (part.start as usize, part.len());
        Self {
            rows: self.rows.slice(offset, len),
            lookups: self.lookups.iter().map(|lookup| lookup.slice(offset, len)).collect(),
            operations: self.operations.slice(offset, len),
        }
    }
}

fn are_operations(codes: &[u8]) -> bool {
    codes.iter().all(|code| *code <= Operation::Delete.code())
}

fn check_rejects(rejects: Vec<wit::Reject>, input_rows: usize) -> Result<Vec<Reject>, String> {
    let mut checked = Vec::with_capacity(rejects.len());
    for wit::Reject { row, code, field, message } in rejects {
        if row as usize >= input_rows {
            return Err(format!("a reject's row is beyond the input's {input_rows} rows"));
        }
        checked.push(Reject {
            row,
            kind: RejectKind::ByTransform,
            code: guest_text(&code, CODE_MAX_BYTES),
            field: field.map(|field| guest_text(&field, NAME_MAX_BYTES)),
            message: guest_message(&message),
        });
    }
    // A record is dead once: the first reason that the transform gives for a row stands for all.
    checked.sort_by_key(|reject| reject.row);
    checked.dedup_by_key(|reject| reject.row);
    Ok(checked)
}

fn selects_a_reject(selection: &Checked, rejects: &[Reject], input_rows: usize) -> bool {
    match selection {
        _ if rejects.is_empty() => false,
        Checked::All => true,
        Checked::Rows { rows, .. } => {
            let mut rejected = vec![false; input_rows];
            rejects.iter().for_each(|reject| rejected[reject.row as usize] = true);
            rows.values().iter().any(|row| rejected[*row as usize])
        }
    }
}

impl StageFault {
    /// The reject that the fault is where the batch was a single row: none if it cannot be the row's.
    pub fn as_reject(&self) -> Option<Reject> {
        self.may_be_a_row().then(|| poisoned(0, &self.fault))
    }
}

fn poisoned(row: u32, fault: &Fault) -> Reject {
    let message = guest_message(&fault.to_string());
    Reject { row, kind: RejectKind::Poison, code: fault.code().to_owned(), field: None, message }
}

#[cfg(test)]
mod tests {
    use super::super::bindings::Plan;
    use super::super::testing;
    use super::*;
    use arrow::array::{AsArray, Int32Array, StringArray};
    use arrow::datatypes::{DataType, Field, Int32Type, Schema};
    use wit::{ColumnSource, ColumnsResult, DataTypeResult, FieldResult, ForwardedColumn, Node, OutputColumn};

    fn flights(carriers: &[Option<&str>]) -> RecordBatch {
        let delays: Int32Array = (0..carriers.len() as i32).collect::<Vec<_>>().into();
        RecordBatch::try_from_iter_with_nullable([
            ("carrier", Arc::new(StringArray::from(carriers.to_vec())) as ArrayRef, true),
            ("delay", Arc::new(delays), false),
        ])
        .unwrap()
    }

    fn airlines() -> Dictionaries {
        let rows = RecordBatch::try_from_iter([
            ("code", Arc::new(StringArray::from(vec!["AA", "UA"])) as ArrayRef),
            ("name", Arc::new(StringArray::from(vec!["American", "United"]))),
            ("founded", Arc::new(Int32Array::from(vec![1926, 1931]))),
        ]);
        let mut dictionaries = Dictionaries::new();
        dictionaries.insert(Dictionary::new("airlines", "code", rows.unwrap()).unwrap()).unwrap();
        dictionaries
    }

    fn forward(name: &str, source: ColumnSource) -> OutputColumn {
        OutputColumn::Forwarded(ForwardedColumn { name: name.into(), source })
    }

    /// A stage with a plan of our own; no guest is asked.
    fn stage(columns: Vec<OutputColumn>) -> PlannedStage {
        let host = testing::host(HostLimits::default());
        let input = flights(&[]).schema();
        let lookup =
            |value: &str| wit::Lookup { dictionary: "airlines".into(), key: "carrier".into(), value: value.into() };
        let plan = Plan {
            reads: vec![],
            lookups: vec![lookup("name"), lookup("founded")],
            outputs: vec![wit::OutputPlan { name: "out".into(), columns }],
        };
        PlannedStage {
            stage: Stage::Map,
            component: host.load(&testing::component("identity@0.1.0")).unwrap(),
            limits: *host.limits(),
            config_json: "{}".into(),
            crossing: input.fields().clone(),
            plan: plan::check(&plan, Stage::Map, &input, &airlines()).unwrap(),
            input,
            dictionaries: airlines().iter().cloned().collect(),
        }
    }

    fn returned(rows: u32, selection: Option<Vec<u32>>, columns: ColumnsResult) -> Processed {
        let output = wit::Output { rows, selection, operations: None, columns };
        Processed { outputs: vec![output], rejects: vec![], messages: vec![] }
    }

    #[test]
    fn lookups_and_forwarded_columns_go_through_the_selection() {
        let late = FieldResult { name: "late".into(), data_type: DataTypeResult::Int8, nullable: false, children: 0 };
        let stage = stage(vec![
            forward("airline", ColumnSource::Lookup(0)),
            OutputColumn::Computed(vec![late]),
            forward("since", ColumnSource::Lookup(1)),
            forward("delay", ColumnSource::Input("delay".into())),
            forward("op", ColumnSource::Operation),
        ]);
        let expected = Schema::new(vec![
            Field::new("airline", DataType::Utf8, true),
            Field::new("late", DataType::Int8, false),
            Field::new("since", DataType::Int32, true),
            Field::new("delay", DataType::Int32, false),
            Field::new("op", DataType::UInt8, false),
        ]);
        assert_eq!(*stage.outputs()[0].schema, expected);

        let rows = flights(&[Some("UA"), None, Some("ZZ"), Some("AA")]);
        let input = stage.gather(&rows, &vec![0, 1, 2, 1].into()).unwrap();
        let columns =
            ColumnsResult { nodes: vec![Node { length: 3, null_count: 0 }], buffers: vec![vec![], vec![7, 8, 9]] };
        let output = stage.check(returned(3, Some(vec![3, 0, 2]), columns), &input, &mut stage.budget(&input)).unwrap();
        let out = &output.outputs[0];
        let airlines: Vec<_> = out.rows.column(0).as_string::<i32>().iter().collect();
        assert_eq!(airlines, [Some("American"), Some("United"), None]);
        assert_eq!(
            out.rows.column(2).as_primitive::<Int32Type>(),
            &Int32Array::from(vec![Some(1926), Some(1931), None])
        );
        assert_eq!(out.rows.column(3).as_primitive::<Int32Type>().values(), &[3, 0, 2]);
        assert_eq!(out.operations, UInt8Array::from(vec![1, 0, 2]));
        assert_eq!(out.rows.column(4).as_ref(), &out.operations as &dyn Array);
        assert_eq!(out.selection, Selection::Rows(vec![3, 0, 2].into()));
    }

    fn no_columns() -> ColumnsResult {
        ColumnsResult { nodes: vec![], buffers: vec![] }
    }

    #[test]
    fn parts_are_put_together_at_the_rows_of_the_whole() {
        let stage = stage(vec![forward("delay", ColumnSource::Input("delay".into()))]);
        let rows = flights(&[Some("UA"); 7]);
        let input = stage.gather(&rows, &vec![0, 1, 2, 0, 1, 2, 0].into()).unwrap();
        let part = |part: Range<u32>, selection: Option<Vec<u32>>, rejected: &[u32]| {
            let count = selection.as_ref().map_or(part.len(), Vec::len) as u32;
            let mut processed = returned(count, selection, no_columns());
            processed.rejects = rejected
                .iter()
                .map(|row| wit::Reject { row: *row, code: "bad".into(), field: None, message: String::new() })
                .collect();
            processed.messages = vec![format!("{part:?}")];
            let input = input.slice(&part);
            (part, stage.check(processed, &input, &mut stage.budget(&input)).unwrap())
        };
        let trap = Fault::Trap { message: "unreachable".into(), backtrace: vec![] };
        let isolated = Isolated {
            parts: vec![part(0..3, None, &[]), part(4..7, Some(vec![2, 0]), &[1])],
            poison: vec![(3, trap)],
        };
        let merged = stage.merge(isolated).unwrap();
        let out = &merged.outputs[0];
        assert_eq!(out.selection, Selection::Rows(vec![0, 1, 2, 6, 4].into()));
        assert_eq!(out.rows.column(0).as_primitive::<Int32Type>().values(), &[0, 1, 2, 6, 4]);
        assert_eq!(out.operations, UInt8Array::from(vec![0, 1, 2, 0, 1]));
        let rejects: Vec<_> =
            merged.rejects.iter().map(|reject| (reject.row, reject.kind, reject.code.as_str())).collect();
        assert_eq!(rejects, [(3, RejectKind::Poison, "trap"), (5, RejectKind::ByTransform, "bad")]);
        assert_eq!(merged.messages, ["0..3", "4..7"]);

        let whole = Isolated { parts: vec![part(0..3, None, &[]), part(3..7, None, &[])], poison: vec![] };
        let merged = stage.merge(whole).unwrap();
        assert_eq!(merged.outputs[0].selection, Selection::All, "pieces that leave nothing out are the whole");
        assert_eq!(merged.outputs[0].rows.num_rows(), 7);
    }

    #[test]
    fn batches_that_do_not_fit_the_plan_are_refused() {
        let stage = stage(vec![forward("delay", ColumnSource::Input("delay".into()))]);
        let rows = flights(&[Some("UA"), None]);
        let message =
            |rows: &RecordBatch, operations: Vec<u8>| stage.gather(rows, &operations.into()).map(|_| ()).unwrap_err();
        assert!(message(&rows, vec![0]).contains("one operation each"));
        assert!(message(&rows, vec![0, 3]).contains("one operation each"));
        assert!(message(&rows.project(&[0]).unwrap(), vec![0, 0]).contains("schema"));
        assert!(message(&rows.project(&[1, 0]).unwrap(), vec![0, 0]).contains("schema"));
        let renamed =
            rows.schema().as_ref().clone().fields.iter().map(|f| f.as_ref().clone().with_name("x")).collect::<Vec<_>>();
        let renamed = RecordBatch::try_new(Arc::new(Schema::new(renamed)), rows.columns().to_vec()).unwrap();
        assert!(message(&renamed, vec![0, 0]).contains("schema"));
    }
}
