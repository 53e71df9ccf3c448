//! Orders as a shop exports them, to typed records.

use gristmill_guest::{Batch, Failure, In, Int64, Out, Outputs, Plan, Reject, Selection, Setup, Stage, Transform, Utf8};

pub struct Orders {
    price: In<Utf8>,
    customer: In<Utf8>,
    name: Out<Utf8>,
    cents: Out<Int64>,
}

impl Transform for Orders {
    /// What is read, computed and passed on. `order_id` is forwarded: its values never enter the component.
    fn plan(setup: &Setup, plan: &mut Plan<'_>) -> Result<Self, Failure> {
        setup.require_stage(&[Stage::{{Stage}}])?;
        let records = plan.output("records");
        plan.forward(records, "order_id")?;
        Ok(Self {
            price: plan.read("price")?,
            customer: plan.read("customer")?,
            name: plan.compute(records, "customer", Utf8)?,
            cents: plan.compute_required(records, "cents", Int64)?,
        })
    }

    /// One batch. The selection says which input row each output row comes from.
    fn process(&self, batch: Batch, outputs: &mut Outputs) -> Result<(), Failure> {
        let (price, customer) = (batch.column(self.price), batch.column(self.customer));
        let mut selection = Selection::with_capacity(batch.rows());
        let mut name = self.name.builder(batch.rows());
        let mut cents = self.cents.builder(batch.rows());
        for row in 0..batch.rows() {
            let Some(value) = price.get(row).and_then(to_cents) else {
                outputs.reject(row, Reject::new("bad-price", "not a price in dollars and cents").field("price"));
                continue;
            };
            selection.push(row);
            name.push_option(customer.get(row).map(str::trim));
            cents.push(value);
        }
        outputs.set(&self.name, name);
        outputs.set(&self.cents, cents);
        outputs.select(self.cents.output(), selection);
        Ok(())
    }
}

/// `$12.50` as 1250.
fn to_cents(price: &str) -> Option<i64> {
    let (dollars, cents) = price.strip_prefix('$')?.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(dollars) || !is_number(cents) || cents.len() != 2 {
        return None;
    }
    dollars.parse::<i64>().ok()?.checked_mul(100)?.checked_add(cents.parse().ok()?)
}

gristmill_guest::export!(Orders);

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_guest::DataType;
    use gristmill_guest::testing::{Harness, Table};

    #[test]
    fn prices_become_cents_and_bad_ones_are_rejected() {
        let orders = "order_id,customer,price\n1, Ada ,$19.90\n2,Grace,free\n";
        let types = [("order_id", DataType::Int64), ("customer", DataType::Utf8), ("price", DataType::Utf8)];
        let run = Harness::new(Stage::{{Stage}}).run::<Orders>(&Table::from_csv(orders, &types, "")).unwrap();
        assert_eq!(run.output("records").to_string(), "order_id | customer | cents\n1 | Ada | 1990\n");
        assert_eq!(run.reject_codes(), [(1, "bad-price", Some("price"))]);
    }
}
