"""Columns whose values have a fixed width: numbers, dates and times, booleans."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from gristmill import bits
from gristmill.columns.base import Column, Run, mask_of, validity

if TYPE_CHECKING:
    from gristmill.types import DataType, FixedType

Buffer: TypeAlias = "bytes | bytearray | memoryview | array[Any]"
_FLAGS = bytes([0] + [1] * 255)


class FixedColumn(Column):
    """Numbers, or dates, times, timestamps and durations as whole numbers of their unit."""

    __slots__ = ()
    type: FixedType[Any]

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        assert hasattr(type, "code") and hasattr(type, "to_raw")
        values = values if isinstance(values, list | tuple) else list(values)
        mask = None
        try:
            buffer = array(type.code, values)
        except TypeError:
            # Nulls, or values that only the type knows how to read, such as dates.
            mask = mask_of(values)
            buffer = array(type.code, [0 if value is None else type.to_raw(value) for value in values])
        return cls.from_buffer(type, buffer, mask)

    @classmethod
    def from_buffer(cls, type: DataType[Any], values: Buffer, mask: bytes | None) -> Self:
        """A column of raw little-endian values and their mask."""
        width = type.width
        assert width is not None
        buffer = values if isinstance(values, bytes) else bytes(values)
        length, rest = divmod(len(buffer), width)
        if rest:
            raise ValueError(f"{len(buffer)} bytes are no whole number of {type} values")
        null_count, bitmap = validity(mask, length)
        column = cls(type, length, null_count, [bitmap, buffer])
        column._mask = mask
        return column

    @property
    def buffer(self) -> bytes:
        """All values as bytes, little-endian; anything where they are null."""
        return self.buffers[1]

    @property
    def values(self) -> memoryview[Any]:
        """All values, without a copy; anything where they are null."""
        return memoryview(self.buffers[1]).cast(self.type.code)  # type: ignore[call-overload, no-any-return]

    def filled(self, value: Any) -> Self:
        """The same column with this value in place of nulls."""
        nulls = self.nulls()
        if not nulls:
            return self.with_mask(None)
        width, buffer = self.type.width, bytearray(self.buffers[1])
        assert width is not None
        filling = type(self).from_values(self.type, [value]).buffers[1]
        for i in nulls:
            buffer[i * width : (i + 1) * width] = filling
        return self.from_buffer(self.type, buffer, None)

    def _value(self, i: int) -> Any:
        return self.values[i]

    def _values(self) -> list[Any]:
        return self.values.tolist()

    def _pick(self, runs: Sequence[Run]) -> tuple[list[bytes], list[Column]]:
        width, buffer = self.type.width, self.buffers[1]
        assert width is not None
        return [b"".join([buffer[start * width : stop * width] for start, stop in runs])], []


class Float16Column(FixedColumn):
    """Floats of 16 bits, which `array` does not know."""

    __slots__ = ()

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        values = list(values)
        mask = mask_of(values)
        floats = [0.0 if value is None else value for value in values]
        try:
            buffer = struct.pack(f"<{len(floats)}e", *floats)
        except struct.error:
            raise TypeError("not a number") from None
        return cls.from_buffer(type, buffer, mask)

    @property
    def values(self) -> Any:
        return struct.unpack(f"<{self.length}e", self.buffers[1])

    def _values(self) -> list[Any]:
        return list(self.values)


class BooleanColumn(Column):
    """Booleans."""

    __slots__ = ()

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        values = list(values)
        mask = mask_of(values)
        if not all(isinstance(value, bool) for value in values if value is not None):
            raise TypeError("not a boolean")
        return cls.from_flags(type, bytes([value is True for value in values]), mask)

    @classmethod
    def from_flags(cls, type: DataType[Any], flags: bytes, mask: bytes | None = None) -> Self:
        """A column of flags, a byte for each value, and their mask."""
        null_count, bitmap = validity(mask, len(flags))
        return cls(type, len(flags), null_count, [bitmap, bits.pack(flags.translate(_FLAGS))])

    @property
    def flags(self) -> bytes:
        """A byte for each value, 0 or 1; anything where it is null."""
        return bits.expand(self.buffers[1], self.length)

    def _value(self, i: int) -> bool:
        return bool(self.buffers[1][i >> 3] >> (i & 7) & 1)

    def _values(self) -> list[Any]:
        return list(map(bool, self.flags))

    def _pick(self, runs: Sequence[Run]) -> tuple[list[bytes], list[Column]]:
        flags = self.flags
        return [bits.pack(b"".join([flags[start:stop] for start, stop in runs]))], []
