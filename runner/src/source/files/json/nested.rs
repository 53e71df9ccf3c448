//! What the decoder would accept in a line and should not: texts over the limit, and scalars within nested columns that
//! would be refused at the top level. The decoder cuts numbers there to what their type holds, and shifts local times that
//! have an offset.

use super::decode::LineFault;
use super::value::Json;
use crate::source::files::values::{Column, column_of, is_text};
use arrow::datatypes::{DataType, Schema};
use gristmill_core::dead_letter::DeadLetterClass;

/// The nested columns of a schema.
pub(super) struct Nested {
    columns: Vec<NestedColumn>,
    /// Of all columns.
    names: Vec<String>,
    max_field_bytes: usize,
}

struct NestedColumn {
    name: String,
    kind: &'static str,
    shape: Shape,
}

/// What may stand at a place. Values of another kind are left to the decoder.
enum Shape {
    /// Texts are taken as they are, and other things by the decoder alone.
    Any,
    Scalar {
        data_type: DataType,
        column: Box<dyn Column>,
    },
    List(Box<Shape>),
    Struct(Vec<(String, Shape)>),
    Map {
        key: Box<Shape>,
        value: Box<Shape>,
    },
}

impl Nested {
    pub fn new(schema: &Schema, max_field_bytes: usize) -> Self {
        let column = |field: &arrow::datatypes::FieldRef| {
            let kind = match field.data_type() {
                DataType::Struct(_) => "struct",
                DataType::Map(_, _) => "map",
                data_type if data_type.is_nested() => "list",
                _ => return None,
            };
            Some(NestedColumn { name: field.name().clone(), kind, shape: Shape::of(field.data_type()) })
        };
        Self {
            columns: schema.fields().iter().filter_map(column).collect(),
            names: schema.fields().iter().map(|field| field.name().clone()).collect(),
            max_field_bytes,
        }
    }

    /// Whether a line has to be looked at: it may hold too long a text, or a nested column.
    pub fn concerns(&self, line: &[u8]) -> bool {
        !self.columns.is_empty() || line.len() > self.max_field_bytes
    }

    pub fn fault(&mut self, line: &[u8]) -> Option<LineFault> {
        // A line that is not JSON is refused by the decoder.
        let Some(Json::Object(members)) = Json::parse(line) else { return None };
        for (name, value) in &members {
            let longest = value.longest_text();
            if longest > self.max_field_bytes {
                return Some(LineFault {
                    class: DeadLetterClass::OverSize,
                    field: self.names.iter().find(|known| *known == name).cloned(),
                    message: format!("a field of {longest} bytes; at most {} are accepted", self.max_field_bytes),
                });
            }
            let Some(column) = self.columns.iter_mut().find(|column| column.name == *name) else { continue };
            if let Err(data_type) = column.shape.take(value) {
                return Some(LineFault {
                    class: DeadLetterClass::UnparsableValue,
                    field: Some(column.name.clone()),
                    message: format!("a value in a {} that is not a {data_type}", column.kind),
                });
            }
        }
        None
    }
}

impl Shape {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                Self::List(Box::new(Self::of(item.data_type())))
            }
            DataType::Struct(fields) => {
                Self::Struct(fields.iter().map(|field| (field.name().clone(), Self::of(field.data_type()))).collect())
            }
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => Self::Map {
                    key: Box::new(Self::of(fields[0].data_type())),
                    value: Box::new(Self::of(fields[1].data_type())),
                },
                _ => Self::Any,
            },
            data_type if is_text(data_type) => Self::Any,
            data_type => match column_of(data_type) {
                Some(column) => Self::Scalar { data_type: data_type.clone(), column },
                None => Self::Any,
            },
        }
    }

    /// The error is the type that a scalar is not a value of.
    fn take(&mut self, value: &Json<'_>) -> Result<(), DataType> {
        match (self, value) {
            (Self::Scalar { data_type, column }, Json::Plain(text)) => exactly(data_type, column.as_mut(), text),
            (Self::Scalar { data_type, column }, Json::Text(text)) => {
                exactly(data_type, column.as_mut(), text.as_bytes())
            }
            (Self::List(item), Json::List(items)) => items.iter().try_for_each(|value| item.take(value)),
            (Self::Struct(fields), Json::Object(members)) => {
                members.iter().try_for_each(|(name, value)| match fields.iter_mut().find(|(field, _)| field == name) {
                    Some((_, shape)) => shape.take(value),
                    None => Ok(()),
                })
            }
            (Self::Map { key, value: shape }, Json::Object(members)) => members.iter().try_for_each(|(name, value)| {
                key.take(&Json::Text(name.as_ref().into()))?;
                shape.take(value)
            }),
            _ => Ok(()),
        }
    }
}

/// Whether a text is a value of the type, as at the top level.
fn exactly(data_type: &DataType, column: &mut dyn Column, text: &[u8]) -> Result<(), DataType> {
    let taken = column.push(text, false);
    column.truncate(0);
    taken.map_err(|_| data_type.clone())
}
