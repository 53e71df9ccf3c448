"""Schemas as the contract writes them: trees of fields, depth first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gristmill import types as t
from gristmill.columns import Column
from gristmill.contract import wit
from gristmill.errors import Failure

_SIMPLE: dict[str, Any] = {
    "Null": t.Null,
    "Boolean": t.Boolean,
    "Int8": t.Int8,
    "Int16": t.Int16,
    "Int32": t.Int32,
    "Int64": t.Int64,
    "Uint8": t.UInt8,
    "Uint16": t.UInt16,
    "Uint32": t.UInt32,
    "Uint64": t.UInt64,
    "Float16": t.Float16,
    "Float32": t.Float32,
    "Float64": t.Float64,
    "Utf8": t.Utf8,
    "LargeUtf8": t.LargeUtf8,
    "Binary": t.Binary,
    "LargeBinary": t.LargeBinary,
    "Date32": t.Date32,
    "Date64": t.Date64,
}
_DECIMALS: dict[str, Any] = {"Decimal128": t.Decimal128, "Decimal256": t.Decimal256}
_UNITS: dict[str, Any] = {"Time32": t.Time32, "Time64": t.Time64, "Duration": t.Duration}
_CASES = {kind: case for case, kind in (_SIMPLE | _DECIMALS | _UNITS).items()}


def _case(data_type: Any) -> str:
    return type(data_type).__name__.removeprefix("DataType_")


def read_fields(tree: Sequence[Any]) -> list[t.Field]:
    """All fields of a list of trees."""
    nodes, fields = iter(tree), []
    for node in nodes:
        fields.append(_read_field(node, nodes))
    return fields


def _read_field(node: Any, nodes: Iterator[Any]) -> t.Field:
    try:
        children = [_read_field(next(nodes), nodes) for _ in range(node.children)]
    except StopIteration:
        raise Failure("bad-setup", "the input's schema is not whole") from None
    return t.Field(node.name, _read_type(node.data_type, children), node.nullable)


def _read_type(raw: Any, children: list[t.Field]) -> Any:
    case = _case(raw)
    match case, children:
        case _, [] if case in _SIMPLE:
            return _SIMPLE[case]()
        case _, [] if case in _DECIMALS:
            return _DECIMALS[case](raw.value.precision, raw.value.scale)
        case _, [] if case in _UNITS:
            return _UNITS[case](_read_unit(raw.value))
        case "FixedSizeBinary", []:
            return t.FixedSizeBinary(raw.value)
        case "Timestamp", []:
            return t.Timestamp(_read_unit(raw.value.unit), raw.value.zone)
        case "List", [item]:
            return t.List(item)
        case "LargeList", [item]:
            return t.LargeList(item)
        case "FixedSizeList", [item]:
            return t.FixedSizeList(item, raw.value)
        case "Struct", members:
            return t.Struct(tuple(members))
        case "Map", [entries] if len(entries.type.children) == 2:
            return t.Map(entries, raw.value)
    raise Failure("bad-setup", f"the input's schema has a {case} with {len(children)} children")


def _read_unit(unit: Any) -> t.TimeUnit:
    return t.TimeUnit[unit.name]


def write_field(field: t.Field) -> list[Any]:
    """A field's tree, root first."""
    children = field.type.children
    tree = [wit.Field(field.name, _write_type(field.type), field.nullable, len(children))]
    for child in children:
        tree += write_field(child)
    return tree


def _write_type(data_type: t.DataType[Any]) -> Any:
    match data_type:
        case t.Timestamp(unit, zone):
            return wit.DataType_Timestamp(wit.TimestampType(wit.TimeUnit[unit.name], zone))
        case t.Time32(unit) | t.Time64(unit) | t.Duration(unit):
            return getattr(wit, f"DataType_{_CASES[type(data_type)]}")(wit.TimeUnit[unit.name])
        case t.DecimalType(precision=precision, scale=scale):
            return getattr(wit, f"DataType_{_CASES[type(data_type)]}")(wit.DecimalType(precision, scale))
        case t.FixedSizeBinary(width):
            return wit.DataType_FixedSizeBinary(width)
        case t.LargeList():
            return wit.DataType_LargeList()
        case t.List():
            return wit.DataType_List()
        case t.FixedSizeList(size=size):
            return wit.DataType_FixedSizeList(size)
        case t.Struct():
            return wit.DataType_Struct()
        case t.Map(sorted=keys_sorted):
            return wit.DataType_Map(keys_sorted)
        case _:
            return getattr(wit, f"DataType_{_CASES[type(data_type)]}")()


def read_columns(fields: Iterable[t.Field], raw: Any) -> list[Column]:
    """Columns from the contract's nodes and buffers."""
    nodes, buffers = iter(raw.nodes), iter(raw.buffers)
    try:
        columns = [_read_column(field.type, nodes, buffers) for field in fields]
    except StopIteration:
        raise Failure("bad-batch", "the batch has fewer nodes or buffers than the plan reads") from None
    if next(nodes, None) is not None or next(buffers, None) is not None:
        raise Failure("bad-batch", "the batch has more nodes or buffers than the plan reads")
    return columns


def _read_column(data_type: t.DataType[Any], nodes: Iterator[Any], buffers: Iterator[bytes]) -> Column:
    node = next(nodes)
    own = [next(buffers) for _ in range(data_type.own_buffers)]
    children = [_read_column(child.type, nodes, buffers) for child in data_type.children]
    return data_type.column(data_type, node.length, node.null_count, own, children)


def write_columns(columns: Iterable[Column]) -> Any:
    """The contract's nodes and buffers of columns."""
    written = wit.Columns([], [])
    for column in columns:
        _write_column(column, written)
    return written


def _write_column(column: Column, written: Any) -> None:
    written.nodes.append(wit.Node(column.length, column.null_count))
    written.buffers += column.buffers
    for child in column.children:
        _write_column(child, written)
