"""Types of lists, structs and maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gristmill.columns import Column, FixedSizeListColumn, ListColumn, MapColumn, StructColumn
from gristmill.types.base import DataType, Field, VariableType, whole


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
