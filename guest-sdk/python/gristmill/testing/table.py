"""Tables of test data."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Self

from gristmill.columns import Column
from gristmill.types import Boolean, DataType, DecimalType, Field, FixedType, whole

Kind = type[DataType[Any]] | DataType[Any]


class Table:
    """Named columns of one length."""

    def __init__(self, rows: int = 0) -> None:
        """`rows` counts only while there is no column."""
        self.fields: list[Field] = []
        self.columns: list[Column] = []
        self._rows = rows

    @classmethod
    def of(cls, **columns: tuple[Kind, Iterable[Any]]) -> Self:
        """A table of a type and values for each name: `Table.of(id=(Int64, [1, 2]))`."""
        table = cls()
        for name, (kind, values) in columns.items():
            table.add(name, kind, values)
        return table

    @classmethod
    def from_rows(cls, types: Mapping[str, Kind], rows: Iterable[Mapping[str, Any]]) -> Self:
        """A table of dictionaries; a value that a row leaves out is null."""
        rows, table = list(rows), cls()
        for name, kind in types.items():
            table.add(name, kind, [row.get(name) for row in rows])
        return table

    @classmethod
    def from_csv(cls, text: str, types: Mapping[str, Kind], null: str = "") -> Self:
        """A table of a CSV text with a header. A field that is `null` is null; columns without a type are left out."""
        rows = list(csv.DictReader(io.StringIO(text)))
        table = cls()
        for name, kind in types.items():
            read = _reader(whole(kind))
            table.add(name, kind, [None if row[name] == null else read(row[name]) for row in rows])
        return table

    def add(self, name: str, kind: Kind, values: Iterable[Any], nullable: bool = True) -> Self:
        """Adds a column of Python values."""
        data_type = whole(kind)
        return self.add_column(Field(name, data_type, nullable), data_type.of(values))

    def add_column(self, field: Field, column: Column) -> Self:
        """Adds a finished column."""
        if self.columns and len(column) != self.rows:
            raise ValueError(f"column {field.name} has {len(column)} values for {self.rows} rows")
        self.fields.append(field)
        self.columns.append(column)
        return self

    @property
    def rows(self) -> int:
        return len(self.columns[0]) if self.columns else self._rows

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]

    def column(self, name: str) -> Column:
        return self.columns[self.names.index(name)]

    def __getitem__(self, name: str) -> list[Any]:
        """The values of a column, None for nulls."""
        return self.column(name).to_list()

    def to_rows(self) -> list[dict[str, Any]]:
        """All rows as dictionaries."""
        if not self.columns:
            return [{} for _ in range(self.rows)]
        columns = [column.to_list() for column in self.columns]
        return [dict(zip(self.names, cells, strict=True)) for cells in zip(*columns, strict=True)]

    def take(self, rows: Iterable[int]) -> Self:
        """These rows, in this order."""
        rows = list(rows)
        taken = type(self)(len(rows))
        for field, column in zip(self.fields, self.columns, strict=True):
            taken.add_column(field, column.take(rows))
        return taken

    def __str__(self) -> str:
        """A line for the names and one for each row."""
        lines = [" | ".join(self.names)]
        lines += [" | ".join(map(_shown, row.values())) for row in self.to_rows()]
        return "\n".join(lines) + "\n"


def _reader(data_type: DataType[Any]) -> Any:
    match data_type:
        case Boolean():
            return {"true": True, "false": False}.__getitem__
        case DecimalType():
            return Decimal
        case FixedType() if data_type.code in "efd":
            return float
        case FixedType():
            return int
        case _:
            return str


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case bytes():
            return value.hex()
        case _:
            return str(value)
