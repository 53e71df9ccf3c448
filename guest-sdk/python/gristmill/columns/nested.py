"""Columns of lists, structs and maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Self

from gristmill.columns.base import Column, Run, mask_of, validity
from gristmill.columns.bytes import OffsetColumn, offset_buffer

if TYPE_CHECKING:
    from gristmill.types import DataType, FixedSizeList, Map, Struct


class ListColumn(OffsetColumn):
    """Lists. Python values are lists."""

    __slots__ = ()

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        values = list(values)
        mask = mask_of(values)
        lists = [value or () for value in values]
        if any(isinstance(value, str | bytes) for value in lists):
            raise TypeError("not a list")
        items = type.children[0].type.of(chain.from_iterable(lists))
        return cls.from_items(type, items, list(map(len, lists)), mask)

    @classmethod
    def from_items(cls, type: DataType[Any], items: Column, lengths: Sequence[int], mask: bytes | None = None) -> Self:
        """A column of the items of all lists together, how many each has, and their mask."""
        null_count, bitmap = validity(mask, len(lengths))
        offsets = offset_buffer(type.offset_code, lengths)  # type: ignore[attr-defined]
        return cls(type, len(lengths), null_count, [bitmap, offsets], [items])

    @property
    def items(self) -> Column:
        """The items of all lists, one list behind the other."""
        return self.children[0]

    def _value(self, i: int) -> Any:
        offsets = self.offsets
        return self.items.pick([(offsets[i], offsets[i + 1])]).to_list()

    def _values(self) -> list[Any]:
        items, offsets = self.items.to_list(), self.offsets.tolist()
        return [items[start:stop] for start, stop in pairwise(offsets)]

    def _pick(self, runs: Sequence[Run]) -> tuple[list[bytes], list[Column]]:
        offsets, inner = self._pick_inner(runs)
        return [offsets], [self.items.pick(inner)]


class FixedSizeListColumn(Column):
    """Lists of one size. Python values are lists."""

    __slots__ = ()
    type: FixedSizeList

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        values = list(values)
        size: int = type.size  # type: ignore[attr-defined]
        blank = [None] * size
        lists = [blank if value is None else value for value in values]
        if any(len(value) != size for value in lists):
            raise OverflowError(f"not {size} items")
        null_count, bitmap = validity(mask_of(values), len(values))
        items = type.children[0].type.of(chain.from_iterable(lists))
        return cls(type, len(values), null_count, [bitmap], [items])

    @property
    def items(self) -> Column:
        """The items of all lists, one list behind the other."""
        return self.children[0]

    def _value(self, i: int) -> Any:
        size = self.type.size
        return self.items.pick([(i * size, (i + 1) * size)]).to_list()

    def _values(self) -> list[Any]:
        items, size = self.items.to_list(), self.type.size
        return [items[i * size : (i + 1) * size] for i in range(self.length)]

    def _pick(self, runs: Sequence[Run]) -> tuple[list[bytes], list[Column]]:
        size = self.type.size
        return [], [self.items.pick([(start * size, stop * size) for start, stop in runs])]


class StructColumn(Column):
    """Structs. Python values are dictionaries by the members' names."""

    __slots__ = ()
    type: Struct

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        values = list(values)
        names = [member.name for member in type.children]
        for value in values:
            if value is not None and not (isinstance(value, Mapping) and value.keys() <= set(names)):
                raise TypeError("not a dictionary of the struct's members")
        members = [
            member.type.of([None if value is None else value.get(member.name) for value in values])
            for member in type.children
        ]
        return cls.from_members(type, members, len(values), mask_of(values))

    @classmethod
    def from_members(
        cls, type: DataType[Any], members: Sequence[Column], length: int, mask: bytes | None = None
    ) -> Self:
        """A column of a column for each member, and their mask."""
        null_count, bitmap = validity(mask, length)
        return cls(type, length, null_count, [bitmap], members)

    def member(self, name: str) -> Column:
        """The column of a member, which has a value, if only a null, also where the struct is null."""
        for field, column in zip(self.type.children, self.children, strict=True):
            if field.name == name:
                return column
        raise KeyError(name)

    def _value(self, i: int) -> Any:
        return {field.name: column[i] for field, column in zip(self.type.children, self.children, strict=True)}

    def _values(self) -> list[Any]:
        names = [field.name for field in self.type.children]
        if not names:
            return [{} for _ in range(self.length)]
        columns = [column.to_list() for column in self.children]
        return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]

    def _pick(self, runs: Sequence[Run]) -> tuple[list[bytes], list[Column]]:
        return [], [column.pick(runs) for column in self.children]


class MapColumn(ListColumn):
    """Maps. Python values are lists of pairs: keys need not differ, and need not be hashable."""

    __slots__ = ()
    type: Map

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        values = list(values)
        maps = [list(value.items()) if isinstance(value, Mapping) else list(value or ()) for value in values]
        entries = type.children[0]
        key, item = (member.name for member in entries.type.children)
        pairs = [{key: pair[0], item: pair[1]} for pair in chain.from_iterable(maps)]
        return cls.from_items(type, entries.type.of(pairs), list(map(len, maps)), mask_of(values))

    @property
    def keys(self) -> Column:
        """The keys of all maps, one map behind the other."""
        return self.items.children[0]

    @property
    def values(self) -> Column:
        """The values of all maps, one map behind the other."""
        return self.items.children[1]

    def _value(self, i: int) -> Any:
        return [tuple(entry.values()) for entry in super()._value(i)]

    def _values(self) -> list[Any]:
        pairs = list(zip(self.keys.to_list(), self.values.to_list(), strict=True))
        offsets = self.offsets.tolist()
        return [pairs[start:stop] for start, stop in pairwise(offsets)]
