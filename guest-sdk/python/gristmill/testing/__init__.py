"""Runs a transform natively: tables in, tables out, every answer checked as the runner checks it.

An exception of the transform comes out as it is, with its message and its place.
"""

from gristmill.testing.harness import Harness, Run
from gristmill.testing.table import Table

__all__ = ["Harness", "Run", "Table"]
