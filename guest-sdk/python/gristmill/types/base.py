"""What types have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from gristmill.columns import Column, FixedColumn
from gristmill.columns.fixed import Buffer

C = TypeVar("C", bound=Column)


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


class VariableType(DataType[C]):
    """Values of a length of their own, behind offsets."""

    offset_code: ClassVar[str] = "i"


def whole(kind: type[DataType[C]] | DataType[C]) -> DataType[C]:
    """A type from its class, where the class says all."""
    return kind() if isinstance(kind, type) else kind
