"""Stage normalize: one part for each group of columns, each over whole columns."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable
from itertools import accumulate, compress, pairwise, repeat
from operator import mul
from typing import Any

from gristmill import (
    Batch,
    Binary,
    Boolean,
    Column,
    Date32,
    Decimal128,
    Failure,
    FixedColumn,
    Float64,
    Int8,
    Int32,
    Int64,
    Out,
    Output,
    Outputs,
    Plan,
    Reject,
    Setup,
    TextColumn,
    Time64,
    Timestamp,
    TimeUnit,
    UInt8,
    Utf8,
    bits,
    lanes,
    list_of,
    runs_between,
    struct_of,
)

from text import folded

MONEY = Decimal128(38, 10)
DAY = 86_400_000_000
MIB = 1 << 20

# What rows that ask for it keep of the instance's memory.
hoarded: list[bytes] = []


class Records:
    """The whole stage."""

    def __init__(self, setup: Setup, plan: Plan, step: int) -> None:
        plan.require("id", Int64)
        self.records = plan.output("records")
        self.records.forward("id")
        parts: list[tuple[tuple[str, ...], Callable[[], Part]]] = [
            (("code",), lambda: Code(plan, self.records)),
            (("text",), lambda: Text(plan, self.records)),
            (("amount", "fee"), lambda: Amount(plan, self.records)),
            (("at",), lambda: At(plan, self.records, setup)),
            (("count",), lambda: Count(plan, self.records, step)),
            (("ratio",), lambda: Ratio(plan, self.records)),
            (("data",), lambda: Data(plan, self.records)),
            (("numbers",), lambda: Numbers(plan, self.records)),
            (("place",), lambda: Place(plan, self.records)),
            (("visits",), lambda: Visits(plan, self.records)),
        ]
        self.parts = [part() for names, part in parts if all(setup.field(name) for name in names)]

    def process(self, batch: Batch, outputs: Outputs) -> None:
        columns: list[tuple[Out[Any], Column]] = []
        for part in self.parts:
            columns += part.columns(batch)
            for row in part.rejected:
                outputs.reject(row, part.reject)
        rejected = sorted(outputs.rejects)
        runs = runs_between(rejected, batch.rows)
        for out, column in columns:
            outputs.set(out, column.pick(runs) if rejected else column)
        if rejected:
            outputs.select_mask(self.records, bits.cleared(batch.rows, rejected))
            outputs.message(f"{len(rejected)} of {batch.rows} rows rejected")


class Part(ABC):
    """Columns that are computed together, and the rows that they refuse."""

    reject: Reject
    rejected: Iterable[int] = ()

    @abstractmethod
    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        """The columns of all rows, also of those refused."""


class Code(Part):
    def __init__(self, plan: Plan, records: Output) -> None:
        plan.require("code", Utf8)
        records.forward_lookup("name", plan.lookup("codes", "code", "name"))
        self.found = plan.read_lookup(plan.lookup("codes", "code", "weight"), Int64)
        self.weight = records.compute_required("weight", Int64)

    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        return [(self.weight, batch[self.found].filled(-1))]


class Text(Part):
    reject = Reject("refused", "the text asks to be refused", "text")
    # 1 for an empty text, 2 for others.
    states = bytes([1, 2]) + bytes(254)
    all_bits = bytes([0, 255]) + bytes(254)
    asking = frozenset([b"reject", b"raise", b"leave", b"hoard"])

    def __init__(self, plan: Plan, records: Output) -> None:
        self.given = plan.read("text", Utf8)
        self.text = records.compute("text", Utf8)
        self.state = records.compute_required("text_state", UInt8)

    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        mask = batch[self.given].mask()
        pieces = folded(batch[self.given])
        asking = compress(range(batch.rows), map(self.asking.__contains__, pieces))
        asked = [row for row in asking if mask is None or mask[row]]
        self.rejected = [row for row in asked if pieces[row] == b"reject"]
        if len(self.rejected) < len(asked):
            misbehave([pieces[row] for row in asked])
        text = Utf8().from_pieces(pieces, mask)
        states = lanes.nonzero(lanes.differences(text.buffers[1]), 4).translate(self.states)
        if mask is not None:
            states = bits.both(states, mask.translate(self.all_bits)) or b""
        return [(self.text, text), (self.state, UInt8().from_buffer(states))]


class Amount(Part):
    reject = Reject("overflow", "the total has more than 38 digits", "amount")
    # By whether the amount is at least the fee, and twice whether the fee is at least the amount.
    orders = bytes([0, 1, 255, 0]) + bytes(252)

    def __init__(self, plan: Plan, records: Output) -> None:
        self.amount = plan.read("amount", MONEY)
        self.fee = plan.read("fee", MONEY)
        self.total = records.compute("total", MONEY)
        self.negated = records.compute("negated", MONEY)
        self.order = records.compute("order", Int8)
        self.text = records.compute("amount_text", Utf8)

    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        amount, fee = batch[self.amount], batch[self.fee]
        mask = bits.both(amount.mask(), fee.mask())
        totals, beyond = lanes.sums_within(amount.buffer, fee.buffer, 10**38 - 1, 16)
        self.rejected = [row for row in beyond if mask is None or mask[row]]
        more = int.from_bytes(lanes.at_least(amount.buffer, fee.buffer, 16), "little")
        less = int.from_bytes(lanes.at_least(fee.buffer, amount.buffer, 16), "little")
        orders = (more | less << 1).to_bytes(batch.rows, "little").translate(self.orders)
        texts = amount_texts(amount.values)
        return [
            (self.total, MONEY.from_buffer(totals, mask)),
            (self.negated, MONEY.from_buffer(lanes.negated(amount.buffer, 16), amount.mask())),
            (self.order, Int8().from_buffer(orders, mask)),
            (self.text, Utf8().from_lengths("".join(texts).encode(), list(map(len, texts)), amount.mask())),
        ]


class At(Part):
    def __init__(self, plan: Plan, records: Output, setup: Setup) -> None:
        field = setup.field("at")
        if field is not None and getattr(field.type, "unit", None) is not TimeUnit.MICROSECOND:
            raise Failure("wrong-type", f"column `at` is {field.type}, not timestamp(us)")
        self.at = plan.read("at", Timestamp)
        self.day = records.compute("day", Date32)
        self.time = records.compute("time", Time64(TimeUnit.MICROSECOND))

    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        at = batch[self.at]
        days = [value // DAY for value in at.values.tolist()]
        midnights = lanes.affine(array("q", days).tobytes(), -DAY, 0)
        times = lanes.sums(at.buffer, midnights)
        return [
            (self.day, Date32().from_buffer(array("i", days), at.mask())),
            (self.time, Time64(TimeUnit.MICROSECOND).from_buffer(times, at.mask())),
        ]


class Count(Part):
    reject = Reject("overflow", "the next count does not fit int64", "count")

    def __init__(self, plan: Plan, records: Output, step: int) -> None:
        self.step = step
        self.count = plan.read("count", Int64)
        self.next = records.compute("next", Int64)
        self.mixed = records.compute("mixed", Int64)

    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        count = batch[self.count]
        mask = count.mask()
        following, beyond = lanes.add(count.buffer, self.step)
        self.rejected = [row for row in beyond if mask is None or mask[row]]
        mixed = lanes.affine(count.buffer, 31, 7)
        return [(self.next, Int64().from_buffer(following, mask)), (self.mixed, Int64().from_buffer(mixed, mask))]


class Ratio(Part):
    def __init__(self, plan: Plan, records: Output) -> None:
        self.ratio = plan.read("ratio", Float64)
        self.half = records.compute("half", Float64)
        self.finite = records.compute("finite", Boolean)

    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        ratio = batch[self.ratio]
        mask, finite = ratio.mask(), lanes.finite(ratio.buffer)
        halves = array("d", map(mul, ratio.values, repeat(0.5)))
        for row in bits.zeros(finite):
            if halves[row] != halves[row]:
                halves[row] = float("nan")
        return [
            (self.half, Float64().from_buffer(halves, mask)),
            (self.finite, Boolean().from_flags(finite, mask)),
        ]


class Data(Part):
    def __init__(self, plan: Plan, records: Output) -> None:
        self.data = plan.read("data", Binary)
        self.reversed = records.compute("reversed", Binary)

    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        data = batch[self.data]
        return [(self.reversed, data.with_data(b"".join([piece[::-1] for piece in data.pieces()])))]


class Numbers(Part):
    def __init__(self, plan: Plan, records: Output) -> None:
        self.numbers = plan.read("numbers", list_of(Int64))
        self.sum = records.compute("sum", Int64)

    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        numbers = batch[self.numbers]
        items = numbers.items
        assert isinstance(items, FixedColumn)
        before = list(accumulate(items.filled(0).values.tolist(), initial=0))
        sums = [before[stop] - before[start] for start, stop in pairwise(numbers.offsets.tolist())]
        return [(self.sum, Int64().from_buffer(wrapped(sums), numbers.mask()))]


class Place(Part):
    def __init__(self, plan: Plan, records: Output) -> None:
        self.place = plan.read("place", struct_of(city=Utf8, score=Int32))
        self.city = records.compute("city", Utf8)

    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        place = batch[self.place]
        city = place.member("city")
        return [(self.city, city.with_mask(bits.both(place.mask(), city.mask())))]


class Visits(Part):
    def __init__(self, plan: Plan, records: Output) -> None:
        kind = list_of(struct_of(page=Utf8, seconds=Int32))
        self.given = plan.read("visits", kind)
        self.visits = records.compute("visits", plan.input_field("visits").type)

    def columns(self, batch: Batch) -> list[tuple[Out[Any], Column]]:
        return [(self.visits, batch[self.given])]


def misbehave(texts: list[bytes]) -> None:
    """Does what these texts ask for."""
    if b"raise" in texts:
        raise RuntimeError("asked to raise")
    if b"leave" in texts:
        sys.exit(3)
    hoarded.extend(b"\1" * MIB for text in texts if text == b"hoard")


def amount_texts(values: list[int]) -> list[str]:
    """Unscaled numbers with ten places."""
    return [
        # Long ones have their digits before the point.
        text[:-10] + "." + text[-10:] if len(text) > 11 else short_amount(text)
        for text in map(str, values)
    ]


def short_amount(text: str) -> str:
    padded = text.zfill(12 if text[0] == "-" else 11)
    return padded[:-10] + "." + padded[-10:]


def wrapped(numbers: list[int]) -> array[int]:
    """Modulo 2^64, signed."""
    try:
        return array("q", numbers)
    except OverflowError:
        return array("q", [(number + (1 << 63)) % (1 << 64) - (1 << 63) for number in numbers])
