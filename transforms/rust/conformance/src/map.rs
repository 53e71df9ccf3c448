//! Stage map: orders, last first, and their items.

use crate::values::trim;
use crate::{has, is};
use gristmill_guest::{
    Batch, Builder, BytesBuilder, Failure, In, Int32, Int64, List, Operation, Out, Output, Outputs, Plan, Reject,
    Selection, Setup, UInt8, Utf8,
};

pub struct Map {
    tags: In<List<Utf8>>,
    quantity: In<Int32>,
    operation: In<UInt8>,
    orders: Output,
    tag_count: Out<Int32>,
    items: Output,
    position: Out<Int32>,
    tag: Out<Utf8>,
}

impl Map {
    pub fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        has(setup, "id", is(Int64))?;
        has(setup, "code", is(Utf8))?;
        let name = plan.lookup("codes", "code", "name")?;
        let orders = plan.output("orders");
        plan.forward(orders, "id")?;
        plan.forward_operation(orders, "operation")?;
        plan.forward_lookup(orders, "name", &name)?;
        let tag_count = plan.compute(orders, "tag_count", Int32)?;
        let items = plan.output("items");
        plan.forward(items, "id")?;
        let position = plan.compute_required(items, "position", Int32)?;
        let tag = plan.compute(items, "tag", Utf8)?;
        plan.forward(items, "quantity")?;
        Ok(Self {
            tags: plan.read("tags")?,
            quantity: plan.read("quantity")?,
            operation: plan.read_operation(),
            orders,
            tag_count,
            items,
            position,
            tag,
        })
    }

    pub fn process(&self, batch: Batch, outputs: &mut Outputs) {
        let tags = batch.column(self.tags);
        let last_first = || (0..batch.rows()).rev();
        let mut tag_count = self.tag_count.builder(batch.rows());
        last_first().for_each(|row| tag_count.push_option(tags.get(row).map(|items| items.len() as i32)));
        outputs.set(&self.tag_count, tag_count);
        outputs.select(self.orders, last_first().collect());

        let (quantity, operations) = (batch.column(self.quantity), batch.column(self.operation));
        let texts = tags.items().as_bytes();
        let expected = texts.len();
        let mut selection = Selection::with_capacity(expected);
        let mut of_item = Vec::with_capacity(expected);
        let mut position = self.position.builder(expected);
        let mut tag = BytesBuilder::<i32>::with_capacity(expected, texts.data().len());
        let lower = texts.data().to_ascii_lowercase();
        for row in 0..batch.rows() {
            let quantity = quantity.get(row);
            if quantity.is_some_and(|quantity| quantity < 0) {
                outputs.reject(row, Reject::new("negative", "the quantity is negative").field("quantity"));
                continue;
            }
            let deleted = Operation::from_code(operations.value(row)) == Operation::Delete || quantity == Some(0);
            for (place, item) in tags.get(row).unwrap_or_default().enumerate() {
                selection.push(row);
                of_item.push(match place {
                    _ if deleted => Operation::Delete,
                    0 => Operation::Insert,
                    _ => Operation::Update,
                });
                position.push(place as i32);
                match texts.is_null(item) {
                    true => tag.push_null(),
                    false => tag.push(trim(&lower[texts.range(item)])),
                }
            }
        }
        outputs.set(&self.position, position);
        outputs.set_data(&self.tag, tag.finish());
        outputs.select(self.items, selection);
        outputs.operations(self.items, of_item);
    }
}
