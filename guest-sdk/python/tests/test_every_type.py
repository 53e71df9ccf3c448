"""Every type of the contract: built, read, picked, and through a transform."""

import datetime as dt
import unittest
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from gristmill import (
    Batch,
    Binary,
    Boolean,
    Column,
    DataType,
    Date32,
    Date64,
    Decimal128,
    Decimal256,
    Duration,
    Field,
    FixedSizeBinary,
    FixedSizeList,
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    LargeBinary,
    LargeList,
    LargeUtf8,
    List,
    Map,
    Null,
    Outputs,
    Plan,
    Setup,
    Stage,
    Struct,
    Time32,
    Time64,
    Timestamp,
    TimeUnit,
    Transform,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Utf8,
    list_of,
    map_of,
    struct_of,
)
from gristmill.schema import read_columns, read_fields, write_columns, write_field
from gristmill.testing import Harness, Table
from gristmill.testing.check import check_column
from gristmill.types import accepts

PLACE = struct_of(city=Utf8, score=Int32)
VALUES: list[tuple[DataType[Any], list[Any]]] = [
    (Null(), [None, None, None]),
    (Boolean(), [True, None, False]),
    (Int8(), [-128, None, 127]),
    (Int16(), [-32768, None, 32767]),
    (Int32(), [-(2**31), None, 2**31 - 1]),
    (Int64(), [-(2**63), None, 2**63 - 1]),
    (UInt8(), [0, None, 255]),
    (UInt16(), [0, None, 65535]),
    (UInt32(), [0, None, 2**32 - 1]),
    (UInt64(), [0, None, 2**64 - 1]),
    (Float16(), [0.5, None, -65504.0]),
    (Float32(), [0.5, None, float("inf")]),
    (Float64(), [0.1, None, 5e-324]),
    (Decimal128(38, 10), [Decimal("1.5"), None, Decimal("-9999999999999999999999999999.9999999999")]),
    (Decimal128(4, 2), [Decimal("12.34"), None, Decimal("-0.01")]),
    (Decimal256(76, -2), [Decimal(10) ** 70, None, Decimal("-300")]),
    (Utf8(), ["", None, "Zürich"]),
    (LargeUtf8(), ["plain", None, ""]),
    (Binary(), [b"", None, b"\xff\x00"]),
    (LargeBinary(), [b"a", None, b""]),
    (FixedSizeBinary(3), [b"abc", None, b"\x00\x01\x02"]),
    (FixedSizeBinary(0), [b"", None, b""]),
    (Date32(), [-1, None, 19_000]),
    (Date64(), [-86_400_000, None, 0]),
    (Time32(TimeUnit.SECOND), [0, None, 86_399]),
    (Time64(TimeUnit.NANOSECOND), [0, None, 86_399_999_999_999]),
    (Timestamp(TimeUnit.MICROSECOND, "Europe/Paris"), [-1, None, 2**62]),
    (Timestamp(TimeUnit.SECOND), [0, None, 1]),
    (Duration(TimeUnit.MILLISECOND), [-5, None, 5]),
    (list_of(Int64), [[1, None], None, []]),
    (LargeList(Field("item", Utf8())), [["a"], None, ["b", ""]]),
    (FixedSizeList(Field("item", Int16()), 2), [[1, 2], None, [None, 4]]),
    (PLACE, [{"city": "Wien", "score": None}, None, {"city": None, "score": 2}]),
    (Struct(()), [{}, None, {}]),
    (map_of(Utf8, Int32), [[("a", 1), ("b", None)], None, []]),
    (list_of(PLACE), [[None, {"city": "x", "score": 1}], None, []]),
    (list_of(list_of(Boolean)), [[[True], None], None, [[], [False, None]]]),
]


def each_type(check: Callable[[Any, DataType[Any], list[Any]], None]) -> Callable[[Any], None]:
    def test(self: unittest.TestCase) -> None:
        for data_type, values in VALUES:
            with self.subTest(str(data_type)):
                check(self, data_type, values)

    return test


class EveryTypeTest(unittest.TestCase):
    def build(self, data_type: DataType[Any], values: list[Any]) -> Column:
        column = data_type.of(values)
        check_column("x", column)
        return column

    def test_all_types_are_here(self) -> None:
        missing = {kind for kind in _leaves(DataType) if "name" in vars(kind)} - {type(of) for of, _ in VALUES}
        self.assertEqual(missing, set())

    @each_type
    def test_values_come_back(self, data_type: DataType[Any], values: list[Any]) -> None:
        column = self.build(data_type, values)
        self.assertEqual(column.to_list(), values)
        self.assertEqual(list(column), values)
        self.assertEqual([column[i] for i in range(len(column))], values)
        self.assertEqual(column.null_count, values.count(None))
        self.assertEqual(column.nulls(), [i for i, value in enumerate(values) if value is None])

    @each_type
    def test_columns_without_nulls_and_without_values(self, data_type: DataType[Any], values: list[Any]) -> None:
        whole = [value for value in values if value is not None]
        column = self.build(data_type, whole)
        self.assertEqual(column.to_list(), whole)
        self.assertIsNone(column.mask() if whole else None)
        self.assertEqual(self.build(data_type, []).to_list(), [])

    @each_type
    def test_rows_are_picked(self, data_type: DataType[Any], values: list[Any]) -> None:
        column = self.build(data_type, values)
        for rows in ([2, 0], [0, 1, 2], [1], [], [0, 0, 2, 2]):
            taken = column.take(rows)
            check_column("x", taken)
            self.assertEqual(taken.to_list(), [values[row] for row in rows])
        for rows in ([], [1], [0, 2], [0, 1, 2]):
            kept = column.without(rows)
            check_column("x", kept)
            self.assertEqual(kept.to_list(), [value for row, value in enumerate(values) if row not in rows])
        for rows in ([3], [-1]):
            self.assertRaises(IndexError, column.take, rows)
        self.assertRaises(IndexError, column.without, [2, 1])

    @each_type
    def test_schema_and_columns_cross(self, data_type: DataType[Any], values: list[Any]) -> None:
        fields = [Field("first", data_type), Field("second", Int8(), nullable=False)]
        tree = [node for field in fields for node in write_field(field)]
        self.assertEqual(read_fields(tree), fields)
        columns = [data_type.of(values), Int8().of([1, 2, 3])]
        crossed = read_columns(fields, write_columns(columns))
        self.assertEqual([column.to_list() for column in crossed], [values, [1, 2, 3]])

    @each_type
    def test_through_a_transform(self, data_type: DataType[Any], values: list[Any]) -> None:
        table = Table().add("x", data_type, values)
        run = Harness(Stage.MIGRATE).run(Same, table)
        self.assertEqual(run.output()["x"], values)
        self.assertEqual(run.output().fields, table.fields)


class Same(Transform):
    """Gives back what it reads."""

    def plan(self, setup: Setup, plan: Plan) -> None:
        records = plan.output("records")
        self.columns = [(plan.read(field.name), records.compute(field.name, field.type)) for field in setup.input]

    def process(self, batch: Batch, outputs: Outputs) -> None:
        for handle, out in self.columns:
            outputs.set(out, batch[handle])


class ValuesTest(unittest.TestCase):
    def test_what_a_column_cannot_hold(self) -> None:
        for data_type, value, error in [
            (Null(), 1, TypeError),
            (Boolean(), 1, TypeError),
            (Int8(), 128, OverflowError),
            (Int8(), "1", TypeError),
            (Int64(), 1.5, TypeError),
            (UInt8(), -1, OverflowError),
            (Float16(), 1e6, OverflowError),
            (Float16(), "1", TypeError),
            (Float64(), "1", TypeError),
            (Decimal128(4, 2), Decimal("0.001"), OverflowError),
            (Decimal128(4, 2), Decimal(100), OverflowError),
            (Decimal128(4, 2), Decimal("NaN"), OverflowError),
            (Decimal128(4, 2), 1.5, TypeError),
            (Utf8(), b"x", TypeError),
            (Utf8(), "\ud800", ValueError),
            (Binary(), "x", TypeError),
            (FixedSizeBinary(2), b"x", OverflowError),
            (list_of(Int8), "no", TypeError),
            (list_of(Int8), [300], OverflowError),
            (FixedSizeList(Field("item", Int8()), 2), [1], OverflowError),
            (PLACE, {"town": "x"}, TypeError),
            (Date32(), "2024-01-01", TypeError),
            (Date32(), dt.datetime(2024, 1, 1), TypeError),
            (Timestamp(TimeUnit.SECOND, "UTC"), dt.datetime(2024, 1, 1), TypeError),
            (Timestamp(TimeUnit.SECOND), dt.datetime(2024, 1, 1, tzinfo=dt.UTC), TypeError),
        ]:
            with self.subTest(f"{data_type}: {value!r}"), self.assertRaises(error):
                data_type.of([value, None])

    def test_dates_and_times(self) -> None:
        day, time = dt.date(1969, 12, 31), dt.time(23, 59, 58, 500_000)
        paris = dt.timezone(dt.timedelta(hours=1))
        for data_type, value, raw in [
            (Date32(), day, -1),
            (Date64(), day, -86_400_000),
            (Time32(TimeUnit.MILLISECOND), time, 86_398_500),
            (Time64(TimeUnit.NANOSECOND), time, 86_398_500_000_000),
            (Timestamp(TimeUnit.SECOND), dt.datetime(1969, 12, 31, 23, 59, 59, 1), -1),
            (Timestamp(TimeUnit.MICROSECOND, "Europe/Paris"), dt.datetime(1970, 1, 1, 1, tzinfo=paris), 0),
            (Duration(TimeUnit.MILLISECOND), dt.timedelta(hours=-1), -3_600_000),
        ]:
            with self.subTest(str(data_type)):
                self.assertEqual(data_type.of([value, None]).to_list(), [raw, None])

    def test_decimals_as_whole_numbers(self) -> None:
        for data_type in (Decimal128(38, 2), Decimal256(76, 2)):
            numbers = [1250, None, -1, 2**63, -(2**63), -(2**64), 10**38 - 1]
            column = data_type.from_unscaled(numbers)
            check_column("x", column)
            self.assertEqual(column.unscaled(), numbers)
            self.assertEqual(column[0], Decimal("12.50"))
        with self.assertRaises(OverflowError):
            Decimal128(38, 0).from_unscaled([10**38])

    def test_decimals_are_not_rounded(self) -> None:
        most = Decimal128(38, 10).from_unscaled([10**38 - 1])[0]
        self.assertEqual(Decimal128(38, 10).of([-most]).unscaled(), [1 - 10**38])

    def test_texts_behind_nulls_need_not_be_utf8(self) -> None:
        column = Utf8().from_pieces(["é".encode(), b"\xff"], b"\x01\x00")
        check_column("x", column)
        self.assertEqual(column.to_list(), ["é", None])

    def test_bulk_parts_must_fit(self) -> None:
        with self.assertRaises(ValueError):
            Int64().from_buffer(b"1234567")
        with self.assertRaises(ValueError):
            Int8().from_buffer(b"12", b"\x01")
        with self.assertRaises(ValueError):
            Utf8().of(["ab"]).with_data(b"abc")

    def test_nulls_are_filled(self) -> None:
        for values in ([1, None, 3, None], [1, 2], [None], []):
            filled = Int64().of(values).filled(-1)
            check_column("x", filled)
            self.assertEqual(filled.to_list(), [-1 if value is None else value for value in values])
        self.assertEqual(Decimal128(9, 2).of([None, 1]).filled(Decimal("0.5")).unscaled(), [50, 100])

    def test_what_a_kind_accepts(self) -> None:
        entry, required = Field("entry", Int64()), Field("item", Int64(), nullable=False)
        for kind, data_type, fits in [
            (Int64, Int64(), True),
            (Int64(), Int32(), False),
            (Timestamp, Timestamp(TimeUnit.SECOND, "UTC"), True),
            (Timestamp(TimeUnit.SECOND), Timestamp(TimeUnit.SECOND, "UTC"), False),
            (list_of(Int64), List(entry), True),
            (list_of(Int64), List(required), True),
            (list_of(Int64), LargeList(entry), False),
            (list_of(Int32), List(entry), False),
            (FixedSizeList(entry, 2), FixedSizeList(required, 2), True),
            (FixedSizeList(entry, 2), FixedSizeList(entry, 3), False),
            (struct_of(a=Int64), Struct((Field("a", Int64(), nullable=False),)), True),
            (struct_of(a=Int64), struct_of(b=Int64), False),
            (struct_of(a=Int64), struct_of(a=Int64, b=Int64), False),
            (map_of(Utf8, Int64), map_of(Utf8, Int64), True),
            (map_of(Utf8, Int64), map_of(Utf8, Utf8), False),
        ]:
            with self.subTest(f"{kind} {data_type}"):
                self.assertEqual(accepts(kind, data_type), fits)

    def test_members_and_entries(self) -> None:
        places = PLACE.of([{"city": "Wien", "score": 1}, None])
        self.assertEqual(places.member("city").to_list(), ["Wien", None])
        self.assertRaises(KeyError, places.member, "town")
        maps = Map(map_of(Utf8, Int8).entries, sorted=True).of([{"a": 1}, {"b": 2}])
        self.assertEqual((maps.keys.to_list(), maps.values.to_list()), (["a", "b"], [1, 2]))


def _leaves(kind: type[Any]) -> set[type[Any]]:
    below: set[type[Any]] = {kind}
    for child in kind.__subclasses__():
        below |= _leaves(child)
    return below
