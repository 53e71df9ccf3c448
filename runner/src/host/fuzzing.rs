//! Entry for the fuzz target of the column decoder: whatever a guest may return, nothing but an error or valid columns
//! comes out.

use super::bindings::wit::{DataTypeResult, DecimalType, FieldResult, Node, TimeUnit, TimestampTypeResult};
use super::decode::decode;
use super::encode::Encoded;
use super::types::{from_wit, unpacked};
use arrow::array::Array;

/// Reads a schema tree, nodes and buffers from the input, in this order, and decodes them. Panics if the decoder accepts
/// what Arrow's own full validation refuses, or what does not encode to the same columns.
pub fn decode_columns(input: &[u8]) {
    let mut input = Reader(input);
    let rows = usize::from(input.byte());
    let fields = (0..1 + input.byte() % 3).map(|_| {
        let mut tree = Vec::new();
        field(&mut input, &mut tree, 0);
        from_wit(&tree)
    });
    let Ok(fields) = fields.collect::<Result<Vec<_>, _>>() else { return };
    let nodes: Vec<Node> = (0..input.byte() % 24)
        .map(|_| Node { length: u32::from(input.byte()), null_count: u32::from(input.byte() % 16) })
        .collect();
    let mut buffers = Vec::new();
    while !input.0.is_empty() && buffers.len() < 64 {
        let length = usize::from(input.byte());
        buffers.push(input.take(length).to_vec());
    }
    let Ok(columns) = decode(&fields, rows, &nodes, buffers) else { return };
    for (field, column) in fields.iter().zip(&columns) {
        assert_eq!(field.data_type(), column.data_type());
        assert_eq!(column.len(), rows);
        column.to_data().validate_full().expect("what the decoder accepts is valid");
        let crossing = unpacked(field.data_type()).expect("a guest's type crosses");
        let encoded = Encoded::of([(column, &crossing)]).expect("what crossed crosses back");
        let buffers = encoded.buffers.iter().map(|buffer| buffer.to_vec()).collect();
        let again =
            decode(std::slice::from_ref(field), rows, &encoded.nodes, buffers).expect("our own encoding is valid");
        assert_eq!(&again[0], column);
    }
}

fn field(input: &mut Reader<'_>, tree: &mut Vec<FieldResult>, depth: usize) {
    use DataTypeResult as W;
    let unit = |byte: u8| match byte % 4 {
        0 => TimeUnit::Second,
        1 => TimeUnit::Millisecond,
        2 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    };
    let data_type = match input.byte() % 32 {
        0 => W::Null,
        1 => W::Boolean,
        2 => W::Int8,
        3 => W::Int16,
        4 => W::Int32,
        5 => W::Int64,
        6 => W::Uint8,
        7 => W::Uint16,
        8 => W::Uint32,
        9 => W::Uint64,
        10 => W::Float16,
        11 => W::Float32,
        12 => W::Float64,
        13 => W::Decimal128(DecimalType { precision: input.byte(), scale: input.byte() as i8 }),
        14 => W::Decimal256(DecimalType { precision: input.byte(), scale: input.byte() as i8 }),
        15 => W::Utf8,
        16 => W::LargeUtf8,
        17 => W::Binary,
        18 => W::LargeBinary,
        19 => W::FixedSizeBinary(u32::from(input.byte())),
        20 => W::Date32,
        21 => W::Date64,
        22 => W::Time32(unit(input.byte())),
        23 => W::Time64(unit(input.byte())),
        24 => W::Timestamp(TimestampTypeResult { unit: unit(input.byte()), zone: Some("UTC".into()) }),
        25 => W::Duration(unit(input.byte())),
        26 => W::List,
        27 => W::LargeList,
        28 => W::FixedSizeList(u32::from(input.byte())),
        29 => W::Struct,
        30 => W::Map(true),
        _ => W::Map(false),
    };
    let flags = input.byte();
    let children = match data_type {
        W::List | W::LargeList | W::FixedSizeList(_) | W::Map(_) => 1,
        W::Struct => 1 + flags / 2 % 2,
        _ => 0,
    };
    // Past this depth a parent lacks its children, which is one more thing to refuse.
    let name = format!("f{}", tree.len());
    tree.push(FieldResult { name, data_type, nullable: flags % 2 == 1, children: u32::from(children) });
    if depth < 5 {
        (0..children).for_each(|_| field(input, tree, depth + 1));
    }
}

/// Takes bytes from the front; zeros once there are none.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }
    fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(input: Vec<u8>) {
            super::decode_columns(&input);
        }
    }
}
