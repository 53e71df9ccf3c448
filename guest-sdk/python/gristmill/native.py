"""The contract's two functions, for any transform and without WASM."""

from __future__ import annotations

from typing import Any

from gristmill.batch import Batch
from gristmill.outputs import Outputs
from gristmill.plan import Plan
from gristmill.setup import Setup
from gristmill.transform import Transform


def prepare(kind: type[Transform], setup: Any) -> tuple[Transform, Plan]:
    """A transform that has planned, and its plan."""
    known = Setup.from_contract(setup)
    transform, plan = kind(), Plan(known)
    transform.plan(known, plan)
    return transform, plan


def plan(kind: type[Transform], setup: Any) -> Any:
    return prepare(kind, setup)[1].to_contract()


def process(kind: type[Transform], setup: Any, batch: Any) -> Any:
    transform, plan = prepare(kind, setup)
    outputs = Outputs(plan, batch.rows)
    transform.process(Batch.from_contract(plan, batch), outputs)
    return outputs.to_contract()
