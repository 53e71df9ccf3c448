"""What may be said of an exception: its kind, its place and, if it is known to hold no values of rows, its text."""

from __future__ import annotations

import opcode
import sys
from collections.abc import Iterator
from pathlib import PurePath
from types import TracebackType

from gristmill.errors import ContractError
from gristmill.sealed import SealedError

_RAISE = opcode.opmap["RAISE_VARARGS"]


def explain(error: BaseException, transform: type) -> str:
    """An exception's kind, its place in the transform's own code, and its text where that code wrote it.

    Texts of others stay away: they quote values, as that of `int("x")` does. The testing harness shows them.
    """
    file = getattr(sys.modules.get(transform.__module__), "__file__", None)
    home = PurePath(file).parent if file else None
    frames = list(_frames(error))
    own = [frame for frame in frames if home in PurePath(frame.tb_frame.f_code.co_filename).parents]
    said = type(error).__name__
    if own:
        code = own[-1].tb_frame.f_code
        said += f" at {PurePath(code.co_filename).name}:{own[-1].tb_lineno} in {code.co_name}"
    # What raised it is the last frame. A function in C has none: then the last one does not stand at a `raise`.
    written = bool(own) and own[-1] is frames[-1] and frames[-1].tb_frame.f_code.co_code[frames[-1].tb_lasti] == _RAISE
    if written or isinstance(error, ContractError | SealedError):
        said += f": {error}"
    return said


def _frames(error: BaseException) -> Iterator[TracebackType]:
    # Not `traceback.extract_tb`, which would look for the source's text: a component has no files.
    frame = error.__traceback__
    while frame is not None:
        yield frame
        frame = frame.tb_next
