//! Where in a schema something is.

use crate::schema::text::QuotedName;
use serde::{Serialize, Serializer};
use std::fmt;

/// A column, or a place inside its type: `legs[].fare` is the member `fare` of the items of the list `legs`, `tags{key}`
/// and `tags{value}` are the two sides of a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnPath {
    column: String,
    steps: Vec<Step>,
}

/// One level into a type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Of a struct.
    Member(String),
    /// The items of a list.
    Item,
    /// Of a map.
    Key,
    /// Of a map.
    Value,
}

impl ColumnPath {
    /// A column itself.
    pub fn of(column: impl Into<String>) -> Self {
        Self { column: column.into(), steps: Vec::new() }
    }

    /// One level deeper.
    #[must_use]
    pub fn then(&self, step: Step) -> Self {
        let mut path = self.clone();
        path.steps.push(step);
        path
    }

    /// The name of the column.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// From the column inwards.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether it is a column itself, not a place inside one.
    pub fn is_column(&self) -> bool {
        self.steps.is_empty()
    }
}

impl fmt::Display for ColumnPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", QuotedName(&self.column))?;
        for step in &self.steps {
            match step {
                Step::Member(name) => write!(f, ".{}", QuotedName(name))?,
                Step::Item => f.write_str("[]")?,
                Step::Key => f.write_str("{key}")?,
                Step::Value => f.write_str("{value}")?,
            }
        }
        Ok(())
    }
}

/// As it is shown.
impl Serialize for ColumnPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_without_doubt() {
        let member = |name: &str| Step::Member(name.to_owned());
        let path = ColumnPath::of("legs").then(Step::Item).then(member("a.b")).then(Step::Value);
        assert_eq!(path.to_string(), r#"legs[]."a.b"{value}"#);
        assert_eq!(serde_json::to_string(&path).unwrap(), r#""legs[].\"a.b\"{value}""#);
        assert_eq!(ColumnPath::of("a[]").to_string(), r#""a[]""#);
        assert!(ColumnPath::of("a").is_column() && !path.is_column());
        assert_eq!(path.column(), "legs");
    }
}
