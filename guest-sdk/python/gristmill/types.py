"""Column types and fields.

Types are written as a class where nothing is left open (`Int64`) and as a value where something is
(`Timestamp(TimeUnit.MICROSECOND, "UTC")`). To read a column, the class alone accepts all its values: `Timestamp`.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from gristmill.columns import (
    BooleanColumn,
    BytesColumn,
    Column,
    DecimalColumn,
    FixedColumn,
    FixedSizeBinaryColumn,
    FixedSizeListColumn,
    Float16Column,
    ListColumn,
    MapColumn,
    NullColumn,
    StructColumn,
    TextColumn,
)
from gristmill.columns.fixed import Buffer

C = TypeVar("C", bound=Column)


class Stage(enum.Enum):
    """What a transform is used for."""

    NORMALIZE = "normalize"
    MIGRATE = "migrate"
    MAP = "map"


class TimeUnit(enum.Enum):
    SECOND = "s"
    MILLISECOND = "ms"
    MICROSECOND = "us"
    NANOSECOND = "ns"

    @property
    def per_second(self) -> int:
        """How many of them a second has."""
        return {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[self.value]


@dataclass(frozen=True)
class Field:
    """A named column, or a member of a nested one."""

    name: str
    type: DataType[Any]
    nullable: bool = True


class DataType(Generic[C]):
    """The type of a column."""

    name: ClassVar[str]
    column: ClassVar[type[Column]]
    own_buffers: ClassVar[int] = 2
    """Buffers of a column of this type, without its children."""

    @property
    def width(self) -> int | None:
        """Bytes of a value, where all values have as many; none for all other types, booleans included."""
        return None

    @property
    def children(self) -> tuple[Field, ...]:
        """The members of a nested type; empty for all others."""
        return ()

    def of(self, values: Iterable[Any]) -> C:
        """A column of Python values, None for nulls.

        Raises TypeError for a value of another sort and OverflowError for one that the type cannot hold.
        """
        return self.column.from_values(self, values)  # type: ignore[return-value]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Null(DataType[NullColumn]):
    name = "null"
    column = NullColumn
    own_buffers = 0


@dataclass(frozen=True)
class Boolean(DataType[BooleanColumn]):
    name = "boolean"
    column = BooleanColumn

    def from_flags(self, flags: bytes, mask: bytes | None = None) -> BooleanColumn:
        """A column of flags, a byte for each value, and a mask of those that are not null."""
        return BooleanColumn.from_flags(self, flags, mask)


class FixedType(DataType[C]):
    """Values of a fixed width that are numbers underneath."""

    column = FixedColumn
    code: ClassVar[str]
    """How `array` and `memoryview` call the numbers."""

    @property
    def width(self) -> int | None:
        return {"b": 1, "B": 1, "h": 2, "H": 2, "e": 2, "i": 4, "I": 4, "f": 4}.get(self.code, 8)

    def to_raw(self, value: Any) -> Any:
        """The number of a Python value that is not one, such as a date."""
        return value

    def from_buffer(self, values: Buffer, mask: bytes | None = None) -> C:
        """A column of raw values, little-endian, and a mask of those that are not null."""
        return self.column.from_buffer(self, values, mask)  # type: ignore[return-value]


@dataclass(frozen=True)
class Int8(FixedType[FixedColumn]):
    name, code = "int8", "b"


@dataclass(frozen=True)
class Int16(FixedType[FixedColumn]):
    name, code = "int16", "h"


@dataclass(frozen=True)
class Int32(FixedType[FixedColumn]):
    name, code = "int32", "i"


@dataclass(frozen=True)
class Int64(FixedType[FixedColumn]):
    name, code = "int64", "q"


@dataclass(frozen=True)
class UInt8(FixedType[FixedColumn]):
    name, code = "uint8", "B"


@dataclass(frozen=True)
class UInt16(FixedType[FixedColumn]):
    name, code = "uint16", "H"


@dataclass(frozen=True)
class UInt32(FixedType[FixedColumn]):
    name, code = "uint32", "I"


@dataclass(frozen=True)
class UInt64(FixedType[FixedColumn]):
    name, code = "uint64", "Q"


@dataclass(frozen=True)
class Float16(FixedType[Float16Column]):
    name, code = "float16", "e"
    column = Float16Column


@dataclass(frozen=True)
class Float32(FixedType[FixedColumn]):
    name, code = "float32", "f"


@dataclass(frozen=True)
class Float64(FixedType[FixedColumn]):
    name, code = "float64", "d"


class DecimalType(FixedType[DecimalColumn]):
    """Decimals: unscaled whole numbers, of at most `precision` digits, divided by 10 to the power `scale`."""

    column = DecimalColumn
    precision: int
    scale: int

    def from_unscaled(self, values: Iterable[int | None]) -> DecimalColumn:
        """A column of unscaled numbers: 1250 is 12.50 where the scale is 2."""
        return DecimalColumn.from_unscaled(self, values)

    def __str__(self) -> str:
        return f"{self.name}({self.precision}, {self.scale})"


@dataclass(frozen=True)
class Decimal128(DecimalType):
    """At most 38 digits."""

    precision: int
    scale: int
    name, code = "decimal128", "q"

    @property
    def width(self) -> int | None:
        return 16

    __str__ = DecimalType.__str__


@dataclass(frozen=True)
class Decimal256(DecimalType):
    """At most 76 digits."""

    precision: int
    scale: int
    name, code = "decimal256", "q"

    @property
    def width(self) -> int | None:
        return 32

    __str__ = DecimalType.__str__


class VariableType(DataType[C]):
    """Values of a length of their own, behind offsets."""

    offset_code: ClassVar[str] = "i"


class _BytesType(VariableType[C]):
    own_buffers = 3

    def from_pieces(self, pieces: Sequence[bytes], mask: bytes | None = None) -> C:
        """A column of the bytes of each value, which for a text are UTF-8, and a mask of those that are not null."""
        return self.column.from_pieces(self, pieces, mask)  # type: ignore[attr-defined, no-any-return]

    def from_lengths(self, data: bytes, lengths: Sequence[int], mask: bytes | None = None) -> C:
        """A column of the bytes of all values together, the length of each, and a mask of those that are not null."""
        return self.column.from_lengths(self, data, lengths, mask)  # type: ignore[attr-defined, no-any-return]


@dataclass(frozen=True)
class Utf8(_BytesType[TextColumn]):
    name = "utf8"
    column = TextColumn


@dataclass(frozen=True)
class LargeUtf8(_BytesType[TextColumn]):
    name, offset_code = "large-utf8", "q"
    column = TextColumn


@dataclass(frozen=True)
class Binary(_BytesType[BytesColumn]):
    name = "binary"
    column = BytesColumn


@dataclass(frozen=True)
class LargeBinary(_BytesType[BytesColumn]):
    name, offset_code = "large-binary", "q"
    column = BytesColumn


@dataclass(frozen=True)
class FixedSizeBinary(DataType[FixedSizeBinaryColumn]):
    """Byte strings of one width."""

    bytes: int
    name = "fixed-size-binary"
    column = FixedSizeBinaryColumn

    @property
    def width(self) -> int | None:
        return self.bytes

    def __str__(self) -> str:
        return f"fixed-size-binary({self.bytes})"


_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_DAY = _EPOCH.toordinal()


@dataclass(frozen=True)
class Date32(FixedType[FixedColumn]):
    """Days since 1970-01-01. Columns are also built of `datetime.date`."""

    name, code = "date32", "i"

    def to_raw(self, value: Any) -> Any:
        return _days(value) if isinstance(value, dt.date) else value


@dataclass(frozen=True)
class Date64(FixedType[FixedColumn]):
    """Milliseconds since 1970-01-01. Columns are also built of `datetime.date`."""

    name, code = "date64", "q"

    def to_raw(self, value: Any) -> Any:
        return _days(value) * 86_400_000 if isinstance(value, dt.date) else value


class _UnitType(FixedType[FixedColumn]):
    unit: TimeUnit

    def __str__(self) -> str:
        return f"{self.name}({self.unit.value})"


@dataclass(frozen=True)
class Time32(_UnitType):
    """Seconds or milliseconds since midnight. Columns are also built of `datetime.time`."""

    unit: TimeUnit
    name, code = "time32", "i"

    def to_raw(self, value: Any) -> Any:
        return _since_midnight(value, self.unit) if isinstance(value, dt.time) else value

    __str__ = _UnitType.__str__


@dataclass(frozen=True)
class Time64(_UnitType):
    """Microseconds or nanoseconds since midnight. Columns are also built of `datetime.time`."""

    unit: TimeUnit
    name, code = "time64", "q"

    def to_raw(self, value: Any) -> Any:
        return _since_midnight(value, self.unit) if isinstance(value, dt.time) else value

    __str__ = _UnitType.__str__


@dataclass(frozen=True)
class Timestamp(_UnitType):
    """Since 1970-01-01T00:00:00, in UTC where there is a zone, else local time.

    Columns are also built of `datetime.datetime`: with a zone where the type has one, without where it has none.
    """

    unit: TimeUnit
    zone: str | None = None
    """An IANA name or a fixed offset such as `+00:00`."""
    name, code = "timestamp", "q"

    def to_raw(self, value: Any) -> Any:
        if not isinstance(value, dt.datetime):
            return value
        if (value.tzinfo is None) != (self.zone is None):
            raise TypeError("one of the time and its column has a zone, the other has not")
        if value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        return _units(value - _EPOCH, self.unit)

    def __str__(self) -> str:
        return f"timestamp({self.unit.value}{f', {self.zone}' if self.zone else ''})"


@dataclass(frozen=True)
class Duration(_UnitType):
    """Columns are also built of `datetime.timedelta`."""

    unit: TimeUnit
    name, code = "duration", "q"

    def to_raw(self, value: Any) -> Any:
        return _units(value, self.unit) if isinstance(value, dt.timedelta) else value

    __str__ = _UnitType.__str__


def _days(value: dt.date) -> int:
    return value.toordinal() - _EPOCH_DAY


def _units(value: dt.timedelta, unit: TimeUnit) -> int:
    """Rounded down where the unit is coarser than a microsecond."""
    return value // dt.timedelta(microseconds=1) * unit.per_second // 1_000_000


def _since_midnight(value: dt.time, unit: TimeUnit) -> int:
    return _units(dt.datetime.combine(_EPOCH, value.replace(tzinfo=None)) - _EPOCH, unit)


@dataclass(frozen=True)
class List(VariableType[ListColumn]):
    """Lists of items of one type."""

    item: Field
    name = "list"
    column = ListColumn

    @property
    def children(self) -> tuple[Field, ...]:
        return (self.item,)

    def from_items(self, items: Column, lengths: Sequence[int], mask: bytes | None = None) -> ListColumn:
        """A column of the items of all lists together, how many each has, and a mask of those that are not null."""
        return ListColumn.from_items(self, items, lengths, mask)

    def __str__(self) -> str:
        return f"{self.name}<{self.item.type}>"


@dataclass(frozen=True)
class LargeList(List):
    """Lists with offsets of 64 bits."""

    name, offset_code = "large-list", "q"

    __str__ = List.__str__


@dataclass(frozen=True)
class FixedSizeList(DataType[FixedSizeListColumn]):
    """Lists of one size."""

    item: Field
    size: int
    name = "fixed-size-list"
    column = FixedSizeListColumn
    own_buffers = 1

    @property
    def children(self) -> tuple[Field, ...]:
        return (self.item,)

    def __str__(self) -> str:
        return f"fixed-size-list<{self.item.type}, {self.size}>"


@dataclass(frozen=True)
class Struct(DataType[StructColumn]):
    members: tuple[Field, ...]
    name = "struct"
    column = StructColumn
    own_buffers = 1

    @property
    def children(self) -> tuple[Field, ...]:
        return self.members

    def from_members(self, members: Sequence[Column], length: int, mask: bytes | None = None) -> StructColumn:
        """A column of a column for each member, and a mask of the structs that are not null."""
        return StructColumn.from_members(self, members, length, mask)

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{member.name}: {member.type}' for member in self.members)}>"


@dataclass(frozen=True)
class Map(VariableType[MapColumn]):
    """Maps. `entries` is a non-null struct of two members, the keys (never null) and the values."""

    entries: Field
    sorted: bool = False
    name = "map"
    column = MapColumn

    @property
    def children(self) -> tuple[Field, ...]:
        return (self.entries,)

    def __str__(self) -> str:
        key, value = self.entries.type.children
        return f"map<{key.type}, {value.type}>"


def list_of(item: type[DataType[Any]] | DataType[Any]) -> List:
    """Lists of nullable items."""
    return List(Field("item", whole(item)))


def struct_of(**members: type[DataType[Any]] | DataType[Any]) -> Struct:
    """Structs of nullable members."""
    return Struct(tuple(Field(name, whole(member)) for name, member in members.items()))


def map_of(key: type[DataType[Any]] | DataType[Any], value: type[DataType[Any]] | DataType[Any]) -> Map:
    """Maps with nullable values and unsorted keys."""
    pair = Struct((Field("key", whole(key), nullable=False), Field("value", whole(value))))
    return Map(Field("entries", pair, nullable=False))


def accepts(kind: type[DataType[Any]] | DataType[Any], data_type: DataType[Any]) -> bool:
    """Whether a column of the type can be read as this kind. Names of items and what may be null make no difference."""
    if isinstance(kind, type):
        return isinstance(data_type, kind)
    if not kind.children:
        return kind == data_type
    same_names = not isinstance(kind, Struct) or [m.name for m in kind.children] == [m.name for m in data_type.children]
    alike = type(kind) is type(data_type) and len(kind.children) == len(data_type.children) and same_names
    if isinstance(kind, FixedSizeList) and isinstance(data_type, FixedSizeList):
        alike = alike and kind.size == data_type.size
    return alike and all(
        accepts(mine.type, other.type) for mine, other in zip(kind.children, data_type.children, strict=True)
    )


def whole(kind: type[DataType[C]] | DataType[C]) -> DataType[C]:
    """A type from its class, where the class says all."""
    return kind() if isinstance(kind, type) else kind
