//! Arrow schemas and columns as the SDK's own types, so that a transform can be called without a component.

use crate::Failure;
use arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use gristmill::host::measure::Crossing;
use gristmill::host::{Dictionaries, Stage};
use gristmill_guest::raw;

/// What `plan` and `process` are told.
pub fn setup(stage: Stage, config: &str, input: &Fields, dictionaries: &Dictionaries) -> Result<raw::Setup, Failure> {
    let dictionary = |d: &std::sync::Arc<gristmill::host::Dictionary>| -> Result<_, Failure> {
        Ok(raw::Dictionary { name: d.name().into(), key: d.key().into(), fields: fields(d.schema().fields())? })
    };
    Ok(raw::Setup {
        stage: match stage {
            Stage::Normalize => raw::Stage::Normalize,
            Stage::Migrate => raw::Stage::Migrate,
            Stage::Map => raw::Stage::Map,
        },
        config: config.to_owned(),
        input: fields(input)?,
        dictionaries: dictionaries.iter().map(dictionary).collect::<Result<_, _>>()?,
    })
}

/// Schema trees, depth first.
fn fields(fields: &Fields) -> Result<Vec<raw::Field>, Failure> {
    let mut trees = Vec::with_capacity(fields.len());
    fields.iter().try_for_each(|field| push_tree(field, &mut trees))?;
    Ok(trees)
}

fn push_tree(field: &Field, trees: &mut Vec<raw::Field>) -> Result<(), Failure> {
    let none = Fields::empty;
    let (data_type, children) = match field.data_type() {
        DataType::Boolean => (raw::DataType::Boolean, none()),
        DataType::Int8 => (raw::DataType::Int8, none()),
        DataType::Int16 => (raw::DataType::Int16, none()),
        DataType::Int32 => (raw::DataType::Int32, none()),
        DataType::Int64 => (raw::DataType::Int64, none()),
        DataType::Float64 => (raw::DataType::Float64, none()),
        DataType::Utf8 => (raw::DataType::Utf8, none()),
        DataType::Binary => (raw::DataType::Binary, none()),
        DataType::Date32 => (raw::DataType::Date32, none()),
        DataType::Decimal128(precision, scale) => {
            let decimal = raw::DecimalType { precision: *precision, scale: *scale };
            (raw::DataType::Decimal128(decimal), none())
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let zone = zone.as_deref().map(str::to_owned);
            let timestamp = raw::TimestampType { unit: raw::TimeUnit::Microsecond, zone };
            (raw::DataType::Timestamp(timestamp), none())
        }
        DataType::List(item) => (raw::DataType::List, Fields::from(vec![item.clone()])),
        DataType::Struct(members) => (raw::DataType::Struct, members.clone()),
        other => return Err(format!("{other} is not among the inputs").into()),
    };
    let (name, nullable) = (field.name().clone(), field.is_nullable());
    trees.push(raw::Field { name, data_type, nullable, children: children.len() as u32 });
    children.iter().try_for_each(|child| push_tree(child, trees))
}

/// A batch that owns what it holds, as the SDK takes it.
pub fn batch(crossing: &Crossing) -> raw::Batch {
    let node = |(length, null_count): &(u32, u32)| raw::Node { length: *length, null_count: *null_count };
    raw::Batch {
        rows: crossing.rows,
        columns: raw::Columns { nodes: crossing.nodes.iter().map(node).collect(), buffers: crossing.buffers.clone() },
    }
}
