"""Why a row or a call cannot be done."""

from __future__ import annotations


class Failure(Exception):
    """The whole call cannot be done: a wrong configuration, a missing column. Never for a bad row."""

    def __init__(self, code: str, message: str) -> None:
        """`code`: a short, stable word for machines. `message`: what to change, without values of rows."""
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Reject(Exception):
    """One row is not accepted. The runner keeps it as a dead letter, so it never says a value."""

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        """`code`: a short, stable word for machines, such as `bad-time`. `field`: the column at fault."""
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.field = field


class ContractError(Exception):
    """The transform's own mistake: columns of unequal length, nulls in a required column. Never says a value."""


class UnknownColumnError(ContractError, KeyError):
    """A row was asked for a column that the plan does not have."""

    # That of KeyError would quote it.
    __str__ = Exception.__str__
