//! Arrow schemas and columns as the SDK's own types, so that a transform can be called without a component.

use crate::Failure;
use arrow::datatypes::{DataType, Fields, TimeUnit};
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

fn fields(fields: &Fields) -> Result<Vec<raw::Field>, Failure> {
    let field = |field: &arrow::datatypes::FieldRef| -> Result<_, Failure> {
        let data_type = match field.data_type() {
            DataType::Boolean => raw::DataType::Boolean,
            DataType::Int8 => raw::DataType::Int8,
            DataType::Int16 => raw::DataType::Int16,
            DataType::Int32 => raw::DataType::Int32,
            DataType::Int64 => raw::DataType::Int64,
            DataType::Float64 => raw::DataType::Float64,
            DataType::Utf8 => raw::DataType::Utf8,
            DataType::Date32 => raw::DataType::Date32,
            DataType::Timestamp(TimeUnit::Microsecond, zone) => raw::DataType::Timestamp(raw::TimestampType {
                unit: raw::TimeUnit::Microsecond,
                zone: zone.as_deref().map(str::to_owned),
            }),
            other => return Err(format!("{other} is not among the flights").into()),
        };
        Ok(raw::Field { name: field.name().clone(), data_type, nullable: field.is_nullable(), children: 0 })
    };
    fields.iter().map(field).collect()
}

/// A batch that owns what it holds, as the SDK takes it.
pub fn batch(crossing: &Crossing) -> raw::Batch {
    let node = |(length, null_count): &(u32, u32)| raw::Node { length: *length, null_count: *null_count };
    raw::Batch {
        rows: crossing.rows,
        columns: raw::Columns { nodes: crossing.nodes.iter().map(node).collect(), buffers: crossing.buffers.clone() },
    }
}
