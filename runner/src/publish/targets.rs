//! Where the outputs of a mapper go: tables and identities.

use crate::host::PlannedOutput;
use crate::record::OutputSchema;
use crate::sink::built_beside;
use arrow::datatypes::SchemaRef;
use gristmill_core::id::{Epoch, TaskId};
use serde_json::Value;
use std::collections::BTreeMap;

/// The tables and identities of a task version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    task: String,
    /// Of records, and of every output that has none of its own.
    identity: Vec<String>,
    /// For a mapper with one output.
    single: Option<String>,
    by_output: BTreeMap<String, Target>,
    /// Tables are built beside the ones in use.
    beside: Option<Epoch>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Target {
    table: Option<String>,
    identity: Option<Vec<String>>,
}

impl Targets {
    /// From the canonical definition of a task version, which says all that matters.
    pub fn of(task: &TaskId, definition: &Value) -> Self {
        let names = |value: &Value| -> Option<Vec<String>> {
            Some(value.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        let sink = definition["sink"].as_object().and_then(|sink| sink.values().next()).unwrap_or(&Value::Null);
        let target = |value: &Value| Target {
            table: value["table"].as_str().map(str::to_owned),
            identity: names(&value["identity"]),
        };
        let by_output = sink["tables"].as_object().into_iter().flatten();
        Self {
            task: task.to_string(),
            identity: names(&definition["identity"]).unwrap_or_default(),
            single: sink["table"].as_str().map(str::to_owned),
            by_output: by_output.map(|(output, value)| (output.clone(), target(value))).collect(),
            beside: None,
        }
    }

    /// Where a replay that writes nothing stands.
    pub fn none(task: &TaskId) -> Self {
        Self::of(task, &Value::Null)
    }

    /// The same, with every table built beside the one that it will replace.
    pub fn beside(&self, epoch: Epoch) -> Self {
        Self { beside: Some(epoch), ..self.clone() }
    }

    /// The table of an output.
    pub fn table(&self, output: &str) -> String {
        let named = self.by_output.get(output).and_then(|target| target.table.as_ref());
        named.or(self.single.as_ref()).cloned().unwrap_or_else(|| output.to_owned())
    }

    /// The outputs of a mapper with their tables and identities; without a mapper, one output of the task's name.
    pub fn outputs(&self, planned: Option<&[PlannedOutput]>, records: &SchemaRef) -> Vec<OutputSchema> {
        let output = |name: &str, schema: &SchemaRef| {
            let table = self.table(name);
            OutputSchema {
                name: name.to_owned(),
                table: match self.beside {
                    Some(epoch) => built_beside(&table, epoch),
                    None => table,
                },
                schema: schema.clone(),
                identity: self
                    .by_output
                    .get(name)
                    .and_then(|target| target.identity.clone())
                    .unwrap_or_else(|| self.identity.clone()),
            }
        };
        match planned {
            Some(planned) => planned.iter().map(|p| output(&p.name, &p.schema)).collect(),
            None => vec![output(&self.task, records)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn definitions_say_where_outputs_go() {
        let task = TaskId::new("t").unwrap();
        let tables = json!({ "late": { "table": "delays", "identity": ["a", "b"] }, "rest": {} });
        let targets = Targets::of(&task, &json!({ "identity": ["id"], "sink": { "sqlite": { "tables": tables } } }));
        let records: SchemaRef = arrow::datatypes::Schema::empty().into();
        let planned = |name: &str| PlannedOutput { name: name.into(), schema: records.clone() };
        let outputs = targets.outputs(Some(&[planned("late"), planned("rest"), planned("other")]), &records);
        let shown: Vec<_> = outputs.iter().map(|o| (o.table.as_str(), o.identity.join(","))).collect();
        assert_eq!(shown, [("delays", "a,b".into()), ("rest", "id".into()), ("other", "id".to_owned())]);

        let single = Targets::of(&task, &json!({ "identity": ["id"], "sink": { "parquet": { "table": "x" } } }));
        assert_eq!(single.outputs(None, &records)[0].table, "x");
        let beside = single.beside(Epoch::new(2)).outputs(None, &records);
        assert_eq!(beside[0].table, built_beside("x", Epoch::new(2)));
    }
}
