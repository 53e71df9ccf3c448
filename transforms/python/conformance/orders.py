"""Stage map: orders and their items."""

from array import array
from itertools import chain, repeat

from gristmill import Batch, Int32, Int64, Operation, Outputs, Plan, Reject, TextColumn, Utf8, list_of

from text import fold


class Orders:
    def __init__(self, plan: Plan) -> None:
        plan.require("id", Int64)
        self.tags = plan.read("tags", list_of(Utf8))
        self.quantity = plan.read("quantity", Int32)
        self.operation = plan.read_operation()
        plan.require("code", Utf8)

        self.orders = plan.output("orders")
        self.orders.forward("id")
        self.orders.forward_operation("operation")
        self.orders.forward_lookup("name", plan.lookup("codes", "code", "name"))
        self.tag_count = self.orders.compute("tag_count", Int32)

        self.items = plan.output("items")
        self.items.forward("id")
        self.position = self.items.compute_required("position", Int32)
        self.tag = self.items.compute("tag", Utf8)
        self.items.forward("quantity")

    def process(self, batch: Batch, outputs: Outputs) -> None:
        tags, quantity = batch[self.tags], batch[self.quantity]
        counts, mask = tags.lengths(), tags.mask()

        backwards = None if mask is None else mask[::-1]
        outputs.set(self.tag_count, Int32().from_buffer(array("i", reversed(counts)), backwards))
        outputs.select(self.orders, list(range(batch.rows - 1, -1, -1)))

        quantities = quantity.to_list()
        without = set(tags.nulls())
        for row, value in enumerate(quantities):
            if value is not None and value < 0:
                outputs.reject(row, Reject("negative", "the quantity is negative", "quantity"))
                without.add(row)
        items = tags.without(sorted(without)).items
        assert isinstance(items, TextColumn)
        for row in without:
            counts[row] = 0
        places = array("i", chain.from_iterable(map(range, counts)))
        outputs.set(self.position, Int32().from_buffer(places))
        outputs.set(self.tag, fold(items))
        outputs.select(self.items, list(chain.from_iterable(map(repeat, range(batch.rows), counts))))
        outputs.operations(self.items, operations(counts, batch[self.operation].buffer, quantities))


def operations(counts: list[int], given: bytes, quantities: list[int | None]) -> bytes:
    """An insert and updates for the items of each order, or deletes."""
    first, other, delete = bytes([Operation.INSERT]), bytes([Operation.UPDATE]), bytes([Operation.DELETE])
    return b"".join(
        [
            delete * count if operation == Operation.DELETE or quantity == 0 else first + other * (count - 1)
            for count, operation, quantity in zip(counts, given, quantities, strict=True)
            if count
        ]
    )
