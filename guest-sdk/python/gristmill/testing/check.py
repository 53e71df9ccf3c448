"""Checks columns against the contract, as the runner does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from gristmill import bits
from gristmill.columns import Column
from gristmill.types import Boolean, DataType, Field, FixedSizeList, LargeUtf8, Null, Struct, Utf8, VariableType


class BrokenContract(AssertionError):
    """The transform's answer breaks the contract: the runner would refuse it."""


def check_column(name: str, column: Column) -> None:
    """Fails where a column does not keep the contract."""

    def require(holds: bool, problem: str) -> None:
        if not holds:
            raise BrokenContract(f"column `{name}` ({column.type}): {problem}")

    data_type, length = column.type, column.length
    require(all(type(buffer) is bytes for buffer in column.buffers), "a buffer is not of the type bytes")
    require(len(column.buffers) == data_type.own_buffers, f"{len(column.buffers)} buffers")
    require(len(column.children) == len(data_type.children), f"{len(column.children)} children")
    if not isinstance(data_type, Null):
        bitmap = column.buffers[0]
        if not bitmap:
            require(column.null_count == 0, f"{column.null_count} nulls without a bitmap")
        else:
            require(len(bitmap) == _bitmap_size(length), f"a bitmap of {len(bitmap)} bytes for {length} values")
            nulls = bits.expand(bitmap, length).count(0)
            require(nulls == column.null_count, f"{nulls} nulls, but a null count of {column.null_count}")
    if isinstance(data_type, Boolean):
        require(len(column.buffers[1]) == _bitmap_size(length), "its values are not of its length")
    if data_type.width is not None:
        require(len(column.buffers[1]) == data_type.width * length, "its values are not of its length")
    if isinstance(data_type, VariableType):
        inner = len(column.buffers[2]) if data_type.own_buffers == 3 else len(column.children[0])
        offsets = _offsets(column)
        rises = len(offsets) == length + 1 and all(start <= stop for start, stop in pairwise(offsets))
        require(rises and offsets[0] == 0 and offsets[-1] == inner, f"offsets do not rise from 0 to {inner}")
        if isinstance(data_type, Utf8 | LargeUtf8):
            mask = column.mask()
            for i, (start, stop) in enumerate(pairwise(offsets)):
                if mask is None or mask[i]:
                    require(_is_utf8(column.buffers[2][start:stop]), f"value {i} is not UTF-8")
    for field, child in zip(data_type.children, column.children, strict=True):
        _check_child(name, data_type, length, field, child)


def _check_child(name: str, data_type: DataType[Any], length: int, field: Field, child: Column) -> None:
    expected = len(child)
    if isinstance(data_type, Struct):
        expected = length
    elif isinstance(data_type, FixedSizeList):
        expected = length * data_type.size
    path = f"{name}.{field.name}"
    if len(child) != expected or child.type != field.type:
        raise BrokenContract(f"column `{path}` has {len(child)} values of {child.type}, not {expected} of {field.type}")
    check_column(path, child)


def _bitmap_size(length: int) -> int:
    return (length + 7) // 8


def _offsets(column: Column) -> Sequence[int]:
    return memoryview(column.buffers[1]).cast(column.type.offset_code).tolist()  # type: ignore[attr-defined]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
