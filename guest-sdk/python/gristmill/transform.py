"""The class that a transform derives from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from gristmill.batch import Batch
from gristmill.outputs import Outputs
from gristmill.plan import Plan
from gristmill.setup import Setup

T = TypeVar("T", bound="type[Transform]")

exported: list[type[Transform]] = []
"""The transforms that `export` was called with."""


class Transform(ABC):
    """A transform: plans once, then works batch by batch on whole columns.

    For a first transform, or one that is not hot, `RowTransform` is simpler.

    1. `plan` depends on the setup alone. The runner plans again for every batch, in a fresh instance, and refuses a
       component whose plans differ.
    2. `process` sets every computed column of the plan, with one value for each output row.
    3. A row that cannot be transformed is a reject (`outputs.reject`), never an exception and never a `Failure`. In
       stages normalize and migrate it is also left out of the selection.
    4. Rejects and failures do not say what a row holds: they are kept and shown to operators.
    """

    @abstractmethod
    def plan(self, setup: Setup, plan: Plan) -> None:
        """Reads the configuration and declares columns, look-ups and outputs. Keeps the handles in attributes."""

    @abstractmethod
    def process(self, batch: Batch, outputs: Outputs) -> None:
        """Transforms one batch."""


def export(transform: T) -> T:
    """Makes a class the component's transform. Once in a project, as a decorator."""
    exported.append(transform)
    return transform
