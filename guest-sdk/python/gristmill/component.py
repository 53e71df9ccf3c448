"""What componentize-py makes a component of: the project's `transform.py`, behind the contract's exports."""

from __future__ import annotations

import gc
from typing import Any, NoReturn

import transform as _project  # type: ignore[import-not-found]  # noqa: F401 - its decorator registers the transform
from componentize_py_types import Err

from gristmill import native
from gristmill.contract import wit
from gristmill.errors import Failure
from gristmill.place import explain
from gristmill.sealed import seal
from gristmill.transform import Transform as Base
from gristmill.transform import exported

MESSAGE_MAX = 1000


def _only() -> type[Base]:
    if len(exported) != 1:
        raise RuntimeError(f"transform.py has {len(exported)} classes with @export, not one")
    return exported[0]


class Transform:
    """The exports. No exception leaves them as a trap: that would lose its message."""

    def plan(self, setup: Any) -> Any:
        try:
            return native.plan(_KIND, setup)
        except BaseException as error:
            _fail(error)

    def process(self, setup: Any, batch: Any) -> Any:
        try:
            return native.process(_KIND, setup, batch)
        except BaseException as error:
            _fail(error)


def _fail(error: BaseException) -> NoReturn:
    code, message = ("exception", explain(error, _KIND))
    if isinstance(error, Failure):
        code, message = error.code, error.message
    raise Err(wit.Failure(code, message[:MESSAGE_MAX])) from None


_KIND = _only()
seal()
# An instance lives for one call: what it leaves behind goes with it.
gc.collect()
gc.freeze()
gc.disable()
