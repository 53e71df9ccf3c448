"""Orders as a shop exports them, to typed records."""

import re

from gristmill import Int64, Plan, Reject, Row, RowOutputs, RowTransform, Setup, Stage, Utf8, export

PRICE = re.compile(r"\$(\d{1,15})\.(\d\d)", re.ASCII)


@export
class Orders(RowTransform):
    def plan(self, setup: Setup, plan: Plan) -> None:
        """What is read, computed and passed on. `order_id` is forwarded: its values never enter the component."""
        setup.require_stage(Stage("{{stage}}"))
        plan.read("customer", Utf8)
        plan.read("price", Utf8)
        self.records = plan.output("records")
        self.records.forward("order_id")
        self.records.compute("customer", Utf8)
        self.records.compute_required("cents", Int64)

    def row(self, row: Row, out: RowOutputs) -> None:
        """Writes what one input row becomes, or rejects it."""
        customer = row["customer"]
        price = PRICE.fullmatch(row["price"] or "")
        if price is None:
            raise Reject("bad-price", "not a price in dollars and cents", "price")
        cents = int(price[1]) * 100 + int(price[2])
        out.write(self.records, {"customer": customer and customer.strip(), "cents": cents})
