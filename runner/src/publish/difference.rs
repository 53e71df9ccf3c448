//! What one task version changed against another, in words that hold no value of a configuration.

use crate::store::state::TaskVersionRow;
use gristmill_core::pins::{DictionaryPin, Pin, Pins};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// What a difference is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// Which code runs at a stage.
    Component,
    /// What a component is told. The values may be secrets, and are never shown.
    Config,
    Dictionary,
    /// The id under which records are stored, and the links between such ids.
    Schema,
    /// Where rows go, and what names a record there.
    Target,
    Limits,
    Source,
    /// Anything else that the target's rows depend on.
    Settings,
    /// The pipeline's text alone: comments, layout, or settings that rows do not depend on.
    Text,
}

/// One difference between two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub subject: Subject,
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Everything in which `after` differs from `before`; empty for the same version published again.
pub fn differences(before: &TaskVersionRow, after: &TaskVersionRow) -> Vec<Difference> {
    let mut found = Differences(Vec::new());
    if before.schema_id != after.schema_id {
        found.add(Subject::Schema, format!("schema: {} → {}", before.schema_id, after.schema_id));
    }
    found.pins(&before.pins, &after.pins);
    found.definitions(&before.definition, &after.definition);
    if found.0.is_empty() && before.pipeline != after.pipeline {
        found.add(Subject::Text, "only the text of the pipeline file differs".into());
    }
    found.0
}

struct Differences(Vec<Difference>);

impl Differences {
    fn add(&mut self, subject: Subject, what: String) {
        self.0.push(Difference { subject, what });
    }

    fn pins(&mut self, before: &Pins, after: &Pins) {
        self.stage("normalize", before.normalize.as_ref(), after.normalize.as_ref());
        let links: BTreeSet<_> = before.migrate.keys().chain(after.migrate.keys()).collect();
        for from in links {
            let (old, new) = (before.migrate.get(from), after.migrate.get(from));
            if let (Some(old), Some(new)) = (old, new)
                && old.to != new.to
            {
                self.add(Subject::Schema, format!("migrate from {from}: leads to {} → {}", old.to, new.to));
            }
            self.stage(&format!("migrate from {from}"), old.map(|link| &link.pin), new.map(|link| &link.pin));
        }
        self.stage("map", before.map.as_ref(), after.map.as_ref());
        let names: BTreeSet<_> = before.dictionaries.keys().chain(after.dictionaries.keys()).collect();
        for name in names {
            self.dictionary(name, before.dictionaries.get(name), after.dictionaries.get(name));
        }
        if before.limits != after.limits {
            self.add(Subject::Limits, "limits: what one call of a component may use differs".into());
        }
    }

    fn stage(&mut self, stage: &str, before: Option<&Pin>, after: Option<&Pin>) {
        let shown = |pin: Option<&Pin>| pin.map_or_else(|| "none".to_owned(), shown_pin);
        let component = |pin: Option<&Pin>| pin.map(|pin| pin.component);
        if component(before) != component(after) {
            self.add(Subject::Component, format!("{stage}: {} → {}", shown(before), shown(after)));
        }
        if let (Some(before), Some(after)) = (before, after) {
            if before.component == after.component && before.label != after.label {
                let what = format!("{stage}: the same component, labelled {} → {}", before.label, after.label);
                self.add(Subject::Component, what);
            }
            if before.config != after.config {
                self.add(Subject::Config, format!("{stage}: its configuration differs (values are not shown)"));
            }
        }
    }

    fn dictionary(&mut self, name: &str, before: Option<&DictionaryPin>, after: Option<&DictionaryPin>) {
        let subject = Subject::Dictionary;
        match (before, after) {
            (None, Some(new)) => self.add(subject, format!("dictionary {name}: none → {}", new.content.short())),
            (Some(old), None) => self.add(subject, format!("dictionary {name}: {} → none", old.content.short())),
            (Some(old), Some(new)) => {
                if old.content != new.content {
                    let what = format!("dictionary {name}: {} → {}", old.content.short(), new.content.short());
                    self.add(subject, what);
                }
                if old.key != new.key {
                    self.add(subject, format!("dictionary {name}: key {} → {}", old.key, new.key));
                }
                if old.columns != new.columns {
                    self.add(subject, format!("dictionary {name}: the types of its columns differ"));
                }
            }
            (None, None) => {}
        }
    }

    /// What of the definitions the pins do not say.
    fn definitions(&mut self, before: &Value, after: &Value) {
        for key in keys(before, after) {
            let (old, new) = (&before[key], &after[key]);
            match key {
                // Pins and schema id say these by content.
                "schema" | "transforms" | "task" | "version" => {}
                _ if old == new => {}
                "identity" => self.add(Subject::Target, format!("identity: {} → {}", shown(old), shown(new))),
                "sink" => self.sink(old, new),
                "source" => {
                    let what = format!("source: {}", named(&inner_differences(old, new)));
                    self.add(Subject::Source, what);
                }
                other => match inner_keys(old, new) {
                    inner if inner.is_empty() => {
                        self.add(Subject::Settings, format!("{other}: {} → {}", shown(old), shown(new)));
                    }
                    inner => {
                        for key in inner {
                            let what = format!("{other}.{key}: {} → {}", shown(&old[key]), shown(&new[key]));
                            self.add(Subject::Settings, what);
                        }
                    }
                },
            }
        }
    }

    fn sink(&mut self, before: &Value, after: &Value) {
        let of =
            |sink: &Value| sink.as_object().and_then(|kinds| kinds.iter().next().map(|(k, v)| (k.clone(), v.clone())));
        let (Some((old_kind, old)), Some((new_kind, new))) = (of(before), of(after)) else { return };
        if old_kind != new_kind {
            return self.add(Subject::Target, format!("sink: {old_kind} → {new_kind}"));
        }
        for key in keys(&old, &new) {
            let (old, new) = (&old[key], &new[key]);
            match key {
                _ if old == new => {}
                "tables" => {
                    for output in keys(old, new) {
                        let (old, new) = (&old[output], &new[output]);
                        let table = |value: &Value| value["table"].as_str().unwrap_or(output).to_owned();
                        if table(old) != table(new) {
                            let what = format!("output {output}: table {} → {}", table(old), table(new));
                            self.add(Subject::Target, what);
                        }
                        if old["identity"] != new["identity"] {
                            let (old, new) = (shown(&old["identity"]), shown(&new["identity"]));
                            self.add(Subject::Target, format!("output {output}: identity {old} → {new}"));
                        }
                    }
                }
                key => self.add(Subject::Target, format!("sink: its {key} differs")),
            }
        }
    }
}

/// A pin for people.
pub fn shown_pin(pin: &Pin) -> String {
    format!("{} ({})", pin.label, pin.component.short())
}

fn keys<'a>(before: &'a Value, after: &'a Value) -> BTreeSet<&'a str> {
    let of = |value: &'a Value| value.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    of(before).chain(of(after)).collect()
}

/// The keys of two mappings whose values differ; none where one is no mapping.
fn inner_keys<'a>(before: &'a Value, after: &'a Value) -> Vec<&'a str> {
    keys(before, after).into_iter().filter(|key| before[*key] != after[*key]).collect()
}

/// Names of settings that differ, at most one level down: `files.pattern`.
fn inner_differences(before: &Value, after: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for key in keys(before, after) {
        let (old, new) = (&before[key], &after[key]);
        if old == new {
            continue;
        }
        let inner = inner_keys(old, new);
        match inner.is_empty() {
            true => names.push(key.to_owned()),
            false => names.extend(inner.into_iter().map(|inner| format!("{key}.{inner}"))),
        }
    }
    names
}

fn named(names: &[String]) -> String {
    format!("{} differ{}", names.join(", "), if names.len() == 1 { "s" } else { "" })
}

/// A setting's value; settings outside the transforms' configurations are no secrets.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::digest::Digest;
    use gristmill_core::id::{Micros, SchemaId, TaskId, TaskVersion};
    use serde_json::json;

    fn version(pins: Pins, definition: Value) -> TaskVersionRow {
        TaskVersionRow {
            task_id: TaskId::new("t").unwrap(),
            version: TaskVersion::new(1),
            schema_id: SchemaId::new("s").unwrap(),
            definition,
            pins,
            pipeline: Some("text".into()),
            base_dir: None,
            adopted: None,
            origin: "published".into(),
            published_at: Micros(0),
        }
    }

    fn pin(label: &str, config: &str) -> Pin {
        Pin { label: label.into(), component: Digest::of(label.as_bytes()), config: config.into() }
    }

    #[test]
    fn each_difference_is_named_and_no_value_of_a_configuration_is_shown() {
        let map = |label: &str, config: &str| Pins { map: Some(pin(label, config)), ..Pins::default() };
        let before = version(
            map("m@1", r#"{"key":"hunter2"}"#),
            json!({ "identity": ["a"], "batch": { "max_rows": 1, "max_age": "2s" } }),
        );
        let after = version(
            map("m@2", r#"{"key":"swordfish"}"#),
            json!({ "identity": ["a", "b"], "batch": { "max_rows": 2, "max_age": "2s" } }),
        );
        let found = differences(&before, &after);
        let subjects: Vec<_> = found.iter().map(|d| d.subject).collect();
        assert_eq!(subjects, [Subject::Component, Subject::Config, Subject::Settings, Subject::Target]);
        assert!(found[0].what.starts_with("map: m@1 (") && found[0].what.contains("→ m@2 ("), "{}", found[0]);
        assert_eq!(found[2].what, "batch.max_rows: 1 → 2");
        assert_eq!(found[3].what, "identity: a → a, b");
        let all = found.iter().map(ToString::to_string).collect::<String>();
        assert!(!all.contains("hunter2") && !all.contains("swordfish"), "{all}");
    }

    #[test]
    fn tables_sources_and_settings_are_told_by_their_names() {
        let definition = |table: &str, pattern: &str, raw: bool| {
            json!({
                "sink": { "sqlite": { "url": "sqlite://x", "tables": { "late": { "table": table } } } },
                "source": { "files": { "pattern": pattern, "url": "data/" } },
                "keep_raw": raw,
            })
        };
        let before = version(Pins::default(), definition("a", "*.csv", false));
        let after = version(Pins::default(), definition("b", "*.gz", true));
        let found: Vec<_> = differences(&before, &after).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["keep_raw: false → true", "output late: table a → b", "source: files.pattern differs",]);
    }

    #[test]
    fn the_same_content_has_no_difference_but_its_text_may() {
        let before = version(Pins::default(), json!({}));
        assert_eq!(differences(&before, &before), []);
        let after = TaskVersionRow { pipeline: Some("# comment\ntext".into()), ..before.clone() };
        assert_eq!(differences(&before, &after)[0].subject, Subject::Text);
    }
}
