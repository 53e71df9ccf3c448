//! What a transform is told before it sees rows.

use super::Stage;
use super::bindings::{Setup, wit};
use super::lookup::Dictionary;
use super::types::{Unsupported, to_wit};
use arrow::datatypes::Fields;
use std::sync::Arc;

/// A setup that borrows everything but its lists.
pub(super) struct Described<'a> {
    stage: Stage,
    config: &'a str,
    input: Vec<wit::FieldParam<'a>>,
    dictionaries: Vec<(&'a Dictionary, Vec<wit::FieldParam<'a>>)>,
}

impl<'a> Described<'a> {
    /// `input` as it crosses. An error names the column and its type.
    pub(super) fn new(
        stage: Stage,
        config: &'a str,
        input: &'a Fields,
        dictionaries: &'a [Arc<Dictionary>],
    ) -> Result<Self, (String, Unsupported)> {
        let dictionaries = dictionaries.iter().map(|dictionary| Ok((&**dictionary, to_wit(dictionary.crossing())?)));
        Ok(Self { stage, config, input: to_wit(input)?, dictionaries: dictionaries.collect::<Result<_, _>>()? })
    }

    pub(super) fn with<R>(&self, use_it: impl FnOnce(Setup<'_>) -> R) -> R {
        let dictionaries: Vec<_> = self
            .dictionaries
            .iter()
            .map(|(dictionary, fields)| wit::Dictionary { name: dictionary.name(), key: dictionary.key(), fields })
            .collect();
        use_it(Setup {
            stage: match self.stage {
                Stage::Normalize => wit::Stage::Normalize,
                Stage::Migrate => wit::Stage::Migrate,
                Stage::Map => wit::Stage::Map,
            },
            config: self.config,
            input: &self.input,
            dictionaries: &dictionaries,
        })
    }
}
