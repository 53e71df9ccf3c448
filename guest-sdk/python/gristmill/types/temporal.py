"""Types of dates, times and durations."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from typing import Any

from gristmill.columns import FixedColumn
from gristmill.types.base import FixedType


class TimeUnit(enum.Enum):
    SECOND = "s"
    MILLISECOND = "ms"
    MICROSECOND = "us"
    NANOSECOND = "ns"

    @property
    def per_second(self) -> int:
        """How many of them a second has."""
        return {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[self.value]


_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_DAY = _EPOCH.toordinal()


@dataclass(frozen=True)
class Date32(FixedType[FixedColumn]):
    """Days since 1970-01-01. Columns are also built of `datetime.date`."""

    name, code = "date32", "i"

    def to_raw(self, value: Any) -> Any:
        return _days(value) if isinstance(value, dt.date) else value


@dataclass(frozen=True)
class Date64(FixedType[FixedColumn]):
    """Milliseconds since 1970-01-01. Columns are also built of `datetime.date`."""

    name, code = "date64", "q"

    def to_raw(self, value: Any) -> Any:
        return _days(value) * 86_400_000 if isinstance(value, dt.date) else value


class _UnitType(FixedType[FixedColumn]):
    unit: TimeUnit

    def __str__(self) -> str:
        return f"{self.name}({self.unit.value})"


@dataclass(frozen=True)
class Time32(_UnitType):
    """Seconds or milliseconds since midnight. Columns are also built of `datetime.time`."""

    unit: TimeUnit
    name, code = "time32", "i"

    def to_raw(self, value: Any) -> Any:
        return _since_midnight(value, self.unit) if isinstance(value, dt.time) else value

    __str__ = _UnitType.__str__


@dataclass(frozen=True)
class Time64(_UnitType):
    """Microseconds or nanoseconds since midnight. Columns are also built of `datetime.time`."""

    unit: TimeUnit
    name, code = "time64", "q"

    def to_raw(self, value: Any) -> Any:
        return _since_midnight(value, self.unit) if isinstance(value, dt.time) else value

    __str__ = _UnitType.__str__


@dataclass(frozen=True)
class Timestamp(_UnitType):
    """Since 1970-01-01T00:00:00, in UTC where there is a zone, else local time.

    Columns are also built of `datetime.datetime`: with a zone where the type has one, without where it has none.
    """

    unit: TimeUnit
    zone: str | None = None
    """An IANA name or a fixed offset such as `+00:00`."""
    name, code = "timestamp", "q"

    def to_raw(self, value: Any) -> Any:
        if not isinstance(value, dt.datetime):
            return value
        if (value.tzinfo is None) != (self.zone is None):
            raise TypeError("one of the time and its column has a zone, the other has not")
        if value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        return _units(value - _EPOCH, self.unit)

    def __str__(self) -> str:
        return f"timestamp({self.unit.value}{f', {self.zone}' if self.zone else ''})"


@dataclass(frozen=True)
class Duration(_UnitType):
    """Columns are also built of `datetime.timedelta`."""

    unit: TimeUnit
    name, code = "duration", "q"

    def to_raw(self, value: Any) -> Any:
        return _units(value, self.unit) if isinstance(value, dt.timedelta) else value

    __str__ = _UnitType.__str__


def _days(value: dt.date) -> int:
    if isinstance(value, dt.datetime):
        raise TypeError("a date with a time of day")
    return value.toordinal() - _EPOCH_DAY


def _units(value: dt.timedelta, unit: TimeUnit) -> int:
    """Rounded down where the unit is coarser than a microsecond."""
    return value // dt.timedelta(microseconds=1) * unit.per_second // 1_000_000


def _since_midnight(value: dt.time, unit: TimeUnit) -> int:
    return _units(dt.datetime.combine(_EPOCH, value.replace(tzinfo=None)) - _EPOCH, unit)
