"""The contract's own records.

Inside a component they are those that componentize-py makes; everywhere else the committed copy in `bindings/`.
"""

from __future__ import annotations

import sys
from pathlib import Path

try:
    from wit_world.imports import types as wit
except ModuleNotFoundError:
    sys.path.append(str(Path(__file__).parents[1] / "bindings"))
    from wit_world.imports import types as wit

__all__ = ["wit"]
