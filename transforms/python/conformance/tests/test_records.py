"""Whole columns against the same rules, row by row."""

import math
import random
import struct
import unittest
from decimal import Decimal
from typing import Any

from gristmill import (
    Binary,
    Decimal128,
    Failure,
    Float64,
    Int32,
    Int64,
    Stage,
    Timestamp,
    TimeUnit,
    Utf8,
    list_of,
    struct_of,
)
from gristmill.testing import Harness, Run, Table

from transform import Conformance

MONEY = Decimal128(38, 10)
TYPES: dict[str, Any] = {
    "id": Int64,
    "code": Utf8,
    "text": Utf8,
    "amount": MONEY,
    "fee": MONEY,
    "at": Timestamp(TimeUnit.MICROSECOND, "Europe/Paris"),
    "count": Int64,
    "ratio": Float64,
    "data": Binary,
    "numbers": list_of(Int64),
    "place": struct_of(city=Utf8, score=Int32),
    "visits": list_of(struct_of(page=Utf8, seconds=Int32)),
}
CODES = Table.of(
    code=(Utf8, ["AT", "BE", "CH"]), name=(Utf8, ["Austria", "Belgium", None]), weight=(Int64, [9, None, -12])
)
MOST = Decimal("9999999999999999999999999999.9999999999")
DAY = 86_400_000_000
EDGES: dict[str, list[Any]] = {
    "code": ["AT", "BE", "CH", "XX"],
    "text": ["plain", " Trim ", "", "   ", "ÉCOLE", " REJECT", "rejected", "\tTab\t "],
    "amount": [Decimal(0), Decimal("-0.0000000001"), Decimal("1.5"), MOST, -MOST, Decimal(-12)],
    "fee": [Decimal(0), Decimal("0.0000000001"), Decimal("1.5"), MOST, -MOST, Decimal(2**64)],
    "at": [0, -1, DAY, -DAY, 2**63 - 1, -(2**63), 1_700_000_000_000_000],
    "count": [0, -1, 2**63 - 1, -(2**63), 12345],
    "ratio": [1.5, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308],
    "data": [b"", b"\x00\x01\xff", b"ab"],
    "numbers": [[], [1, None, -3], [None], [2**63 - 1, 1], [-(2**63), -1], [5]],
    "place": [{"city": "Wien", "score": 1}, {"city": None, "score": None}],
    "visits": [[], [None, {"page": "a", "seconds": 2}], [{"page": None, "seconds": None}]],
}


def wrap(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def fold(text: str | None) -> str | None:
    if text is None:
        return None
    trimmed = text.encode().strip(b" ")
    return bytes(byte + 32 if 65 <= byte <= 90 else byte for byte in trimmed).decode()


def expected(row: dict[str, Any], step: int) -> dict[str, Any] | tuple[str, str]:
    """The record of a row, or code and field of its reject."""
    text, amount, fee, at, count = (row[name] for name in ("text", "amount", "fee", "at", "count"))
    if fold(text) == "reject":
        return "refused", "text"
    both = amount is not None and fee is not None
    amounts = [int(value * 10**10) for value in (amount, fee)] if both else [0, 0]
    if abs(sum(amounts)) >= 10**38:
        return "overflow", "amount"
    if count is not None and not -(2**63) <= count + step < 2**63:
        return "overflow", "count"
    codes = {code["code"]: code for code in CODES.to_rows()}
    found = codes.get(row["code"], {"name": None, "weight": None})
    return {
        "id": row["id"],
        "name": found["name"],
        "weight": -1 if found["weight"] is None else found["weight"],
        "text": fold(text),
        "text_state": 0 if text is None else 2 if fold(text) else 1,
        "total": Decimal(sum(amounts)).scaleb(-10) if both else None,
        "negated": None if amount is None else amount.copy_negate(),
        "order": (amounts[0] > amounts[1]) - (amounts[0] < amounts[1]) if both else None,
        "amount_text": None if amount is None else f"{amount:.10f}",
        "day": None if at is None else at // DAY,
        "time": None if at is None else at % DAY,
        "next": None if count is None else count + step,
        "mixed": None if count is None else wrap(count * 31 + 7),
        "half": None if row["ratio"] is None else row["ratio"] * 0.5,
        "finite": None if row["ratio"] is None else math.isfinite(row["ratio"]),
        "reversed": None if row["data"] is None else row["data"][::-1],
        "sum": None if row["numbers"] is None else wrap(sum(item or 0 for item in row["numbers"])),
        "city": None if row["place"] is None else row["place"]["city"],
        "visits": row["visits"],
    }


def exact(value: Any) -> Any:
    """Floats by their bits."""
    return struct.pack("<d", value) if isinstance(value, float) else value


def run(table: Table, config: dict[str, Any] | None = None) -> Run:
    return Harness(Stage.NORMALIZE, config, {"codes": ("code", CODES)}).run(Conformance, table)


class RecordsTest(unittest.TestCase):
    def check(self, rows: list[dict[str, Any]], step: int) -> None:
        done = run(Table.from_rows(TYPES, rows), {"step": step})
        answers = [expected(row, step) for row in rows]
        records = [answer for answer in answers if isinstance(answer, dict)]
        self.assertEqual(done.output().names, list(expected(dict.fromkeys(TYPES), 1)))
        for given, answer in zip(done.output().to_rows(), records, strict=True):
            for name, value in answer.items():
                self.assertEqual(exact(given[name]), exact(value), name)
        rejects = [(row, *answer) for row, answer in enumerate(answers) if isinstance(answer, tuple)]
        self.assertEqual(done.reject_codes, rejects)
        self.assertEqual(done.messages, [f"{len(rejects)} of {len(rows)} rows rejected"] if rejects else [])

    def test_any_rows(self) -> None:
        for seed in range(30):
            source = random.Random(seed)
            nulls = source.choice([0.0, 0.2, 0.9])

            def cell(name: str, source: random.Random = source, nulls: float = nulls) -> Any:
                return None if source.random() < nulls else source.choice(EDGES[name])

            rows = [{"id": i} | {name: cell(name) for name in EDGES} for i in range(source.choice([0, 1, 7, 100]))]
            with self.subTest(seed=seed):
                self.check(rows, source.choice([1, -1000, 1000]))

    def test_ordinary_rows(self) -> None:
        source = random.Random(1)
        rows = [
            {
                "id": i,
                "code": "AT",
                "text": f"text {source.randrange(10**6)}",
                "amount": Decimal(source.randrange(-(10**25), 10**25)).scaleb(-10),
                "fee": Decimal(source.randrange(-(10**12), 10**12)).scaleb(-10),
                "at": source.randrange(-(10**15), 10**16),
                "count": source.randrange(-(10**12), 10**12),
                "ratio": source.uniform(-1e6, 1e6),
                "data": source.randbytes(source.randrange(20)),
                "numbers": [source.randrange(1000) for _ in range(source.randrange(5))],
                "place": {"city": "Wien", "score": i},
                "visits": [{"page": "a", "seconds": i}],
            }
            for i in range(500)
        ]
        self.check(rows, 1)

    def test_columns_are_there_where_their_inputs_are(self) -> None:
        self.assertEqual(run(Table.of(id=(Int64, [1]), fee=(MONEY, [1]))).output().names, ["id"])
        self.assertEqual(
            run(Table.of(count=(Int64, [1]), id=(Int64, [1]), note=(Utf8, ["x"]))).output().names,
            ["id", "next", "mixed"],
        )

    def test_a_row_that_asks_for_it_raises(self) -> None:
        self.assertEqual(run(Table.of(id=(Int64, [1, 2]), text=(Utf8, ["raised", "xraise"]))).rejects, [])
        with self.assertRaisesRegex(RuntimeError, "asked to raise"):
            run(Table.of(id=(Int64, [1, 2]), text=(Utf8, ["a", " RAISE "])))
        with self.assertRaises(SystemExit):
            run(Table.of(id=(Int64, [1]), text=(Utf8, ["Leave"])))
        self.assertEqual(run(Table.of(id=(Int64, [1]), text=(Utf8, ["hoard"]))).rejects, [])

    def test_refusals(self) -> None:
        number = Table.of(id=(Int64, [1]))
        for code, table, config in [
            ("bad-config", number, {"step": "one"}),
            ("bad-config", number, {"step": 1001}),
            ("bad-config", number, {"step": True}),
            ("bad-config", number, {"step": None}),
            ("missing-column", Table.of(text=(Utf8, ["a"])), {}),
            ("wrong-type", Table.of(id=(Utf8, ["a"])), {}),
            ("wrong-type", Table.of(id=(Int64, [1]), text=(Binary, [b"a"])), {}),
            ("wrong-type", Table.of(id=(Int64, [1]), at=(Timestamp(TimeUnit.SECOND), [1])), {}),
            ("wrong-type", Table.of(id=(Int64, [1]), code=(Int64, [1])), {}),
        ]:
            with self.subTest(code), self.assertRaises(Failure) as raised:
                run(table, config)
            self.assertEqual(raised.exception.code, code)
