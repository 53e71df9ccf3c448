//! Numbers and times of day as the files write them.

use gristmill_guest::{
    Batch, DataType, Failure, In, Int16, Int32, Int64, Plan, PrimitiveColumn, Setup, Utf8, Utf8Column,
};

/// Why a row was not understood, and the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    Missing(&'static str),
    Number(&'static str),
    Time(&'static str),
}

/// A column of whole numbers: text where the file writes `NA`, integers where the source has typed them.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    Text(In<Utf8>),
    Int16(In<Int16>),
    Int32(In<Int32>),
    Int64(In<Int64>),
}

impl Number {
    pub fn read(setup: &Setup, plan: &mut Plan<'_>, column: &str) -> Result<Self, Failure> {
        Ok(match setup.input_field(column).map(|field| &field.data_type) {
            Some(DataType::Int16) => Self::Int16(plan.read(column)?),
            Some(DataType::Int32) => Self::Int32(plan.read(column)?),
            Some(DataType::Int64) => Self::Int64(plan.read(column)?),
            _ => Self::Text(plan.read(column)?),
        })
    }

    pub fn view<'a>(&self, batch: &'a Batch) -> NumberColumn<'a> {
        match *self {
            Self::Text(column) => NumberColumn::Text(batch.column(column)),
            Self::Int16(column) => NumberColumn::Int16(batch.column(column)),
            Self::Int32(column) => NumberColumn::Int32(batch.column(column)),
            Self::Int64(column) => NumberColumn::Int64(batch.column(column)),
        }
    }
}

#[derive(Debug)]
pub enum NumberColumn<'a> {
    Text(Utf8Column<'a>),
    Int16(PrimitiveColumn<'a, i16>),
    Int32(PrimitiveColumn<'a, i32>),
    Int64(PrimitiveColumn<'a, i64>),
}

impl NumberColumn<'_> {
    /// None where there is no value.
    #[inline]
    pub fn optional(&self, row: usize, name: &'static str) -> Result<Option<i32>, Unread> {
        match self {
            Self::Text(column) => match column.parse_integer(row) {
                Some(value) if !column.is_null(row) => i32::try_from(value).map(Some).map_err(|_| Unread::Number(name)),
                _ if present(column, row) => Err(Unread::Number(name)),
                _ => Ok(None),
            },
            Self::Int16(column) => Ok(column.get(row).map(i32::from)),
            Self::Int32(column) => Ok(column.get(row)),
            Self::Int64(column) => match column.get(row) {
                Some(value) => i32::try_from(value).map(Some).map_err(|_| Unread::Number(name)),
                None => Ok(None),
            },
        }
    }

    #[inline]
    pub fn required(&self, row: usize, name: &'static str) -> Result<i32, Unread> {
        self.optional(row, name)?.ok_or(Unread::Missing(name))
    }

    /// A duration that fits 16 bits.
    #[inline]
    pub fn minutes(&self, row: usize, name: &'static str) -> Result<Option<i16>, Unread> {
        match self.optional(row, name)? {
            Some(value) => i16::try_from(value).map(Some).map_err(|_| Unread::Number(name)),
            None => Ok(None),
        }
    }

    #[inline]
    pub fn clock(&self, row: usize, name: &'static str) -> Result<Option<Clock>, Unread> {
        match self.optional(row, name) {
            Ok(Some(value)) => Clock::new(value).map(Some).ok_or(Unread::Time(name)),
            Ok(None) => Ok(None),
            Err(_) => Err(Unread::Time(name)),
        }
    }
}

/// A local time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    minute_of_day: i16,
}

impl Clock {
    /// From `517` for 5:17. `2400` is midnight, as `0` is.
    #[inline]
    pub fn new(hhmm: i32) -> Option<Self> {
        let (hour, minute) = (hhmm / 100, hhmm % 100);
        let fits = (0..=2400).contains(&hhmm) && minute < 60;
        fits.then_some(Self { minute_of_day: ((hour % 24) * 60 + minute) as i16 })
    }
    pub fn minute_of_day(self) -> i64 {
        self.minute_of_day.into()
    }
    pub fn minute_of_hour(self) -> i64 {
        i64::from(self.minute_of_day % 60)
    }
    pub fn hour(self) -> i8 {
        (self.minute_of_day / 60) as i8
    }
}

/// Whether a text holds a value: it is not null, empty or `NA`.
#[inline]
pub fn present(column: &Utf8Column<'_>, row: usize) -> bool {
    !column.is_null(row) && !matches!(column.bytes(row), b"" | b"NA")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks() {
        let minute = |hhmm| Clock::new(hhmm).map(Clock::minute_of_day);
        assert_eq!(minute(517), Some(5 * 60 + 17));
        assert_eq!((minute(0), minute(2400)), (Some(0), Some(0)));
        assert_eq!(minute(2359), Some(1439));
        for bad in [-1, 60, 1299, 2401, 2460, 9999] {
            assert_eq!(minute(bad), None, "{bad}");
        }
    }
}
