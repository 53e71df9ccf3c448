"""The runner's part, in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gristmill import native
from gristmill.columns import Column
from gristmill.contract import wit
from gristmill.errors import Reject
from gristmill.plan import Output, Plan, Source
from gristmill.schema import read_columns, write_columns, write_field
from gristmill.setup import Stage
from gristmill.testing.check import BrokenContract, check_column
from gristmill.testing.table import Table
from gristmill.transform import Transform
from gristmill.types import UInt8


@dataclass(frozen=True)
class Run:
    """What a run gave."""

    outputs: dict[str, Table]
    """All columns of each output, forwarded ones included."""
    selections: dict[str, list[int]]
    """The input row of each output row."""
    operations: dict[str, list[int]]
    """The operation of each output row."""
    rejects: list[tuple[int, Reject]]
    """Input row and reject, in the order given."""
    messages: list[str]

    def output(self, name: str = "records") -> Table:
        return self.outputs[name]

    @property
    def reject_codes(self) -> list[tuple[int, str, str | None]]:
        """Row, code and field of each reject."""
        return [(row, reject.code, reject.field) for row, reject in self.rejects]


class Harness:
    """The setup of a transform under test."""

    def __init__(
        self,
        stage: Stage,
        config: Mapping[str, Any] | None = None,
        dictionaries: Mapping[str, tuple[str, Table]] | None = None,
    ) -> None:
        """`dictionaries`: by name, the column that look-ups match and the table."""
        self._stage = stage
        self._config = dict(config or {})
        self._dictionaries = dict(dictionaries or {})

    def run(self, transform: type[Transform], table: Table, operations: Sequence[int] | None = None) -> Run:
        """Plans and processes one batch. `operations`: those of the input rows; inserts where they are not given.

        Raises the transform's own `Failure`, and `BrokenContract` for an answer that the runner would refuse.
        """
        call = _Call(self, table, list(operations or [0] * table.rows))
        setup = self.setup(table)
        _, plan = native.prepare(transform, setup)
        if native.plan(transform, setup) != plan.to_contract():
            raise BrokenContract("two plans of the same setup differ")
        columns = [call.source(plan, read.source) for read in plan.reads]
        batch = wit.Batch(table.rows, write_columns(columns))
        return call.apply(plan, native.process(transform, setup, batch))

    def setup(self, table: Table) -> Any:
        """What the runner gives to `plan` and `process`."""

        def tree(of: Table) -> list[Any]:
            return [node for field in of.fields for node in write_field(field)]

        dictionaries = [wit.Dictionary(name, key, tree(of)) for name, (key, of) in self._dictionaries.items()]
        stage = wit.Stage[self._stage.name]
        return wit.Setup(stage, json.dumps(self._config), tree(table), dictionaries)


class _Call:
    def __init__(self, harness: Harness, table: Table, operations: list[int]) -> None:
        if len(operations) != table.rows:
            raise ValueError(f"{len(operations)} operations for {table.rows} rows")
        self._harness = harness
        self._table = table
        self._operations = operations

    def source(self, plan: Plan, source: Source) -> Column:
        """A column that the runner has."""
        if source.of is None:
            return UInt8().of(self._operations)
        if isinstance(source.of, str):
            return self._table.column(source.of)
        lookup = plan.lookups[source.of]
        key, dictionary = self._harness._dictionaries[lookup.dictionary]
        values = dict(zip(dictionary[key], dictionary[lookup.field.name], strict=True))
        values.pop(None, None)
        joined: Column = lookup.type.of([values.get(key) for key in self._table[lookup.key]])
        return joined

    def apply(self, plan: Plan, processed: Any) -> Run:
        rows = self._table.rows
        if any(not 0 <= reject.row < rows for reject in processed.rejects):
            raise BrokenContract(f"a reject beyond the {rows} rows")
        if len(processed.outputs) != len(plan.outputs):
            raise BrokenContract(f"{len(processed.outputs)} outputs, the plan has {len(plan.outputs)}")
        run = Run({}, {}, {}, [], processed.messages)
        for reject in processed.rejects:
            run.rejects.append((reject.row, Reject(reject.code, reject.message, reject.field)))
        for output, raw in zip(plan.outputs, processed.outputs, strict=True):
            selection = list(range(rows)) if raw.selection is None else raw.selection
            self._check_selection(output, raw, selection, {row for row, _ in run.rejects})
            operations = raw.operations
            if operations is None:
                operations = [self._operations[row] for row in selection]
            if len(operations) != len(selection) or not set(operations) <= {0, 1, 2}:
                raise BrokenContract(f"output {output.name}: its operations are wrong")
            run.outputs[output.name] = self._output(plan, output, raw, selection)
            run.selections[output.name] = selection
            run.operations[output.name] = operations
        return run

    def _check_selection(self, output: Output, raw: Any, selection: list[int], rejected: set[int]) -> None:
        rows = self._table.rows
        if len(selection) != raw.rows or any(not 0 <= row < rows for row in selection):
            raise BrokenContract(f"output {output.name}: its selection does not name {raw.rows} of {rows} input rows")
        if self._harness._stage is not Stage.MAP and rejected.intersection(selection):
            raise BrokenContract(f"output {output.name}: it selects a rejected row")

    def _output(self, plan: Plan, output: Output, raw: Any, selection: list[int]) -> Table:
        computed = iter(read_columns(output.computed, raw.columns))
        table = Table(len(selection))
        for field, source in output.columns:
            if source is not None:
                table.add_column(field, self.source(plan, source).take(selection))
                continue
            column = next(computed)
            check_column(field.name, column)
            if len(column) != len(selection) or (column.null_count and not field.nullable):
                raise BrokenContract(f"output {output.name}: column `{field.name}` has wrong rows or nulls")
            table.add_column(field, column)
        return table
