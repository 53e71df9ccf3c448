"""What all columns have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from gristmill import bits

if TYPE_CHECKING:
    from gristmill.types import DataType

Run = tuple[int, int]
"""A run of rows: the first, and the one behind the last."""


class Column:
    """A column, as received or as built. Its buffers are those of the Arrow columnar format and never change.

    `column[i]` and iteration give Python values, None for a null; `to_list()` is faster. For whole columns at once
    there are the buffers, with a mask (see `gristmill.bits`) of the values that are not null.
    """

    __slots__ = ("_mask", "buffers", "children", "length", "null_count", "type")

    def __init__(
        self,
        type: DataType[Any],
        length: int,
        null_count: int,
        buffers: Sequence[bytes],
        children: Sequence[Column] = (),
    ) -> None:
        self.type = type
        self.length = length
        self.null_count = null_count
        self.buffers = buffers
        self.children = children
        self._mask: bytes | None = None

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        """A column of Python values, None for nulls.

        Raises TypeError for a value of another sort and OverflowError for one that does not fit.
        """
        raise NotImplementedError

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"<{self.type} column of {self.length} values, {self.null_count} null>"

    def mask(self) -> bytes | None:
        """A byte for each value, 0 for null and 1 for others; None where nothing is null."""
        if self.null_count == 0:
            return None
        if self._mask is None:
            self._mask = bits.expand(self.buffers[0], self.length)
        return self._mask

    def nulls(self) -> list[int]:
        """The places of the nulls."""
        return bits.zeros(self.mask())

    def is_null(self, i: int) -> bool:
        mask = self.mask()
        if mask is not None:
            return not mask[i]
        if not -self.length <= i < self.length:
            raise IndexError("the column has no such value")
        return False

    def __getitem__(self, i: int) -> Any:
        return None if self.is_null(i) else self._value(i % self.length)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list())

    def to_list(self) -> list[Any]:
        """All values, None for nulls."""
        values = self._values()
        for i in self.nulls():
            values[i] = None
        return values

    def pick(self, runs: Sequence[Run]) -> Self:
        """The rows of these runs, in their order."""
        length = rows_of(runs)
        mask, null_count, bitmap = self.mask(), 0, b""
        if mask is not None:
            picked = b"".join([mask[start:stop] for start, stop in runs])
            null_count = picked.count(0)
            bitmap = bits.pack(picked) if null_count else b""
        buffers, children = self._pick(runs)
        return type(self)(self.type, length, null_count, [bitmap, *buffers], children)

    def take(self, rows: Iterable[int]) -> Self:
        """These rows, in this order."""
        rows = list(rows)
        if rows and not (min(rows) >= 0 and max(rows) < self.length):
            raise IndexError(f"a row beyond the column's {self.length}")
        return self.pick([(row, row + 1) for row in rows])

    def without(self, rows: Sequence[int]) -> Self:
        """All rows but these, which are ascending: cheap where they are few.

        For several columns, `pick` with the runs of `runs_between` finds the runs once.
        """
        return self if not rows else self.pick(runs_between(rows, self.length))

    def with_mask(self, mask: bytes | None) -> Self:
        """The same values with the nulls of a mask."""
        null_count, bitmap = validity(mask, self.length)
        return type(self)(self.type, self.length, null_count, [bitmap, *self.buffers[1:]], self.children)

    def _value(self, i: int) -> Any:
        """A value that is not null."""
        raise NotImplementedError

    def _values(self) -> list[Any]:
        """All values; anything where they are null."""
        return [self._value(i) for i in range(self.length)]

    def _pick(self, runs: Sequence[Run]) -> tuple[list[bytes], list[Column]]:
        """Buffers but the first, and children, of these runs."""
        raise NotImplementedError


class NullColumn(Column):
    """Nothing but nulls."""

    __slots__ = ()

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        length = 0
        for value in values:
            if value is not None:
                raise TypeError("a column of type null holds nulls")
            length += 1
        return cls(type, length, length, [])

    def mask(self) -> bytes | None:
        return bytes(self.length)

    def is_null(self, i: int) -> bool:
        return True

    def to_list(self) -> list[Any]:
        return [None] * self.length

    def pick(self, runs: Sequence[Run]) -> Self:
        length = rows_of(runs)
        return type(self)(self.type, length, length, [])

    def with_mask(self, mask: bytes | None) -> Self:
        return self


def runs_between(rows: Sequence[int], length: int) -> list[Run]:
    """The runs that these ascending rows leave of a column."""
    runs, start = [], 0
    for row in rows:
        if not start <= row < length:
            raise IndexError("rows to leave out do not ascend within the column")
        if row > start:
            runs.append((start, row))
        start = row + 1
    if start < length:
        runs.append((start, length))
    return runs


def rows_of(runs: Sequence[Run]) -> int:
    """How many rows runs have together."""
    # By way of two sums, so that no line of Python runs for each run.
    starts, stops = zip(*runs, strict=True) if runs else ((), ())
    return sum(stops) - sum(starts)


def validity(mask: bytes | None, length: int) -> tuple[int, bytes]:
    """Null count and bitmap of a mask. No null, no bitmap."""
    if mask is None:
        return 0, b""
    if len(mask) != length:
        raise ValueError(f"a mask of {len(mask)} for {length} values")
    null_count = mask.count(0)
    return null_count, bits.pack(mask) if null_count else b""


def mask_of(values: Sequence[Any]) -> bytes | None:
    """The mask of Python values; None where none of them is None."""
    mask = bytes([value is not None for value in values])
    return mask if 0 in mask else None
