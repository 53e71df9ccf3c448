//! Columns that are built value by value, and can take the last ones back: a row that is refused at its tenth field
//! must leave nothing in the first nine columns.

use super::parse;
use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, BooleanBufferBuilder, FixedSizeBinaryArray, GenericByteArray,
    NullArray, NullBufferBuilder, OffsetSizeTrait, PrimitiveArray,
};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    ByteArrayType, DataType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type,
    GenericBinaryType, GenericStringType, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type, i256,
};
use arrow::error::ArrowError;
use std::marker::PhantomData;
use std::sync::Arc;

/// Why a text is not a value of the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::source::files) enum Fault {
    InvalidUtf8,
    Unparsable,
}

pub(in crate::source::files) trait Column: Send {
    /// `ascii` spares the check when the caller knows that the text is plain ASCII.
    fn push(&mut self, text: &[u8], ascii: bool) -> Result<(), Fault>;
    fn push_null(&mut self);
    /// Takes back all but the first `rows` values.
    fn truncate(&mut self, rows: usize);
    /// The values so far; the column starts anew.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;
}

pub(in crate::source::files) const fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8)
}

/// A column of a type that has a text form.
pub(in crate::source::files) fn column_of(data_type: &DataType) -> Option<Box<dyn Column>> {
    fn numbers<T: ArrowPrimitiveType>(
        data_type: &DataType,
        parse: impl Fn(&[u8]) -> Option<T::Native> + Send + 'static,
    ) -> Option<Box<dyn Column>> {
        Some(Box::new(Numbers::<T, _> {
            data_type: data_type.clone(),
            parse,
            values: Vec::new(),
            nulls: NullBufferBuilder::new(0),
        }))
    }
    macro_rules! signed {
        ($type:ty) => {
            numbers::<$type>(data_type, |text| parse::signed(text)?.try_into().ok())
        };
    }
    macro_rules! unsigned {
        ($type:ty) => {
            numbers::<$type>(data_type, |text| parse::unsigned(text)?.try_into().ok())
        };
    }
    macro_rules! timestamp {
        ($type:ty, $unit:expr, $zone:expr) => {{
            let zone = Zone::of($zone.as_deref());
            numbers::<$type>(data_type, move |text| {
                let instant = parse::instant(text)?;
                parse::timestamp(instant, zone.offset(instant.offset_seconds)?, $unit)
            })
        }};
    }
    macro_rules! time {
        ($type:ty, $unit:expr) => {
            numbers::<$type>(data_type, |text| parse::nanos_in(parse::time_nanos(text)?, $unit)?.try_into().ok())
        };
    }
    match data_type {
        DataType::Null => Some(Box::new(Nulls(0))),
        DataType::Boolean => {
            Some(Box::new(Booleans { values: BooleanBufferBuilder::new(0), nulls: NullBufferBuilder::new(0) }))
        }
        DataType::Int8 => signed!(Int8Type),
        DataType::Int16 => signed!(Int16Type),
        DataType::Int32 => signed!(Int32Type),
        DataType::Int64 => numbers::<Int64Type>(data_type, parse::signed),
        DataType::UInt8 => unsigned!(UInt8Type),
        DataType::UInt16 => unsigned!(UInt16Type),
        DataType::UInt32 => unsigned!(UInt32Type),
        DataType::UInt64 => numbers::<UInt64Type>(data_type, parse::unsigned),
        DataType::Float16 => numbers::<Float16Type>(data_type, |text| {
            type Half = <Float16Type as ArrowPrimitiveType>::Native;
            let value = Half::from_f32(parse::float32(text)?);
            parse::finite_or_named(value.is_finite(), text).then_some(value)
        }),
        DataType::Float32 => numbers::<Float32Type>(data_type, parse::float32),
        DataType::Float64 => numbers::<Float64Type>(data_type, parse::float),
        DataType::Decimal128(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            numbers::<Decimal128Type>(data_type, move |text| parse::decimal128(text, precision, scale))
        }
        DataType::Decimal256(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            numbers::<Decimal256Type>(data_type, move |text| {
                let unscaled = parse::UnscaledDigits::parse(text, precision, scale)?;
                let value = i256::from_string(std::str::from_utf8(unscaled.as_bytes()).ok()?)?;
                if unscaled.minus { value.checked_neg() } else { Some(value) }
            })
        }
        DataType::Date32 => numbers::<Date32Type>(data_type, parse::date_days),
        DataType::Date64 => {
            numbers::<Date64Type>(data_type, |text| Some(i64::from(parse::date_days(text)?) * 86_400_000))
        }
        DataType::Time32(TimeUnit::Second) => time!(Time32SecondType, TimeUnit::Second),
        DataType::Time32(TimeUnit::Millisecond) => time!(Time32MillisecondType, TimeUnit::Millisecond),
        DataType::Time64(TimeUnit::Microsecond) => time!(Time64MicrosecondType, TimeUnit::Microsecond),
        DataType::Time64(TimeUnit::Nanosecond) => time!(Time64NanosecondType, TimeUnit::Nanosecond),
        DataType::Timestamp(TimeUnit::Second, zone) => timestamp!(TimestampSecondType, TimeUnit::Second, zone),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            timestamp!(TimestampMillisecondType, TimeUnit::Millisecond, zone)
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            timestamp!(TimestampMicrosecondType, TimeUnit::Microsecond, zone)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            timestamp!(TimestampNanosecondType, TimeUnit::Nanosecond, zone)
        }
        DataType::Duration(TimeUnit::Second) => signed!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => signed!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => signed!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => signed!(DurationNanosecondType),
        DataType::Utf8 => Some(Box::new(Texts::<GenericStringType<i32>, i32>::new(TextForm::Utf8))),
        DataType::LargeUtf8 => Some(Box::new(Texts::<GenericStringType<i64>, i64>::new(TextForm::Utf8))),
        DataType::Binary => Some(Box::new(Texts::<GenericBinaryType<i32>, i32>::new(TextForm::Hex))),
        DataType::LargeBinary => Some(Box::new(Texts::<GenericBinaryType<i64>, i64>::new(TextForm::Hex))),
        DataType::FixedSizeBinary(width) => Some(Box::new(FixedBytes {
            width: usize::try_from(*width).ok()?,
            values: Vec::new(),
            nulls: NullBufferBuilder::new(0),
        })),
        _ => None,
    }
}

/// What a timestamp column takes for the offset of a text.
#[derive(Debug, Clone, Copy)]
enum Zone {
    /// No zone: the text must have no offset, or it would be lost.
    Local,
    /// A fixed offset stands in where the text has none.
    Fixed(i32),
    /// A zone with rules: the text must say its offset.
    Named,
}

impl Zone {
    fn of(name: Option<&str>) -> Self {
        match name {
            None => Self::Local,
            Some("UTC" | "utc" | "Etc/UTC" | "GMT") => Self::Fixed(0),
            Some(name) => parse::offset_seconds(name.as_bytes()).map_or(Self::Named, Self::Fixed),
        }
    }

    fn offset(self, of_text: Option<i32>) -> Option<i32> {
        match (self, of_text) {
            (Self::Local, None) => Some(0),
            (Self::Local, Some(_)) => None,
            (_, Some(offset)) => Some(offset),
            (Self::Fixed(offset), None) => Some(offset),
            (Self::Named, None) => None,
        }
    }
}

struct Numbers<T: ArrowPrimitiveType, P> {
    data_type: DataType,
    parse: P,
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
}

impl<T: ArrowPrimitiveType, P: Fn(&[u8]) -> Option<T::Native> + Send> Column for Numbers<T, P> {
    fn push(&mut self, text: &[u8], _ascii: bool) -> Result<(), Fault> {
        let value = (self.parse)(text).ok_or(Fault::Unparsable)?;
        self.values.push(value);
        self.nulls.append_non_null();
        Ok(())
    }

    fn push_null(&mut self) {
        self.values.push(T::Native::default());
        self.nulls.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let next = Vec::with_capacity(self.values.len());
        let values = ScalarBuffer::from(std::mem::replace(&mut self.values, next));
        let array = PrimitiveArray::<T>::try_new(values, self.nulls.finish())?;
        Ok(Arc::new(array.with_data_type(self.data_type.clone())))
    }
}

struct Booleans {
    values: BooleanBufferBuilder,
    nulls: NullBufferBuilder,
}

impl Column for Booleans {
    fn push(&mut self, text: &[u8], _ascii: bool) -> Result<(), Fault> {
        self.values.append(parse::boolean(text).ok_or(Fault::Unparsable)?);
        self.nulls.append_non_null();
        Ok(())
    }

    fn push_null(&mut self) {
        self.values.append(false);
        self.nulls.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(BooleanArray::new(self.values.finish(), self.nulls.finish())))
    }
}

/// What the bytes of a text or binary column look like in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextForm {
    Utf8,
    Hex,
}

struct Texts<T, O> {
    form: TextForm,
    bytes: Vec<u8>,
    /// End of each value, after a leading zero.
    offsets: Vec<O>,
    nulls: NullBufferBuilder,
    array: PhantomData<fn() -> T>,
}

impl<T, O: OffsetSizeTrait> Texts<T, O> {
    fn new(form: TextForm) -> Self {
        Self {
            form,
            bytes: Vec::new(),
            offsets: vec![O::default()],
            nulls: NullBufferBuilder::new(0),
            array: PhantomData,
        }
    }
}

impl<T: ByteArrayType<Offset = O>, O: OffsetSizeTrait> Column for Texts<T, O> {
    fn push(&mut self, text: &[u8], ascii: bool) -> Result<(), Fault> {
        let before = self.bytes.len();
        match self.form {
            TextForm::Utf8 if !ascii && std::str::from_utf8(text).is_err() => return Err(Fault::InvalidUtf8),
            TextForm::Utf8 => self.bytes.extend_from_slice(text),
            TextForm::Hex => parse::hex_into(text, &mut self.bytes).ok_or(Fault::Unparsable)?,
        }
        // A page's limit keeps the bytes far below what offsets can say; were it set higher, the value is refused.
        let Some(end) = O::from_usize(self.bytes.len()) else {
            self.bytes.truncate(before);
            return Err(Fault::Unparsable);
        };
        self.offsets.push(end);
        self.nulls.append_non_null();
        Ok(())
    }

    fn push_null(&mut self) {
        self.offsets.push(self.offsets.last().copied().unwrap_or_default());
        self.nulls.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.offsets.truncate(rows + 1);
        self.bytes.truncate(self.offsets.last().map_or(0, |end| end.as_usize()));
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let mut offsets = Vec::with_capacity(self.offsets.len());
        offsets.push(O::default());
        let offsets = OffsetBuffer::new(std::mem::replace(&mut self.offsets, offsets).into());
        let next = Vec::with_capacity(self.bytes.len());
        let bytes = Buffer::from_vec(std::mem::replace(&mut self.bytes, next));
        Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, bytes, self.nulls.finish())?))
    }
}

struct FixedBytes {
    width: usize,
    values: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl Column for FixedBytes {
    fn push(&mut self, text: &[u8], _ascii: bool) -> Result<(), Fault> {
        if text.len() != self.width * 2 {
            return Err(Fault::Unparsable);
        }
        parse::hex_into(text, &mut self.values).ok_or(Fault::Unparsable)?;
        self.nulls.append_non_null();
        Ok(())
    }

    fn push_null(&mut self) {
        self.values.resize(self.values.len() + self.width, 0);
        self.nulls.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows * self.width);
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let rows = self.nulls.len();
        let values = Buffer::from_vec(std::mem::take(&mut self.values));
        let width = i32::try_from(self.width).map_err(|_| ArrowError::InvalidArgumentError("width".into()))?;
        Ok(Arc::new(FixedSizeBinaryArray::try_new_with_len(width, values, self.nulls.finish(), rows)?))
    }
}

/// A column without values: only nulls fit.
struct Nulls(usize);

impl Column for Nulls {
    fn push(&mut self, _text: &[u8], _ascii: bool) -> Result<(), Fault> {
        Err(Fault::Unparsable)
    }

    fn push_null(&mut self) {
        self.0 += 1;
    }

    fn truncate(&mut self, rows: usize) {
        self.0 = self.0.min(rows);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(NullArray::new(std::mem::take(&mut self.0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::util::display::{ArrayFormatter, FormatOptions};

    /// One type, texts that are values of it and how they come back, and texts that are not.
    fn check(data_type: &DataType, values: &[(&str, &str)], refused: &[&str]) {
        let mut column = column_of(data_type).unwrap_or_else(|| panic!("{data_type}"));
        for (row, (text, _)) in values.iter().enumerate() {
            assert_eq!(column.push(text.as_bytes(), true), Ok(()), "{data_type}: {text}");
            column.push_null();
            // What a refused row leaves behind is taken back.
            column.push_null();
            let _ = column.push(text.as_bytes(), false);
            column.truncate(row * 2 + 2);
        }
        for text in refused {
            assert!(column.push(text.as_bytes(), false).is_err(), "{data_type}: {text}");
        }
        let array = column.finish().unwrap();
        assert_eq!(array.data_type(), data_type);
        assert_eq!(array.len(), values.len() * 2);
        assert_eq!(array.null_count(), values.len());
        for (row, (_, expected)) in values.iter().enumerate() {
            let options = FormatOptions::default();
            let shown = ArrayFormatter::try_new(&array, &options).unwrap();
            assert_eq!(shown.value(row * 2).to_string(), *expected);
        }
        assert_eq!(column.finish().unwrap().len(), 0, "a finished column starts anew");
    }

    #[test]
    fn every_text_type() {
        use DataType as T;
        check(&T::Boolean, &[("true", "true"), ("F", "false")], &["yes", ""]);
        for t in [T::Int8, T::Int16, T::Int32, T::Int64] {
            check(&t, &[("-128", "-128"), ("+7", "7")], &["1.5", "99999999999999999999"]);
        }
        check(&T::Int8, &[], &["128"]);
        for t in [T::UInt8, T::UInt16, T::UInt32, T::UInt64] {
            check(&t, &[("255", "255")], &["-1"]);
        }
        check(&T::Float16, &[("1.5", "1.5")], &["1e9"]);
        check(&T::Float32, &[("1.5", "1.5")], &["1e99"]);
        check(&T::Float64, &[("1.5", "1.5"), ("NaN", "NaN")], &["1,5"]);
        check(&T::Decimal128(5, 2), &[("-1.2", "-1.20")], &["1.234", "1000"]);
        check(
            &T::Decimal256(60, 2),
            &[("-12345678901234567890123456789012345678901234.5", "-12345678901234567890123456789012345678901234.50")],
            &["1.234"],
        );
        check(&T::Date32, &[("2013-01-31", "2013-01-31")], &["2013-02-31"]);
        check(&T::Date64, &[("2013-01-31", "2013-01-31T00:00:00")], &["31.1.2013"]);
        check(&T::Time32(TimeUnit::Second), &[("05:17:03", "05:17:03")], &["05:17:03.5"]);
        check(&T::Time64(TimeUnit::Microsecond), &[("05:17:03.5", "05:17:03.500")], &["5:17"]);
        check(
            &T::Timestamp(TimeUnit::Second, None),
            &[("2013-01-01 05:17", "2013-01-01T05:17:00")],
            &["2013-01-01T05:17Z"],
        );
        let utc = T::Timestamp(TimeUnit::Millisecond, Some("+00:00".into()));
        check(
            &utc,
            &[("2013-01-01T05:17:00+01:00", "2013-01-01T04:17:00Z"), ("2013-01-01T05:17", "2013-01-01T05:17:00Z")],
            &[],
        );
        check(&T::Timestamp(TimeUnit::Nanosecond, Some("Europe/Rome".into())), &[], &["2013-01-01T05:17:00"]);
        check(&T::Duration(TimeUnit::Second), &[("90", "PT90S")], &["1m"]);
        for t in [T::Utf8, T::LargeUtf8] {
            check(&t, &[("", ""), ("é", "é")], &[]);
        }
        for t in [T::Binary, T::LargeBinary, T::FixedSizeBinary(2)] {
            check(&t, &[("00ff", "00ff")], &["0", "zz00"]);
        }
        check(&T::FixedSizeBinary(2), &[], &["00"]);
        check(&T::Null, &[], &["x"]);
        assert!(column_of(&T::new_list(T::Int8, true)).is_none());
    }

    #[test]
    fn bytes_that_are_not_utf8() {
        let mut column = column_of(&DataType::Utf8).unwrap();
        assert_eq!(column.push(b"\xff", false), Err(Fault::InvalidUtf8));
        assert_eq!(column.finish().unwrap().len(), 0);
    }
}
