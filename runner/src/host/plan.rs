//! A guest's plan, checked against what the runner has. What passes here can be carried out for any batch.

use super::Stage;
use super::bindings::{Plan, wit};
use super::limits::{FIELDS_MAX, LOOKUPS_MAX, OUTPUTS_MAX};
use super::lookup::{Dictionaries, Dictionary};
use super::types::{check_name, from_wit, unpacked};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use std::collections::HashSet;
use std::sync::Arc;

/// What a stage emits under one name.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedOutput {
    pub name: String,
    /// A forwarded column has the type and nullability of its source; a look-up is always nullable.
    pub schema: SchemaRef,
}

/// The name of the one output of normalize and migrate.
pub(super) const RECORDS: &str = "records";

#[derive(Debug)]
pub(super) struct CheckedPlan {
    pub(super) reads: Vec<Read>,
    pub(super) lookups: Vec<Lookup>,
    pub(super) outputs: Vec<PlannedOutput>,
    /// How each output's columns come about, in its order.
    pub(super) columns: Vec<Vec<Column>>,
    /// The computed fields of each output, as `process` returns them.
    pub(super) computed: Vec<Vec<FieldRef>>,
}

/// A column that the guest is given, and the type as which it crosses.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) source: Source,
    pub(super) crossing: DataType,
}

/// A column that the runner has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// By its place in the input.
    Input(usize),
    /// By its place in the plan's look-ups.
    Lookup(usize),
    Operation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Forwarded(Source),
    /// The next of the computed columns.
    Computed,
}

#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) dictionary: Arc<Dictionary>,
    /// Place of the key column in the input.
    pub(super) key: usize,
    /// Place of the value column in the dictionary.
    pub(super) value: usize,
}

/// Checks the plan. An error names the rule that it breaks.
pub(super) fn check(
    plan: &Plan,
    stage: Stage,
    input: &Schema,
    dictionaries: &Dictionaries,
) -> Result<CheckedPlan, String> {
    at_most(plan.lookups.len(), LOOKUPS_MAX, "look-ups")?;
    at_most(plan.reads.len(), FIELDS_MAX, "columns to read")?;
    at_most(plan.outputs.len(), OUTPUTS_MAX, "outputs")?;
    at_most(plan.outputs.iter().map(|output| output.columns.len()).sum(), FIELDS_MAX, "output columns")?;

    let lookups = plan.lookups.iter().map(|lookup| check_lookup(lookup, input, dictionaries));
    let lookups = lookups.collect::<Result<Vec<_>, _>>()?;
    let have = Have { input, lookups: &lookups };
    let reads = plan.reads.iter().map(|source| {
        let (source, field) = have.find(source)?;
        let crossing = unpacked(field.data_type()).map_err(|e| format!("a column of type {} cannot be read", e.0))?;
        Ok(Read { source, crossing })
    });
    let reads = reads.collect::<Result<Vec<_>, String>>()?;

    check_output_names(plan, stage)?;
    let (mut outputs, mut columns, mut computed) = (Vec::new(), Vec::new(), Vec::new());
    for output in &plan.outputs {
        let checked = check_output(output, &have).map_err(|rule| format!("output `{}`: {rule}", output.name))?;
        outputs.push(checked.0);
        columns.push(checked.1);
        computed.push(checked.2);
    }
    Ok(CheckedPlan { reads, lookups, outputs, columns, computed })
}

fn at_most(count: usize, max: usize, what: &str) -> Result<(), String> {
    if count > max { Err(format!("it has {count} {what}, more than {max}")) } else { Ok(()) }
}

fn check_lookup(lookup: &wit::Lookup, input: &Schema, dictionaries: &Dictionaries) -> Result<Lookup, String> {
    let name = &lookup.dictionary;
    let dictionary = dictionaries.get(name).ok_or_else(|| {
        let names: Vec<_> = dictionaries.iter().map(|dictionary| dictionary.name()).collect();
        format!("it looks up in `{name}`; the pipeline's dictionaries are: {}", names.join(", "))
    })?;
    let key = place(input, &lookup.key)?;
    let value = dictionary.rows().schema_ref().index_of(&lookup.value);
    let value = value.map_err(|_| format!("dictionary `{name}` has no column `{}`", lookup.value))?;
    let key_type = input.field(key).data_type();
    if !dictionary.matches(key_type) {
        let wanted = dictionary.rows().column_by_name(dictionary.key()).map(|column| column.data_type().to_string());
        return Err(format!(
            "column `{}` ({key_type}) cannot be looked up in `{name}`, whose keys are {}",
            lookup.key,
            wanted.unwrap_or_default()
        ));
    }
    Ok(Lookup { dictionary: dictionary.clone(), key, value })
}

fn place(input: &Schema, column: &str) -> Result<usize, String> {
    input.index_of(column).map_err(|_| format!("the input has no column `{column}`"))
}

/// What the runner can hand over or forward.
struct Have<'a> {
    input: &'a Schema,
    lookups: &'a [Lookup],
}

impl Have<'_> {
    fn find(&self, source: &wit::ColumnSource) -> Result<(Source, FieldRef), String> {
        Ok(match source {
            wit::ColumnSource::Input(name) => {
                let place = place(self.input, name)?;
                (Source::Input(place), self.input.fields()[place].clone())
            }
            wit::ColumnSource::Lookup(place) => {
                let place = *place as usize;
                let lookup = self.lookups.get(place).ok_or_else(|| format!("there is no look-up {place}"))?;
                let field = lookup.dictionary.rows().schema_ref().field(lookup.value).clone().with_nullable(true);
                (Source::Lookup(place), Arc::new(field))
            }
            wit::ColumnSource::Operation => {
                (Source::Operation, Arc::new(Field::new("operation", DataType::UInt8, false)))
            }
        })
    }
}

fn check_output_names(plan: &Plan, stage: Stage) -> Result<(), String> {
    let names: Vec<&str> = plan.outputs.iter().map(|output| output.name.as_str()).collect();
    if stage != Stage::Map && names != [RECORDS] {
        return Err(format!("stage {stage} has exactly one output, named `{RECORDS}`; the plan has {}", names.len()));
    }
    if names.is_empty() {
        return Err("it has no output".into());
    }
    let mut seen = HashSet::new();
    for name in names {
        check_name(name)?;
        // Sinks make table names, folders and object keys of it.
        if name.starts_with('.') || name.contains(['/', '\\']) {
            return Err(format!("an output's name is a path: `{name}`"));
        }
        if !seen.insert(name) {
            return Err(format!("two outputs are named `{name}`"));
        }
    }
    Ok(())
}

type CheckedOutput = (PlannedOutput, Vec<Column>, Vec<FieldRef>);

fn check_output(output: &wit::OutputPlan, have: &Have<'_>) -> Result<CheckedOutput, String> {
    let (mut fields, mut columns, mut computed) = (Vec::new(), Vec::new(), Vec::new());
    for column in &output.columns {
        match column {
            wit::OutputColumn::Forwarded(forwarded) => {
                check_name(&forwarded.name)?;
                let (source, field) = have.find(&forwarded.source)?;
                fields.push(Arc::new(field.as_ref().clone().with_name(&forwarded.name)));
                columns.push(Column::Forwarded(source));
            }
            wit::OutputColumn::Computed(tree) => {
                let field = from_wit(tree)?;
                fields.push(field.clone());
                columns.push(Column::Computed);
                computed.push(field);
            }
        }
    }
    if fields.is_empty() {
        return Err("it has no columns".into());
    }
    let mut seen = HashSet::new();
    if let Some(twice) = fields.iter().find(|field| !seen.insert(field.name().clone())) {
        return Err(format!("two columns are named `{}`", twice.name()));
    }
    let planned = PlannedOutput { name: output.name.clone(), schema: Arc::new(Schema::new(fields)) };
    Ok((planned, columns, computed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
    use wit::{ColumnSource, DataTypeResult, FieldResult, ForwardedColumn, OutputColumn, OutputPlan};

    fn input() -> Schema {
        Schema::new(vec![Field::new("carrier", DataType::Utf8, false), Field::new("delay", DataType::Int64, true)])
    }

    fn dictionaries() -> Dictionaries {
        let keys: ArrayRef = Arc::new(StringArray::from(vec!["UA"]));
        let values: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        let rows = RecordBatch::try_from_iter([("carrier", keys), ("rank", values)]).unwrap();
        let mut dictionaries = Dictionaries::new();
        dictionaries.insert(Dictionary::new("airlines", "carrier", rows).unwrap()).unwrap();
        dictionaries
    }

    fn lookup(key: &str, value: &str) -> wit::Lookup {
        wit::Lookup { dictionary: "airlines".into(), key: key.into(), value: value.into() }
    }

    fn forward(name: &str, source: ColumnSource) -> OutputColumn {
        OutputColumn::Forwarded(ForwardedColumn { name: name.into(), source })
    }

    fn leaf(name: &str, data_type: DataTypeResult) -> FieldResult {
        FieldResult { name: name.into(), data_type, nullable: true, children: 0 }
    }

    fn plan(columns: Vec<OutputColumn>) -> Plan {
        Plan {
            reads: vec![ColumnSource::Input("delay".into()), ColumnSource::Operation, ColumnSource::Lookup(0)],
            lookups: vec![lookup("carrier", "rank")],
            outputs: vec![OutputPlan { name: RECORDS.into(), columns }],
        }
    }

    fn checked(plan: &Plan, stage: Stage) -> Result<CheckedPlan, String> {
        check(plan, stage, &input(), &dictionaries())
    }

    #[test]
    fn a_forwarded_column_keeps_its_type_and_a_lookup_is_nullable() {
        let plan = plan(vec![
            forward("airline", ColumnSource::Input("carrier".into())),
            forward("rank", ColumnSource::Lookup(0)),
            forward("op", ColumnSource::Operation),
            OutputColumn::Computed(vec![leaf("late", DataTypeResult::Boolean)]),
        ]);
        let checked = checked(&plan, Stage::Normalize).unwrap();
        let expected = Schema::new(vec![
            Field::new("airline", DataType::Utf8, false),
            Field::new("rank", DataType::Int32, true),
            Field::new("op", DataType::UInt8, false),
            Field::new("late", DataType::Boolean, true),
        ]);
        assert_eq!(*checked.outputs[0].schema, expected);
        assert_eq!(checked.computed[0].len(), 1);
    }

    #[test]
    fn plans_that_cannot_be_carried_out_are_refused() {
        let good = || plan(vec![forward("a", ColumnSource::Input("carrier".into()))]);
        let changed = |change: &dyn Fn(&mut Plan)| {
            let mut plan = good();
            change(&mut plan);
            checked(&plan, Stage::Map).unwrap_err()
        };
        let column = |column: OutputColumn| changed(&|plan| plan.outputs[0].columns = vec![column.clone()]);
        let cases = [
            (changed(&|p| p.reads.push(ColumnSource::Input("nope".into()))), "the input has no column `nope`"),
            (changed(&|p| p.reads.push(ColumnSource::Lookup(1))), "there is no look-up 1"),
            (changed(&|p| p.lookups[0].dictionary = "x".into()), "the pipeline's dictionaries are: airlines"),
            (changed(&|p| p.lookups[0].key = "nope".into()), "the input has no column `nope`"),
            (changed(&|p| p.lookups[0].value = "nope".into()), "dictionary `airlines` has no column `nope`"),
            (changed(&|p| p.lookups[0].key = "delay".into()), "`delay` (Int64) cannot be looked up"),
            (changed(&|p| p.outputs.clear()), "no output"),
            (changed(&|p| p.outputs = vec![p.outputs[0].clone(); 2]), "two outputs are named `records`"),
            (changed(&|p| p.outputs[0].name.clear()), "a name has 0 bytes"),
            (changed(&|p| p.outputs[0].name = "../etc".into()), "is a path"),
            (changed(&|p| p.outputs[0].columns.clear()), "it has no columns"),
            (
                changed(&|p| p.outputs[0].columns = vec![p.outputs[0].columns[0].clone(); 2]),
                "two columns are named `a`",
            ),
            (changed(&|p| p.outputs = vec![p.outputs[0].clone(); 65]), "more than 64"),
            (changed(&|p| p.lookups = vec![p.lookups[0].clone(); 257]), "more than 256"),
            (column(forward("b\u{7}", ColumnSource::Operation)), "control character"),
            (column(OutputColumn::Computed(vec![])), "lacks fields"),
            (column(OutputColumn::Computed(vec![leaf("a", DataTypeResult::Int8); 2])), "ends 1 fields before"),
            (column(OutputColumn::Computed(vec![leaf("a", DataTypeResult::List)])), "has 0 children"),
            (
                column(OutputColumn::Computed(vec![FieldResult {
                    children: u32::MAX,
                    ..leaf("a", DataTypeResult::Struct)
                }])),
                "lacks fields",
            ),
        ];
        for (error, expected) in cases {
            assert!(error.contains(expected), "{error:?} should say {expected:?}");
        }
        let error = checked(&Plan { outputs: vec![], ..good() }, Stage::Migrate).unwrap_err();
        assert!(error.contains("exactly one output"), "{error}");
    }

    #[test]
    fn a_tree_deeper_than_the_limit_is_refused() {
        let mut tree = vec![FieldResult { children: 1, ..leaf("a", DataTypeResult::List) }; 1000];
        tree.push(leaf("a", DataTypeResult::Int8));
        let error = checked(&plan(vec![OutputColumn::Computed(tree)]), Stage::Map).unwrap_err();
        assert!(error.contains("levels"), "{error}");
    }
}
