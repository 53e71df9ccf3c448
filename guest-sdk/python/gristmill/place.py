"""Where an exception came from, without what it says."""

from __future__ import annotations

import traceback
from pathlib import PurePath

_PACKAGE = PurePath(__file__).parent


def describe(error: BaseException) -> str:
    """An exception's kind and its place in the transform's own code.

    Its message stays away: it may hold a row's values, as that of `int("x")` does. The testing harness shows it.
    """
    # Not `extract_tb`, which would look for the source's text: a component has no files.
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [at for at in frames if _PACKAGE not in PurePath(at[0].co_filename).parents] or frames
    if not own:
        return type(error).__name__
    code, line = own[-1]
    return f"{type(error).__name__} at {PurePath(code.co_filename).name}:{line} in {code.co_name}"
