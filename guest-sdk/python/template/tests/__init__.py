"""Finds the SDK, which the project has beside it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "vendor" / "gristmill"))
