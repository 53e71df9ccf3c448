//! What a transform knows before it sees rows.

use crate::failure::Failure;
use crate::raw;
use crate::types::{Field, Stage};
use serde::de::DeserializeOwned;

/// The stage, its configuration, the input's columns and the task's dictionaries.
#[derive(Debug, Clone)]
pub struct Setup {
    stage: Stage,
    config: String,
    input: Vec<Field>,
    dictionaries: Vec<Dictionary>,
}

/// A dictionary that the task pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dictionary {
    pub name: String,
    /// The column that look-ups match.
    pub key: String,
    pub fields: Vec<Field>,
}

impl Setup {
    pub(crate) fn from_raw(raw: raw::Setup) -> Result<Self, Failure> {
        let fields = |of: &str, trees: &[raw::Field]| {
            Field::from_trees(trees)
                .ok_or_else(|| Failure::new("bad-setup", format!("the fields of {of} are not whole")))
        };
        let mut dictionaries = Vec::with_capacity(raw.dictionaries.len());
        for dictionary in raw.dictionaries {
            let fields = fields(&format!("dictionary {}", dictionary.name), &dictionary.fields)?;
            dictionaries.push(Dictionary { name: dictionary.name, key: dictionary.key, fields });
        }
        Ok(Self { stage: raw.stage, config: raw.config, input: fields("the input", &raw.input)?, dictionaries })
    }

    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Refuses, with the failure `wrong-stage`, every stage that the transform does not serve.
    pub fn require_stage(&self, stages: &[Stage]) -> Result<(), Failure> {
        if stages.contains(&self.stage) {
            return Ok(());
        }
        let name = |stage: &Stage| match stage {
            Stage::Normalize => "normalize",
            Stage::Migrate => "migrate",
            Stage::Map => "map",
        };
        let served = stages.iter().map(name).collect::<Vec<_>>().join(", ");
        Err(Failure::new("wrong-stage", format!("this transform serves {served}, not {}", name(&self.stage))))
    }

    /// Reads the stage's configuration. Give the type `#[serde(deny_unknown_fields)]`, so that a mistyped key is
    /// found before the first row.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.config).map_err(|error| Failure::new("bad-config", error.to_string()))
    }

    /// The configuration as one JSON object.
    pub fn config_json(&self) -> &str {
        &self.config
    }

    pub fn input(&self) -> &[Field] {
        &self.input
    }

    /// The input column of this name.
    pub fn input_field(&self, name: &str) -> Option<&Field> {
        self.input.iter().find(|field| field.name == name)
    }

    pub fn dictionaries(&self) -> &[Dictionary] {
        &self.dictionaries
    }

    /// The dictionary of this name, or the failure `missing-dictionary`.
    pub fn dictionary(&self, name: &str) -> Result<&Dictionary, Failure> {
        self.dictionaries.iter().find(|dictionary| dictionary.name == name).ok_or_else(|| {
            let message = format!("the pipeline has no dictionary `{name}`: add it under transforms.dictionaries");
            Failure::new("missing-dictionary", message)
        })
    }
}
