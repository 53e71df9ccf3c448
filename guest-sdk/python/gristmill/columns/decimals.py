"""Columns of decimals: whole numbers of 128 or 256 bits, divided by a power of ten that the type says."""

from __future__ import annotations

import decimal
from array import array
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

from gristmill.columns.base import mask_of
from gristmill.columns.fixed import FixedColumn

if TYPE_CHECKING:
    from gristmill.types import DataType, DecimalType

# Wide enough for every decimal256; a result that would have to be rounded is an error.
_EXACT = decimal.Context(prec=200, traps=[decimal.Inexact, decimal.InvalidOperation])
# Python rounds every result, even that of a minus sign, to 28 digits: fewer than a column may have.
DIGITS = 76
decimal.DefaultContext.prec = DIGITS
decimal.getcontext().prec = DIGITS
_LOW = (1 << 64) - 1


class DecimalColumn(FixedColumn):
    """Decimals. Python values are `decimal.Decimal`; `unscaled()` has the whole numbers, which are faster."""

    __slots__ = ()
    type: DecimalType

    @classmethod
    def from_values(cls, type: DataType[Any], values: Iterable[Any]) -> Self:
        scale = type.scale  # type: ignore[attr-defined]
        return cls.from_unscaled(type, [None if value is None else _unscaled(value, scale) for value in values])

    @classmethod
    def from_unscaled(cls, type: DataType[Any], values: Iterable[int | None]) -> Self:
        """A column of unscaled numbers: 1250 is 12.50 where the scale is 2. OverflowError beyond the precision."""
        values = list(values)
        mask = mask_of(values)
        numbers = [value or 0 for value in values]
        most = 10**type.precision - 1  # type: ignore[attr-defined]
        if numbers and (max(numbers) > most or min(numbers) < -most):
            raise OverflowError("more digits than the column's precision")
        return cls.from_buffer(type, _to_bytes(numbers, type.width or 0), mask)

    @property
    def values(self) -> Any:
        """All unscaled numbers; anything where they are null."""
        return _from_bytes(self.buffers[1], self.type.width or 0)

    def unscaled(self) -> list[int | None]:
        """All unscaled numbers, None for nulls."""
        values = self._numbers()
        for i in self.nulls():
            values[i] = None
        return values

    def _numbers(self) -> list[Any]:
        return _from_bytes(self.buffers[1], self.type.width or 0)

    def _value(self, i: int) -> Decimal:
        width = self.type.width or 0
        number = int.from_bytes(self.buffers[1][i * width : (i + 1) * width], "little", signed=True)
        return _scaled(number, self.type.scale)

    def _values(self) -> list[Any]:
        scale = self.type.scale
        return [_scaled(number, scale) for number in self._numbers()]


def _scaled(number: int, scale: int) -> Decimal:
    return _EXACT.scaleb(Decimal(number), -scale)


def _unscaled(value: Any, scale: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Decimal | int):
        raise TypeError("not a Decimal and not a whole number")
    try:
        return int(_EXACT.to_integral_exact(_EXACT.scaleb(Decimal(value), scale)))
    except (decimal.Inexact, decimal.InvalidOperation, OverflowError, ValueError):
        raise OverflowError("more places than the column's scale, or no number") from None


def _to_bytes(numbers: list[int], width: int) -> bytes:
    if width == 16:
        try:
            low = array("q", numbers)
        except OverflowError:
            pass
        else:
            words = array("q", bytes(16 * len(numbers)))
            words[0::2] = low
            words[1::2] = array("q", [number >> 63 for number in numbers])
            return words.tobytes()
    return b"".join([number.to_bytes(width, "little", signed=True) for number in numbers])


def _from_bytes(buffer: bytes, width: int) -> list[Any]:
    if width == 16:
        words = memoryview(buffer).cast("q")
        return [
            low if low >> 63 == high else low & _LOW | high << 64
            for low, high in zip(words[0::2].tolist(), words[1::2].tolist(), strict=True)
        ]
    return [int.from_bytes(buffer[at : at + width], "little", signed=True) for at in range(0, len(buffer), width)]
