"""Columns: views of what the runner hands over, and what a transform hands back."""

from gristmill.columns.base import Column, NullColumn, runs_between
from gristmill.columns.bytes import BytesColumn, FixedSizeBinaryColumn, TextColumn
from gristmill.columns.decimals import DecimalColumn
from gristmill.columns.fixed import BooleanColumn, FixedColumn, Float16Column
from gristmill.columns.nested import FixedSizeListColumn, ListColumn, MapColumn, StructColumn

__all__ = [
    "BooleanColumn",
    "BytesColumn",
    "Column",
    "DecimalColumn",
    "FixedColumn",
    "FixedSizeBinaryColumn",
    "FixedSizeListColumn",
    "Float16Column",
    "ListColumn",
    "MapColumn",
    "NullColumn",
    "StructColumn",
    "TextColumn",
    "runs_between",
]
