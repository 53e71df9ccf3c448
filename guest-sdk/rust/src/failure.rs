//! Why a call or a row cannot be done.

use crate::raw;
use std::borrow::Cow;
use std::fmt;

/// The whole call cannot be done: a wrong configuration, a missing column. Never for a bad row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// A short, stable word for machines, such as `bad-config`.
    pub code: Cow<'static, str>,
    /// For people; says what to change. Never a row's values.
    pub message: String,
}

impl Failure {
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }

    pub(crate) fn into_raw(self) -> raw::Failure {
        raw::Failure { code: self.code.into_owned(), message: self.message }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Failure {}

/// Why one row is not accepted. The runner keeps it as a dead letter, so it never says a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// A short, stable word for machines, such as `bad-time`.
    pub code: Cow<'static, str>,
    /// The column at fault.
    pub field: Option<Cow<'static, str>>,
    pub message: Cow<'static, str>,
}

impl Reject {
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: code.into(), field: None, message: message.into() }
    }

    /// Names the column at fault.
    pub fn field(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.field = Some(field.into());
        self
    }

    pub(crate) fn into_raw(self, row: u32) -> raw::Reject {
        raw::Reject {
            row,
            code: self.code.into_owned(),
            field: self.field.map(Cow::into_owned),
            message: self.message.into_owned(),
        }
    }
}
