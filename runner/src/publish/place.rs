//! Where in a task version a component runs.

use crate::host::Stage;
use gristmill_core::id::SchemaId;
use gristmill_core::pins::{MigratePin, Pin, Pins};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A place for a component in the pins of a version. Written `normalize`, `map`, or `migrate:` and the schema that the link
/// starts from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub enum Place {
    Normalize,
    /// The link from this schema.
    Migrate(SchemaId),
    Map,
}

impl Place {
    pub const fn stage(&self) -> Stage {
        match self {
            Self::Normalize => Stage::Normalize,
            Self::Migrate(_) => Stage::Migrate,
            Self::Map => Stage::Map,
        }
    }

    /// What is pinned here.
    pub fn pin<'a>(&self, pins: &'a Pins) -> Option<&'a Pin> {
        match self {
            Self::Normalize => pins.normalize.as_ref(),
            Self::Migrate(from) => pins.migrate.get(from).map(|link| &link.pin),
            Self::Map => pins.map.as_ref(),
        }
    }

    /// The same pins with another one here. A link that is not there stays so: nobody knows where it would lead.
    pub fn with(&self, pins: &Pins, pin: Pin) -> Pins {
        let mut pins = pins.clone();
        match self {
            Self::Normalize => pins.normalize = Some(pin),
            Self::Map => pins.map = Some(pin),
            Self::Migrate(from) => {
                if let Some(MigratePin { pin: at, .. }) = pins.migrate.get_mut(from) {
                    *at = pin;
                }
            }
        }
        pins
    }

    /// Every place that has a pin.
    pub fn all(pins: &Pins) -> Vec<(Self, &Pin)> {
        let normalize = pins.normalize.iter().map(|pin| (Self::Normalize, pin));
        let migrate = pins.migrate.iter().map(|(from, link)| (Self::Migrate(from.clone()), &link.pin));
        let map = pins.map.iter().map(|pin| (Self::Map, pin));
        normalize.chain(migrate).chain(map).collect()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Migrate(from) => write!(f, "migrate:{from}"),
            other => f.write_str(other.stage().as_str()),
        }
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

/// A choice among the places of a version: `migrate` alone means its only link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceChoice {
    Stage(Stage),
    Link(SchemaId),
}

impl PlaceChoice {
    pub fn admits(&self, place: &Place) -> bool {
        match (self, place) {
            (Self::Link(from), Place::Migrate(at)) => from == at,
            (Self::Link(_), _) => false,
            (Self::Stage(stage), place) => *stage == place.stage(),
        }
    }
}

impl FromStr for PlaceChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        const RULE: &str =
            "write `normalize`, `map`, `migrate`, or `migrate:` and the schema that the link starts from";
        let stage = [Stage::Normalize, Stage::Migrate, Stage::Map].into_iter().find(|stage| stage.as_str() == text);
        match (stage, text.strip_prefix("migrate:")) {
            (Some(stage), _) => Ok(Self::Stage(stage)),
            (None, Some(from)) => SchemaId::new(from).map(Self::Link).map_err(|e| e.to_string()),
            (None, None) => Err(RULE.to_owned()),
        }
    }
}

impl fmt::Display for PlaceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stage(stage) => stage.fmt(f),
            Self::Link(from) => write!(f, "migrate:{from}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::digest::Digest;

    #[test]
    fn places_are_written_and_chosen() {
        let pin = |label: &str| Pin { label: label.into(), component: Digest::of(b"x"), config: "{}".into() };
        let v1 = SchemaId::new("v1").unwrap();
        let link = MigratePin { to: SchemaId::new("v2").unwrap(), pin: pin("m@1") };
        let pins = Pins { map: Some(pin("a@1")), migrate: [(v1.clone(), link)].into(), ..Pins::default() };
        let all: Vec<_> = Place::all(&pins).iter().map(|(place, pin)| format!("{place} {}", pin.label)).collect();
        assert_eq!(all, ["migrate:v1 m@1", "map a@1"]);
        let changed = Place::Migrate(v1.clone()).with(&pins, pin("m@2"));
        assert_eq!(Place::Migrate(v1.clone()).pin(&changed).unwrap().label, "m@2");
        assert_eq!(Place::Map.pin(&changed).unwrap().label, "a@1");

        assert!("migrate".parse::<PlaceChoice>().unwrap().admits(&Place::Migrate(v1.clone())));
        assert!("migrate:v1".parse::<PlaceChoice>().unwrap().admits(&Place::Migrate(v1.clone())));
        assert!(!"migrate:v2".parse::<PlaceChoice>().unwrap().admits(&Place::Migrate(v1)));
        assert!(!"map".parse::<PlaceChoice>().unwrap().admits(&Place::Normalize));
        assert!("mapp".parse::<PlaceChoice>().is_err() && "migrate:?".parse::<PlaceChoice>().is_err());
    }
}
