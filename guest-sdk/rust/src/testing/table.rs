//! Columns in memory.

use super::value::{self, Value};
use crate::build::ArrayData;
use crate::column::Array;
use crate::raw;
use crate::types::{DataType, Field};
use std::fmt;

/// Named columns of one length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    rows: usize,
    columns: Vec<(Field, ArrayData)>,
}

impl Table {
    /// No columns yet; the first one gives the number of rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a nullable column.
    pub fn column<V: Into<Value>>(self, name: &str, data_type: DataType, values: impl IntoIterator<Item = V>) -> Self {
        self.field(Field::new(name, data_type), values)
    }

    /// Adds a column of this field. Panics where a value is not of its type, or their number differs.
    pub fn field<V: Into<Value>>(self, field: Field, values: impl IntoIterator<Item = V>) -> Self {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        let data = value::build(&field.data_type, &values);
        self.data(field, data)
    }

    /// Adds a finished column. Panics if it has another number of rows.
    pub fn data(mut self, field: Field, data: ArrayData) -> Self {
        if self.columns.is_empty() {
            self.rows = data.len();
        }
        assert_eq!(data.len(), self.rows, "column {} has another number of rows", field.name);
        self.columns.push((field, data));
        self
    }

    /// Reads CSV with a header. Columns of `types` are read, in the order of the file, all others are left out; a
    /// field that equals `null` is null. Panics on text that is not of its type.
    pub fn from_csv(text: &str, types: &[(&str, DataType)], null: &str) -> Self {
        let rows = super::csv::rows(text);
        let Some((header, rows)) = rows.split_first() else { return Self::new() };
        let mut table = Self::new();
        for (place, name) in header.iter().enumerate() {
            let Some((_, data_type)) = types.iter().find(|(typed, _)| typed == name) else { continue };
            let values = rows.iter().map(|row| match row[place].as_str() {
                text if text == null => Value::Null,
                text => parse(text, data_type),
            });
            table = table.column(name, data_type.clone(), values);
        }
        table
    }

    pub fn rows(&self) -> usize {
        self.rows
    }
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.columns.iter().map(|(field, _)| field)
    }

    /// A view of a column. Panics if there is none of this name.
    pub fn array(&self, name: &str) -> Array<'_> {
        match self.get(name) {
            Some((field, data)) => Array::new(field, &data.nodes, &data.buffers),
            None => panic!("no column {name} in {:?}", self.fields().map(|field| &field.name).collect::<Vec<_>>()),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&(Field, ArrayData)> {
        self.columns.iter().find(|(field, _)| field.name == name)
    }

    /// All values of a column. Panics if there is none of this name.
    pub fn values(&self, name: &str) -> Vec<Value> {
        value::read(self.array(name))
    }

    /// One row, in the order of the columns.
    pub fn row(&self, row: usize) -> Vec<Value> {
        self.all_values().into_iter().map(|column| column[row].clone()).collect()
    }

    fn all_values(&self) -> Vec<Vec<Value>> {
        self.columns.iter().map(|(field, data)| value::read(Array::new(field, &data.nodes, &data.buffers))).collect()
    }

    /// The rows of this table in another order, and as often as `rows` names them.
    pub fn take(&self, rows: &[u32]) -> Self {
        let mut taken = Self { rows: rows.len(), columns: Vec::new() };
        for (column, (field, _)) in self.all_values().into_iter().zip(&self.columns) {
            let values: Vec<_> = rows.iter().map(|row| column[*row as usize].clone()).collect();
            taken.columns.push((field.clone(), value::build(&field.data_type, &values)));
        }
        taken
    }

    /// The data of the only column.
    pub(super) fn into_column(mut self) -> ArrayData {
        match self.columns.pop() {
            Some((_, data)) if self.columns.is_empty() => data,
            _ => unreachable!("one column"),
        }
    }

    /// The columns' fields as trees, as in a setup.
    pub fn to_raw_fields(&self) -> Vec<raw::Field> {
        self.fields().flat_map(Field::to_tree).collect()
    }
}

fn parse(text: &str, data_type: &DataType) -> Value {
    let number = |text: &str| match text.parse() {
        Ok(value) => Value::Integer(value),
        Err(_) => panic!("{text} is no {data_type}"),
    };
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => Value::from(text),
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => Value::Bytes(text.into()),
        DataType::Boolean => Value::Boolean(text == "true"),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => match text.parse() {
            Ok(value) => Value::Float(value),
            Err(_) => panic!("{text} is no {data_type}"),
        },
        _ => number(text),
    }
}

/// One line for the names, one for each row, values between ` | `.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.fields().map(|field| field.name.as_str()).collect::<Vec<_>>().join(" | "))?;
        let columns = self.all_values();
        for row in 0..self.rows {
            writeln!(f, "{}", columns.iter().map(|column| column[row].to_string()).collect::<Vec<_>>().join(" | "))?;
        }
        Ok(())
    }
}
