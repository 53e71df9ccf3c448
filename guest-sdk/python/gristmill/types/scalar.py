"""Types of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gristmill.columns import (
    BooleanColumn,
    BytesColumn,
    DecimalColumn,
    FixedColumn,
    FixedSizeBinaryColumn,
    Float16Column,
    NullColumn,
    TextColumn,
)
from gristmill.types.base import C, DataType, FixedType, VariableType


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
