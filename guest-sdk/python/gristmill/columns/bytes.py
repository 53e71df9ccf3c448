"""Columns of texts and byte strings."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Self

from gristmill import lanes
from gristmill.columns.base import Column, Run, mask_of, validity

if TYPE_CHECKING:
    from gristmill.types import DataType, FixedSizeBinary, VariableType


class OffsetColumn(Column):
    """Values that lie one behind the other, each of its own length."""

    __slots__ = ()
    type: VariableType[Any]

    @property
    def offsets(self) -> memoryview[int]:
        """Where each value begins, and where the last one ends."""
        return memoryview(self.buffers[1]).cast(self.type.offset_code)  # type: ignore[call-overload, no-any-return]

    def lengths(self) -> list[int]:
        """The length of each value: bytes of texts and byte strings, items of lists. Anything where it is null."""
        lengths = lanes.differences(self.buffers[1], 4 if self.type.offset_code == "i" else 8)
        return memoryview(lengths).cast(self.type.offset_code).tolist()  # type: ignore[call-overload, no-any-return]

    def _pick_inner(self, runs: Sequence[Run]) -> tuple[bytes, list[Run]]:
        """New offsets, and the runs of bytes or items."""
        offsets = self.offsets
        lengths = self.lengths()
        picked: list[int] = []
        for start, stop in runs:
            picked += lengths[start:stop]
        return offset_buffer(self.type.offset_code, picked), [(offsets[start], offsets[stop]) for start, stop in runs]


class BytesColumn(OffsetColumn):
    """Byte strings."""

    __slots__ = ()

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        values = list(values)
        mask = mask_of(values)
        return cls.from_pieces(type, values if mask is None else [value or b"" for value in values], mask)

    @classmethod
    def from_pieces(cls, type: DataType[Any], pieces: Sequence[bytes], mask: bytes | None = None) -> Self:
        """A column of one byte string for each value, and their mask. Those of a text are UTF-8."""
        data = b"".join(pieces)
        return cls.from_lengths(type, data, list(map(len, pieces)), mask)

    @classmethod
    def from_lengths(cls, type: DataType[Any], data: bytes, lengths: Sequence[int], mask: bytes | None = None) -> Self:
        """A column of the bytes of all values together, the length of each, and their mask."""
        offsets = offset_buffer(type.offset_code, lengths)  # type: ignore[attr-defined]
        null_count, bitmap = validity(mask, len(lengths))
        column = cls(type, len(lengths), null_count, [bitmap, offsets, data])
        column._mask = mask
        return column

    def with_data(self, data: bytes) -> Self:
        """The same offsets and nulls over other bytes, as many: for what keeps lengths, such as `bytes.translate`."""
        if len(data) != len(self.data):
            raise ValueError(f"{len(data)} bytes instead of {len(self.data)}")
        return type(self)(self.type, self.length, self.null_count, [self.buffers[0], self.buffers[1], data])

    @property
    def data(self) -> bytes:
        """The bytes of all values, one behind the other."""
        return self.buffers[2]

    def pieces(self) -> list[bytes]:
        """The bytes of each value; anything where it is null."""
        data = self.data
        return [data[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    def _value(self, i: int) -> Any:
        offsets = self.offsets
        return self.data[offsets[i] : offsets[i + 1]]

    def _values(self) -> list[Any]:
        return self.pieces()

    def _pick(self, runs: Sequence[Run]) -> tuple[list[bytes], list[Column]]:
        offsets, inner = self._pick_inner(runs)
        data = self.data
        return [offsets, b"".join([data[start:stop] for start, stop in inner])], []


class TextColumn(BytesColumn):
    """Texts."""

    __slots__ = ()

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        values = list(values)
        mask = mask_of(values)
        texts = values if mask is None else [value or "" for value in values]
        joined = "".join(texts)
        data = joined.encode()
        # In ASCII, characters are bytes.
        lengths = list(map(len, texts if len(data) == len(joined) else [text.encode() for text in texts]))
        return cls.from_lengths(type, data, lengths, mask)

    def _value(self, i: int) -> Any:
        return super()._value(i).decode()

    def _values(self) -> list[Any]:
        data = self.data
        if data.isascii():
            text = data.decode("ascii")
            return [text[start:stop] for start, stop in pairwise(self.offsets.tolist())]
        # What lies behind a null need not be UTF-8.
        return [piece.decode("utf-8", "replace") for piece in self.pieces()]


class FixedSizeBinaryColumn(Column):
    """Byte strings of one width."""

    __slots__ = ()
    type: FixedSizeBinary

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        values = list(values)
        mask = mask_of(values)
        width = type.width or 0
        blank = bytes(width)
        pieces = [blank if value is None else value for value in values]
        data = b"".join(pieces)
        if any(len(piece) != width for piece in pieces):
            raise OverflowError(f"not {width} bytes")
        null_count, bitmap = validity(mask, len(values))
        return cls(type, len(values), null_count, [bitmap, data])

    @property
    def data(self) -> bytes:
        """The bytes of all values, one behind the other."""
        return self.buffers[1]

    def _value(self, i: int) -> bytes:
        width = self.type.width or 0
        return self.buffers[1][i * width : (i + 1) * width]

    def _pick(self, runs: Sequence[Run]) -> tuple[list[bytes], list[Column]]:
        width, data = self.type.width or 0, self.buffers[1]
        return [b"".join([data[start * width : stop * width] for start, stop in runs])], []


def offset_buffer(code: str, lengths: Iterable[int]) -> bytes:
    """Offsets from lengths. Raises OverflowError where 32 bits do not reach."""
    # By way of a list, whose length an array knows in advance.
    return array(code, list(accumulate(lengths, initial=0))).tobytes()
