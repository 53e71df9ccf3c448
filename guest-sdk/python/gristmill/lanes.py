"""Arithmetic on whole columns of integers, all values at once.

A buffer of values of `width` bytes is taken as one big integer, in which each value is a lane. One operation on the
integer is then one on all lanes. This costs some nanoseconds for a value, ten times less than Python's own integers.
What must not happen is a carry from one lane to the next: additions leave the highest bit of each lane out and put it
right afterwards; multiplications give every second value a lane of twice the width.

Numbers are signed unless it says otherwise, and results wrap, as those of the processor do.
"""

from __future__ import annotations

from functools import lru_cache


def add(values: bytes, addend: int, width: int = 8) -> tuple[bytes, list[int]]:
    """`value + addend`, wrapped, and the places where it does not fit. The addend fits the width."""
    addends = _ones(len(values) // width, width) * (addend & _most(width))
    total, overflows = _sum(_number(values), addends, len(values), width)
    return total.to_bytes(len(values), "little"), _places(overflows, len(values), width)


def sums(left: bytes, right: bytes, width: int = 8) -> bytes:
    """`left + right`, wrapped."""
    return _sum(_number(left), _number(right), len(left), width)[0].to_bytes(len(left), "little")


def sums_within(left: bytes, right: bytes, most: int, width: int = 8) -> tuple[bytes, list[int]]:
    """`left + right`, wrapped, and the places where it is not within `-most..most`. The most fits the width."""
    first, second, size = _number(left), _number(right), len(left)
    ones = _ones(size // width, width)
    total, overflows = _sum(first, second, size, width)
    # Two values below half the most cannot reach it: what most columns hold is found out at half the price.
    half_bits = most.bit_length() - 2
    if half_bits > 0 and _below(first, half_bits, ones, width) and _below(second, half_bits, ones, width):
        return total.to_bytes(size, "little"), []
    above = ~_at_least(ones * most, total, size, width)
    below = ~_at_least(total, ones * (-most & _most(width)), size, width)
    beyond = (overflows | above | below) & _signs(size, width)
    return total.to_bytes(size, "little"), _places(beyond, size, width)


def negated(values: bytes, width: int = 8) -> bytes:
    """`-value`, wrapped."""
    ones, size = _ones(len(values) // width, width), len(values)
    inverted = _number(values) ^ ones * _most(width)
    return _sum(inverted, ones, size, width)[0].to_bytes(size, "little")


def affine(values: bytes, factor: int, addend: int, width: int = 8) -> bytes:
    """`value * factor + addend`, wrapped."""
    bits, most, size = 8 * width, _most(width), len(values)
    factor, addend = factor & most, addend & most
    ones = _ones((size // width + 1) // 2, 2 * width)
    low, addends, whole = ones * most, ones * addend, _number(values)
    even = ((whole & low) * factor + addends) & low
    odd = ((whole >> bits & low) * factor + addends) & low
    # With an odd number of values the last lane of the odd ones stands for none.
    return ((even | odd << bits) & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def at_least(left: bytes, right: bytes, width: int = 8) -> bytes:
    """A mask of 1 where `left >= right`."""
    return _mask(_at_least(_number(left), _number(right), len(left), width), len(left), width)


def nonzero(values: bytes, width: int = 8) -> bytes:
    """A mask of 1 where a value is not 0."""
    whole, signs = _number(values), _signs(len(values), width)
    # A lane without its highest bit carries into it unless it is 0.
    rest = signs - _ones(len(values) // width, width)
    return _mask(((whole & rest) + rest | whole) & signs, len(values), width)


def finite(values: bytes) -> bytes:
    """A mask of 1 where a float64 is neither an infinity nor a NaN."""
    ones, signs = _ones(len(values) // 8, 8), _signs(len(values), 8)
    # An exponent of nothing but ones carries into the sign, which is left out before.
    carried = (_number(values) & ones * (0x7FF << 52)) + (ones << 52)
    return _mask(carried & signs ^ signs, len(values), 8)


def differences(values: bytes, width: int = 4) -> bytes:
    """What each value is more than the one before it, from the second on: of offsets, the lengths. They never fall."""
    if len(values) < 2 * width:
        return b""
    # No value is larger than its next: nothing is borrowed.
    return (_number(values[width:]) - _number(values[:-width])).to_bytes(len(values) - width, "little")


def _most(width: int) -> int:
    return (1 << 8 * width) - 1


def _number(values: bytes) -> int:
    return int.from_bytes(values, "little")


@lru_cache(maxsize=8)
def _ones(count: int, width: int) -> int:
    """A 1 in each lane. The columns of a batch are as long as each other."""
    return int.from_bytes((b"\x01" + bytes(width - 1)) * count, "little")


@lru_cache(maxsize=8)
def _signs(size: int, width: int) -> int:
    """The highest bit of each lane."""
    return _ones(size // width, width) << (8 * width - 1)


def _sum(left: int, right: int, size: int, width: int) -> tuple[int, int]:
    """Wrapped sums, and the sign bits of the lanes that overflow."""
    signs = _signs(size, width)
    rest = signs - _ones(size // width, width)
    different = left ^ right
    total = (left & rest) + (right & rest) ^ different & signs
    return total, (total ^ left) & (total ^ right) & signs


def _below(values: int, bits: int, ones: int, width: int) -> bool:
    """Whether all values lie between -2^bits and 2^bits: then the bits above are all like the sign."""
    above = (1 << 8 * width) - (1 << bits + 1)
    return not (values ^ values << 1) & ones * above


def _at_least(left: int, right: int, size: int, width: int) -> int:
    """The sign bits of the lanes where `left >= right`."""
    signs = _signs(size, width)
    rest = signs - _ones(size // width, width)
    # Of lanes of the same sign, the bit stays where nothing had to be borrowed from it.
    kept = (left & rest | signs) - (right & rest)
    different = left ^ right
    return (different & right | ~different & kept) & signs


def _mask(signs: int, size: int, width: int) -> bytes:
    """A byte for each lane from its sign bit."""
    return (signs >> (8 * width - 1)).to_bytes(size, "little")[::width]


def _places(signs: int, size: int, width: int) -> list[int]:
    """The lanes whose sign bit is set."""
    if not signs:
        return []
    mask, places = _mask(signs, size, width), []
    at = mask.find(1)
    while at >= 0:
        places.append(at)
        at = mask.find(1, at + 1)
    return places
