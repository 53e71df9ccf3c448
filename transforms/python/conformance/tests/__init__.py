"""Finds the SDK: a project of its own has it under `vendor/gristmill`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4] / "guest-sdk/python"))
