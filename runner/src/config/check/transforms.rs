//! Checks of the transforms.

use super::Checker;
use crate::config::canonical::Json;
use crate::config::pipeline::{
    At, ComponentRef, DictionaryConfig, GuestLimits, MigrateConfig, StageConfig, Transforms,
};
use crate::config::raw::{RawDictionary, RawLimits, RawMigrate, RawStage, RawTransforms};
use crate::config::units;
use crate::config::values::{Entries, Located, Short};
use gristmill_core::id::SchemaId;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

const DEADLINE: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(600);
const MEMORY_BYTES: RangeInclusive<u64> = 1 << 20..=4 << 30;
const OUTPUT_BYTES: RangeInclusive<u64> = 1 << 10..=1 << 30;

impl Checker<'_> {
    /// The transforms (none: refused) and their part of the canonical JSON.
    pub(super) fn transforms(
        &mut self,
        raw: Option<&Located<RawTransforms>>,
        schema: Option<&SchemaId>,
    ) -> (Option<Transforms>, Json) {
        let empty = RawTransforms::default();
        if let Some(raw) = raw {
            self.site(At::Transforms, raw.span);
        }
        let raw = raw.map_or(&empty, |raw| &raw.value);
        let normalize = self.stage(At::Normalize, At::NormalizeConfig, raw.normalize.as_ref());
        let migrate = self.migrate(raw.migrate.as_ref(), schema);
        let map = self.stage(At::Map, At::MapConfig, raw.map.as_ref());
        let mut dictionaries = Some(BTreeMap::new());
        let mut canonical_dictionaries = BTreeMap::new();
        for (name, dictionary) in raw.dictionaries.iter().flat_map(|entries| &entries.0) {
            let config = self.dictionary(name, dictionary);
            canonical_dictionaries.insert(name.value.clone(), canonical_dictionary(&dictionary.value.0));
            match (&mut dictionaries, config) {
                (Some(dictionaries), Some(config)) => {
                    dictionaries.insert(name.value.clone(), config);
                }
                (dictionaries, _) => *dictionaries = None,
            }
        }
        let limits = self.limits(raw.limits.as_ref());
        let canonical = Json::map([
            ("normalize", canonical_stage(raw.normalize.as_ref())),
            ("migrate", canonical_migrate(raw.migrate.as_ref(), schema)),
            ("map", canonical_stage(raw.map.as_ref())),
            ("dictionaries", (!canonical_dictionaries.is_empty()).then_some(Json::Map(canonical_dictionaries))),
            ("limits", limits.as_ref().map(canonical_limits)),
        ]);
        let transforms = || {
            Some(Transforms {
                normalize: normalize?,
                migrate: migrate?,
                map: map?,
                dictionaries: dictionaries?,
                limits: limits?,
            })
        };
        (transforms(), canonical)
    }

    /// Links between schemas. None: refused.
    fn migrate(
        &mut self,
        raw: Option<&Entries<Located<Short<RawMigrate>>>>,
        schema: Option<&SchemaId>,
    ) -> Option<BTreeMap<SchemaId, MigrateConfig>> {
        let mut links = Some(BTreeMap::new());
        for (from, link) in raw.iter().flat_map(|entries| &entries.0) {
            let Short(raw) = &link.value;
            let at = At::Migrate(from.value.clone());
            let start = self.id(at.clone(), "schema", from, SchemaId::new);
            self.site(at, raw.component.span);
            let to = match &raw.to {
                Some(to) => SchemaId::new(to.value.clone())
                    .map_err(|e| {
                        let shown = self.shown(to);
                        self.refuse(to.span, format!("`{shown}` is not a valid schema id"), e.rule);
                    })
                    .ok(),
                None => schema.cloned(),
            };
            if start.is_some() && start == to {
                self.refuse(from.span, "a link of migrate leads to where it starts", "name the next schema with `to`");
            }
            let component = self.component(&raw.component);
            let config_json = raw.config.as_ref().map_or("{}".to_owned(), |c| Json::revealed(&c.value).to_string());
            match (&mut links, start, to, component) {
                (Some(links), Some(start), Some(to), Some(component)) => {
                    links.insert(start, MigrateConfig { to, stage: StageConfig { component, config_json } });
                }
                (links, ..) => *links = None,
            }
        }
        links
    }

    /// The outer none: refused.
    fn stage(&mut self, at: At, at_config: At, raw: Option<&Located<Short<RawStage>>>) -> Option<Option<StageConfig>> {
        let Some(Located { value: Short(raw), .. }) = raw else {
            return Some(None);
        };
        self.site(at, raw.component.span);
        if let Some(config) = &raw.config {
            self.site(at_config, config.span);
        }
        let component = self.component(&raw.component)?;
        let config_json = match &raw.config {
            Some(config) => Json::revealed(&config.value).to_string(),
            None => "{}".to_owned(),
        };
        Some(Some(StageConfig { component, config_json }))
    }

    fn component(&mut self, text: &Located<String>) -> Option<ComponentRef> {
        if text.value.ends_with(".wasm") {
            return self.file("component", text).map(ComponentRef::File);
        }
        let shown = self.shown(text);
        let Some((name, version)) = text.value.split_once('@') else {
            let hint = match text.from_variable {
                false if valid_name(&text.value) => {
                    format!("add its version: `{}@0.1.0`; or write a path ending in `.wasm`", text.value)
                }
                _ => "write `name@version`, such as `flights-map@0.1.0`, or a path ending in `.wasm`".to_owned(),
            };
            self.refuse(text.span, format!("`{shown}` names a component without its version"), hint);
            return None;
        };
        if !valid_name(name) {
            self.refuse(text.span, format!("`{shown}` is not a component"), NAME_RULE);
            return None;
        }
        if !valid_version(version) {
            self.refuse(text.span, format!("`{shown}` has no valid version"), VERSION_RULE);
            return None;
        }
        Some(ComponentRef::Label { name: name.to_owned(), version: version.to_owned() })
    }

    fn dictionary(&mut self, name: &Located<String>, raw: &Located<Short<RawDictionary>>) -> Option<DictionaryConfig> {
        let Short(dictionary) = &raw.value;
        self.site(At::Dictionary(name.value.clone()), dictionary.file.span);
        if !valid_name(&name.value) {
            let hint = "use 1 to 64 of a-z, 0-9, `-` and `_`, starting with a letter or digit";
            self.refuse(name.span, format!("`{}` is not a valid name of a dictionary", name.value), hint);
        }
        let file = self.file("dictionary", &dictionary.file);
        let key = dictionary.key.as_ref().map(|key| {
            if key.value.is_empty() {
                self.refuse(key.span, "a column name is empty", "write the name of the column to look up by");
            }
            key.value.clone()
        });
        let columns = match &dictionary.columns {
            Some(columns) => Some(self.columns(columns)?),
            None => None,
        };
        Some(DictionaryConfig { file: file?, key, columns })
    }

    fn limits(&mut self, raw: Option<&Located<RawLimits>>) -> Option<GuestLimits> {
        let default = GuestLimits::default();
        let Some(Located { value: raw, span, .. }) = raw else {
            return Some(default);
        };
        self.site(At::Limits, *span);
        let deadline = self.duration("deadline", raw.deadline.as_ref(), DEADLINE, default.deadline);
        let memory = self.size("memory", raw.memory.as_ref(), MEMORY_BYTES, default.memory_max_bytes);
        let output = self.size("output", raw.output.as_ref(), OUTPUT_BYTES, default.output_max_bytes);
        Some(GuestLimits { deadline: deadline?, memory_max_bytes: memory?, output_max_bytes: output? })
    }
}

/// Whether a name and a version make a label; the rule that one of them breaks.
pub(in crate::config) fn label_rule(name: &str, version: &str) -> Result<(), &'static str> {
    match (valid_name(name), valid_version(version)) {
        (true, true) => Ok(()),
        (false, _) => Err(NAME_RULE),
        (true, false) => Err(VERSION_RULE),
    }
}

const NAME_RULE: &str = "a component's name has 1 to 64 of a-z, 0-9, `-` and `_`, starting with a letter or digit";
const VERSION_RULE: &str = "a version has three numbers: `0.1.0`, or `0.1.0-rc.1` before a release";

/// The rule for names that become parts of paths and keys.
fn valid_name(name: &str) -> bool {
    let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(ok) && !name.starts_with(['-', '_'])
}

/// Semantic versioning 2.0 without build metadata, which would let two builds share one label.
fn valid_version(version: &str) -> bool {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit());
        digits && (text == "0" || !text.starts_with('0'))
    };
    let (release, pre) = match version.split_once('-') {
        Some((release, pre)) => (release, Some(pre)),
        None => (version, None),
    };
    let word = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        plain && (!text.bytes().all(|b| b.is_ascii_digit()) || number(text))
    };
    let numbers: Vec<&str> = release.split('.').collect();
    version.len() <= 64
        && numbers.len() == 3
        && numbers.into_iter().all(number)
        && pre.is_none_or(|pre| pre.split('.').all(word))
}

fn canonical_stage(raw: Option<&Located<Short<RawStage>>>) -> Option<Json> {
    let Short(raw) = &raw?.value;
    Some(Json::map([
        ("component", Some(Json::text(&raw.component.value))),
        ("config", Some(raw.config.as_ref().map_or(Json::Map(BTreeMap::new()), |config| Json::hidden(&config.value)))),
    ]))
}

fn canonical_migrate(raw: Option<&Entries<Located<Short<RawMigrate>>>>, schema: Option<&SchemaId>) -> Option<Json> {
    let link = |(from, link): &(Located<String>, Located<Short<RawMigrate>>)| {
        let Short(raw) = &link.value;
        let to = raw.to.as_ref().map(|to| to.value.as_str()).or(schema.map(SchemaId::as_str));
        let config = raw.config.as_ref().map_or(Json::Map(BTreeMap::new()), |config| Json::hidden(&config.value));
        let component = Json::text(&raw.component.value);
        let json = Json::map([("component", Some(component)), ("config", Some(config)), ("to", to.map(Json::text))]);
        (from.value.clone(), json)
    };
    let links: BTreeMap<_, _> = raw?.0.iter().map(link).collect();
    (!links.is_empty()).then_some(Json::Map(links))
}

fn canonical_dictionary(raw: &RawDictionary) -> Json {
    let columns = raw.columns.as_ref().map(|columns| {
        let typed = |(name, text): &(Located<String>, Located<String>)| (name.value.clone(), Json::text(&text.value));
        Json::Map(columns.value.0.iter().map(typed).collect())
    });
    Json::map([
        ("file", Some(Json::text(&raw.file.value))),
        ("key", raw.key.as_ref().map(|key| Json::text(&key.value))),
        ("columns", columns),
    ])
}

fn canonical_limits(limits: &GuestLimits) -> Json {
    Json::map([
        ("deadline", Some(Json::text(units::show_duration(limits.deadline)))),
        ("memory", Some(Json::Unsigned(limits.memory_max_bytes as u64))),
        ("output", Some(Json::Unsigned(limits.output_max_bytes as u64))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for good in ["0.1.0", "10.20.30", "1.0.0-rc.1", "1.0.0-a-b.0"] {
            assert!(valid_version(good), "{good}");
        }
        for bad in ["", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.x", "v1.0.0", "1.0.0-", "1.0.0-01", "1.0.0+b", "1.0.0-é"]
        {
            assert!(!valid_version(bad), "{bad}");
        }
    }
}
