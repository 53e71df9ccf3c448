"""A row view: read cells by name, write cells by name. It costs several times what columns cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gristmill.batch import Batch
from gristmill.columns import Column
from gristmill.errors import Reject, UnknownColumnError
from gristmill.outputs import Operation, Outputs
from gristmill.plan import Output
from gristmill.transform import Transform
from gristmill.types import Field


class Row(Mapping[str, Any]):
    """One input row: a mapping from the names of the columns that the plan reads to their values, None for null.

    A look-up is called `dictionary.column`, the operation `operation`.
    """

    __slots__ = ("_cells", "_places", "index")

    def __init__(self, places: dict[str, int]) -> None:
        self.index = 0
        """The row's place in the batch."""
        self._places = places
        self._cells: Sequence[Any] = ()

    def __getitem__(self, column: str) -> Any:
        try:
            return self._cells[self._places[column]]
        except KeyError:
            names = ", ".join(self._places)
            raise UnknownColumnError(f"the plan reads no column `{column}`; it reads {names}") from None

    def require(self, column: str) -> Any:
        """The value; where it is null the row is rejected with `missing-value`."""
        value = self[column]
        if value is None:
            raise _missing(column)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def move(self, index: int, cells: Sequence[Any]) -> None:
        self.index, self._cells = index, cells


class RowTransform(Transform):
    """A transform that sees one row at a time."""

    @abstractmethod
    def row(self, row: Row, out: RowOutputs) -> None:
        """Writes the output rows that one input row makes: none, one or more, to any output.

        Raises `Reject` for a row that it does not accept; whatever was written for it is then taken back.
        """

    def process(self, batch: Batch, outputs: Outputs) -> None:
        row = Row({label: place for place, label in enumerate(batch.labels)})
        out = RowOutputs(outputs)
        cells = zip(*[column.to_list() for column in batch.columns], strict=True) if batch.columns else None
        for index in range(batch.rows):
            row.move(index, next(cells) if cells else ())
            mark = out.begin(index)
            try:
                self.row(row, out)
            except Reject as reject:
                out.take_back(mark)
                outputs.reject(index, reject)
        out.finish()


class _RowOutput:
    def __init__(self, output: Output) -> None:
        self.output = output
        self.fields = output.computed
        self.names = {field.name for field in self.fields}
        self.selection: list[int] = []
        self.rows: list[Mapping[str, Any]] = []
        self.operations: list[Operation | None] = []


class RowOutputs:
    """Takes the output rows of a `RowTransform`."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs
        self._pending = {pending.output.place: _RowOutput(pending.output) for pending in outputs.pending}
        self._row = 0

    def write(
        self, output: Output, cells: Mapping[str, Any] | None = None, *, operation: Operation | None = None
    ) -> None:
        """Writes a row of an output: values by the names of its computed columns, null where there is none.

        `operation` is what the row does to the target: that of its input row where it is not given.
        """
        pending = self._pending[output.place]
        cells = {} if cells is None else dict(cells)
        if not cells.keys() <= pending.names:
            name = next(name for name in cells if name not in pending.names)
            raise UnknownColumnError(f"the plan of output `{output.name}` computes no column `{name}`")
        pending.selection.append(self._row)
        pending.rows.append(cells)
        pending.operations.append(operation)

    def begin(self, row: int) -> list[int]:
        self._row = row
        return [len(pending.selection) for pending in self._pending.values()]

    def take_back(self, mark: list[int]) -> None:
        for pending, length in zip(self._pending.values(), mark, strict=True):
            del pending.selection[length:], pending.rows[length:], pending.operations[length:]

    def finish(self) -> None:
        """Makes columns; rejects the rows whose cells do not fit theirs."""
        self._reject(self._mixed())
        built = self._build()
        if built is None:
            self._reject(self._unfit())
            built = self._build()
            assert built is not None
        for pending, columns in zip(self._pending.values(), built, strict=True):
            self._outputs.select(pending.output, pending.selection)
            if pending.operations and pending.operations[0] is not None:
                self._outputs.operations(pending.output, [operation or 0 for operation in pending.operations])
            self._outputs.pending[pending.output.place].columns[:] = columns

    def _build(self) -> list[list[Column]] | None:
        """The columns of all outputs; none where a cell does not fit."""
        try:
            built = [
                [field.type.of([row.get(field.name) for row in pending.rows]) for field in pending.fields]
                for pending in self._pending.values()
            ]
        except (TypeError, ValueError, OverflowError):
            return None
        for pending, columns in zip(self._pending.values(), built, strict=True):
            for field, column in zip(pending.fields, columns, strict=True):
                if column.null_count and not field.nullable:
                    return None
        return built

    def _mixed(self) -> Iterator[tuple[int, Reject]]:
        """Rows that set their operation where the output's first row does not, or the other way round."""
        for pending in self._pending.values():
            for row, operation in zip(pending.selection, pending.operations, strict=True):
                if (operation is None) != (pending.operations[0] is None):
                    yield row, Reject("mixed-operations", "some rows of this output set their operation, some do not")

    def _unfit(self) -> Iterator[tuple[int, Reject]]:
        """Rows with a cell that its column cannot hold."""
        for pending in self._pending.values():
            for row, cells in zip(pending.selection, pending.rows, strict=True):
                for field in pending.fields:
                    reject = _unfit(field, cells.get(field.name))
                    if reject is not None:
                        yield row, reject

    def _reject(self, refused: Iterator[tuple[int, Reject]]) -> None:
        rows: dict[int, Reject] = {}
        for row, reject in refused:
            rows.setdefault(row, reject)
            self._outputs.reject(row, reject)
        if not rows:
            return
        for pending in self._pending.values():
            kept = [place for place, row in enumerate(pending.selection) if row not in rows]
            pending.selection = [pending.selection[place] for place in kept]
            pending.rows = [pending.rows[place] for place in kept]
            pending.operations = [pending.operations[place] for place in kept]


def _missing(column: str) -> Reject:
    return Reject("missing-value", "the value is null", column)


def _unfit(field: Field, value: Any) -> Reject | None:
    if value is None:
        return None if field.nullable else _missing(field.name)
    try:
        field.type.of([value])
    except TypeError:
        return Reject("wrong-type", "the value is of another sort than the output column", field.name)
    except (OverflowError, ValueError):
        return Reject("out-of-range", "the output column cannot hold the value", field.name)
    return None
