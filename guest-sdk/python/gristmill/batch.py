"""The rows of one call."""

from __future__ import annotations

from typing import Any, TypeVar

from gristmill.columns import Column
from gristmill.errors import Failure
from gristmill.plan import In, Plan
from gristmill.schema import read_columns

C = TypeVar("C", bound=Column)


class Batch:
    """The columns that the plan reads, as received."""

    def __init__(self, plan: Plan, rows: int, columns: list[Column]) -> None:
        self.rows = rows
        self.columns = columns
        """In the order in which the plan reads them."""
        self.labels = [read.label for read in plan.reads]
        """What rows call them: an input column by its name, a look-up `dictionary.column`."""

    @classmethod
    def from_contract(cls, plan: Plan, raw: Any) -> Batch:
        columns = read_columns([read.field for read in plan.reads], raw.columns)
        for read, column in zip(plan.reads, columns, strict=True):
            if len(column) != raw.rows:
                raise Failure("bad-batch", f"column `{read.label}` does not have {raw.rows} rows")
        return cls(plan, raw.rows, columns)

    def __getitem__(self, handle: In[C]) -> C:
        return self.columns[handle.place]  # type: ignore[return-value]
