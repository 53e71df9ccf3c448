"""What `process` gives back."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from gristmill import bits
from gristmill.columns import Column
from gristmill.contract import wit
from gristmill.errors import ContractError, Reject
from gristmill.plan import Out, Output, Plan
from gristmill.schema import write_columns

C = TypeVar("C", bound=Column)


class Operation(enum.IntEnum):
    """The operation of a change record."""

    INSERT = 0
    UPDATE = 1
    DELETE = 2


class Pending:
    """What an output of the call has so far."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.fields = output.computed
        self.columns: list[Column | None] = [None] * len(self.fields)
        self.selection: list[int] | None = None
        self.operations: list[int] | None = None


class Outputs:
    """Takes the columns, selections and rejects of one call.

    Every computed column of the plan must be set. An output without a selection has one row for each input row.
    """

    def __init__(self, plan: Plan, rows: int) -> None:
        self.rows = rows
        """Rows of the input."""
        self.rejects: dict[int, Reject] = {}
        self.messages: list[str] = []
        self.pending = [Pending(output) for output in plan.outputs]

    def set(self, handle: Out[C], values: C | Iterable[Any]) -> None:
        """Sets a computed column: a column of its type, or Python values with None for nulls."""
        column = values if isinstance(values, Column) else handle.type.of(values)
        self.pending[handle.output.place].columns[handle.place] = column

    def select(self, output: Output, rows: Iterable[int]) -> None:
        """Sets which input row each output row comes from. Rows may be left out, repeated and reordered."""
        selection = rows if isinstance(rows, list) else list(rows)
        # Nothing needs to cross where all rows stay in place, and the runner need not copy.
        in_place = len(selection) == self.rows and all(map(int.__eq__, selection, range(self.rows)))
        self.pending[output.place].selection = None if in_place else selection

    def select_mask(self, output: Output, mask: bytes) -> None:
        """Keeps the input rows that have a 1 in a mask."""
        if len(mask) != self.rows:
            raise ContractError(f"a mask of {len(mask)} for {self.rows} rows")
        self.pending[output.place].selection = bits.ones(mask) if 0 in mask else None

    def operations(self, output: Output, operations: Iterable[int]) -> None:
        """Sets the operation of each output row; those of the input rows where it is not called."""
        self.pending[output.place].operations = list(operations)

    def reject(self, row: int, reject: Reject) -> None:
        """Does not accept an input row. Stages normalize and migrate must leave it out of the selection too.

        A row's first reject counts.
        """
        self.rejects.setdefault(row, reject)

    def message(self, message: str) -> None:
        """Says something to the operator. The runner keeps the first few messages and cuts long ones."""
        self.messages.append(message)

    def to_contract(self) -> Any:
        """Checks what the types cannot: a mistake here is the transform's own."""
        rejects = [
            wit.Reject(row, reject.code, reject.field, reject.message) for row, reject in sorted(self.rejects.items())
        ]
        return wit.Processed([self._finish(pending) for pending in self.pending], rejects, self.messages)

    def _finish(self, pending: Pending) -> Any:
        name = pending.output.name
        rows = self.rows if pending.selection is None else len(pending.selection)
        columns: list[Column] = []
        for field, column in zip(pending.fields, pending.columns, strict=True):
            place = f"column `{field.name}` of output `{name}`"
            if column is None:
                raise ContractError(f"{place} was not set")
            if column.type != field.type:
                raise ContractError(f"{place} is {field.type}, but was set to {column.type}")
            if len(column) != rows:
                raise ContractError(f"{place} has {len(column)} values for {rows} rows")
            if column.null_count and not field.nullable:
                raise ContractError(f"{place} is required but holds nulls")
            columns.append(column)
        if pending.operations is not None and len(pending.operations) != rows:
            raise ContractError(f"output `{name}` has {len(pending.operations)} operations for {rows} rows")
        return wit.Output(rows, pending.selection, _integers(pending.operations), write_columns(columns))


def _integers(operations: Sequence[int] | None) -> list[int] | None:
    return None if operations is None else list(map(int, operations))
