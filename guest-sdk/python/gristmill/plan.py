"""The plan of a transform: what it reads, what it looks up and what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from gristmill.columns import Column, FixedColumn
from gristmill.contract import wit
from gristmill.errors import Failure
from gristmill.schema import write_field
from gristmill.setup import Setup
from gristmill.types import DataType, Field, UInt8, accepts, whole

C = TypeVar("C", bound=Column)
Kind = type[DataType[C]] | DataType[C]


@dataclass(frozen=True)
class Source:
    """A column that the runner has: an input column by its name, a look-up by its place, or the operations."""

    of: str | int | None

    def to_contract(self) -> Any:
        match self.of:
            case str():
                return wit.ColumnSource_Input(self.of)
            case int():
                return wit.ColumnSource_Lookup(self.of)
            case _:
                return wit.ColumnSource_Operation()


@dataclass(frozen=True)
class In(Generic[C]):
    """A column to read in `process`: `batch[handle]`."""

    place: int


@dataclass(frozen=True)
class Lookup:
    """A look-up of the plan: a dictionary's column, joined by the runner."""

    place: int
    dictionary: str
    key: str
    field: Field

    @property
    def type(self) -> DataType[Any]:
        """The type that the dictionary has the column in."""
        return self.field.type


@dataclass(frozen=True)
class Read:
    """A column that `process` receives, and how rows call it."""

    source: Source
    field: Field
    label: str


@dataclass(frozen=True)
class Out(Generic[C]):
    """A column to compute in `process`: `outputs.set(handle, values)`."""

    output: Output
    place: int
    """Among the output's computed columns."""
    field: Field
    type: DataType[C]


class Output:
    """An output of the plan. Its columns are given in the order in which they are declared."""

    def __init__(self, plan: Plan, place: int, name: str) -> None:
        self.name = name
        self.place = place
        self.columns: list[tuple[Field, Source | None]] = []
        """Fields and, for those that are forwarded, where they come from."""
        self._plan = plan

    @property
    def computed(self) -> list[Field]:
        return [field for field, source in self.columns if source is None]

    def forward(self, column: str, name: str | None = None) -> None:
        """The next column is an input column, under its own or another name. Its values do not cross the boundary."""
        field = self._plan.input_field(column)
        self._add(Field(name or column, field.type, field.nullable), Source(column))

    def forward_lookup(self, name: str, lookup: Lookup) -> None:
        """The next column is a look-up. Its values do not cross the boundary."""
        self._add(Field(name, lookup.field.type), Source(lookup.place))

    def forward_operation(self, name: str) -> None:
        """The next column is the operation of each row, as uint8."""
        self._add(Field(name, UInt8(), nullable=False), Source(None))

    def compute(self, name: str, kind: Kind[C]) -> Out[C]:
        """The next column is computed by `process` and may hold nulls."""
        return self._compute(name, whole(kind), nullable=True)

    def compute_required(self, name: str, kind: Kind[C]) -> Out[C]:
        """The next column is computed by `process` and never holds nulls."""
        return self._compute(name, whole(kind), nullable=False)

    def _compute(self, name: str, data_type: DataType[C], nullable: bool) -> Out[C]:
        field, place = Field(name, data_type, nullable), len(self.computed)
        self._add(field, None)
        return Out(self, place, field, data_type)

    def _add(self, field: Field, source: Source | None) -> None:
        if any(other.name == field.name for other, _ in self.columns):
            raise Failure("duplicate-column", f"output `{self.name}` has two columns named `{field.name}`")
        self.columns.append((field, source))

    def to_contract(self) -> Any:
        columns: list[Any] = []
        for field, source in self.columns:
            if source is None:
                columns.append(wit.OutputColumn_Computed(write_field(field)))
            else:
                forwarded = wit.ForwardedColumn(field.name, source.to_contract())
                columns.append(wit.OutputColumn_Forwarded(forwarded))
        return wit.OutputPlan(self.name, columns)


class Plan:
    """Builds the plan. Everything that it hands out is a handle to use in `process`.

    Reading a column or a look-up twice costs nothing: it crosses the boundary once.
    """

    def __init__(self, setup: Setup) -> None:
        self.reads: list[Read] = []
        self.lookups: list[Lookup] = []
        self.outputs: list[Output] = []
        self._setup = setup

    @overload
    def read(self, column: str) -> In[Column]: ...
    @overload
    def read(self, column: str, kind: Kind[C]) -> In[C]: ...
    def read(self, column: str, kind: Any = None) -> In[Any]:
        """Reads an input column. Fails with `missing-column`, or with `wrong-type` where it is not of the kind."""
        return self._read(Source(column), self.input_field(column), column, kind)

    def read_operation(self) -> In[FixedColumn]:
        """Reads the operation of each row: 0 insert, 1 update, 2 delete."""
        return self._read(Source(None), Field("operation", UInt8(), nullable=False), "operation", UInt8)

    @overload
    def read_lookup(self, lookup: Lookup) -> In[Column]: ...
    @overload
    def read_lookup(self, lookup: Lookup, kind: Kind[C]) -> In[C]: ...
    def read_lookup(self, lookup: Lookup, kind: Any = None) -> In[Any]:
        """Reads a look-up. Fails with `wrong-type` where it is not of the kind."""
        return self._read(Source(lookup.place), lookup.field, f"{lookup.dictionary}.{lookup.field.name}", kind)

    def lookup(self, dictionary: str, key: str, value: str) -> Lookup:
        """Looks up a dictionary's column `value` by the input column `key`: null where the dictionary has no such key.

        Fails with `missing-dictionary` or `missing-column`. The value crosses the boundary only if it is read.
        """
        self.input_field(key)
        for lookup in self.lookups:
            if (lookup.dictionary, lookup.key, lookup.field.name) == (dictionary, key, value):
                return lookup
        fields = self._setup.dictionary(dictionary).fields
        field = next((field for field in fields if field.name == value), None)
        if field is None:
            raise Failure("missing-column", f"dictionary `{dictionary}` has no column `{value}`")
        lookup = Lookup(len(self.lookups), dictionary, key, Field(value, field.type))
        self.lookups.append(lookup)
        return lookup

    def output(self, name: str) -> Output:
        """Adds an output. Stages normalize and migrate have one, `records`; stage map has one for each target table."""
        output = Output(self, len(self.outputs), name)
        self.outputs.append(output)
        return output

    def input_field(self, name: str) -> Field:
        """The input column of this name, or the failure `missing-column`."""
        field = self._setup.field(name)
        if field is None:
            names = ", ".join(field.name for field in self._setup.input)
            raise Failure("missing-column", f"the input has no column `{name}`; it has {names}")
        return field

    def require(self, column: str, kind: Kind[Any]) -> Field:
        """Checks an input column as `read` does, without reading it: for one that is forwarded or a look-up's key."""
        field = self.input_field(column)
        _check(field, column, kind)
        return field

    def _read(self, source: Source, field: Field, label: str, kind: Any) -> In[Any]:
        if kind is not None:
            _check(field, label, kind)
        for place, read in enumerate(self.reads):
            if read.source == source:
                return In(place)
        self.reads.append(Read(source, field, label))
        return In(len(self.reads) - 1)

    def to_contract(self) -> Any:
        return wit.Plan(
            reads=[read.source.to_contract() for read in self.reads],
            lookups=[wit.Lookup(lookup.dictionary, lookup.key, lookup.field.name) for lookup in self.lookups],
            outputs=[output.to_contract() for output in self.outputs],
        )


def _check(field: Field, label: str, kind: Kind[Any]) -> None:
    if not accepts(kind, field.type):
        wanted = kind.name if isinstance(kind, type) else kind
        raise Failure("wrong-type", f"column `{label}` is {field.type}, not {wanted}")
