"""Arithmetic on whole columns of signed integers, all values at once.

A buffer of values of `width` bytes is taken as one big integer, and every second value as a lane of twice the width, so
that a lane has room for a carry. One operation on the integer is then one on all lanes. This costs some nanoseconds for
a value, ten times less than Python's own integers. Results wrap, as those of the processor do.
"""

from __future__ import annotations

from collections.abc import Callable


def affine(values: bytes, factor: int, addend: int, width: int = 8) -> bytes:
    """`value * factor + addend`, wrapped to the width."""
    most = (1 << 8 * width) - 1
    factor, addend = factor & most, addend & most
    return _map(values, width, lambda lanes, ones: lanes * factor + ones * addend)


def add(values: bytes, addend: int, width: int = 8) -> tuple[bytes, list[int]]:
    """`value + addend`, wrapped, and the places where it does not fit. The addend fits the width."""
    bits = 8 * width

    def fits(lanes: int, ones: int) -> int:
        # Lanes are value + 2^(bits-1). With 2^bits more, a sum that fits has bit `bits` set, and no other sum has.
        return (lanes + ones * (addend + (1 << bits))) >> bits & ones

    return affine(values, 1, addend, width), _places(_flags(_biased(values, width), width, fits))


def sums(left: bytes, right: bytes, width: int = 8) -> bytes:
    """`left + right`, wrapped."""
    return _map2(left, right, width, lambda lanes, others, ones: lanes + others)


def sums_within(left: bytes, right: bytes, most: int, width: int = 8) -> tuple[bytes, list[int]]:
    """`left + right`, wrapped, and the places where it is not within `-most..most`."""
    bits, far = 8 * width, 8 * width + 4

    def fits(lanes: int, others: int, ones: int) -> int:
        # Biased lanes add up to the sum + 2^bits. Bit `far` stays set where a difference is not negative.
        biased = lanes + others
        not_below = biased + ones * ((1 << far) + most - (1 << bits))
        not_above = ones * ((1 << far) + most + (1 << bits)) - biased
        return (not_below & not_above) >> far & ones

    flags = _flags2(_biased(left, width), _biased(right, width), width, fits)
    return sums(left, right, width), _places(flags)


def negated(values: bytes, width: int = 8) -> bytes:
    """`-value`, wrapped."""
    return affine(values, -1, 0, width)


def at_least(left: bytes, right: bytes, width: int = 8) -> bytes:
    """A mask of 1 where `left >= right`."""
    bits = 8 * width

    def reaches(lanes: int, others: int, ones: int) -> int:
        return (lanes + (ones << bits) - others) >> bits & ones

    return _flags2(_biased(left, width), _biased(right, width), width, reaches)


def finite(values: bytes) -> bytes:
    """A mask of 1 where a float64 is neither an infinity nor a NaN."""
    count = len(values) // 8
    ones = _ones(count, 8)
    # An exponent of nothing but ones carries into the sign, which is masked away before; no carry leaves a value.
    exponents = int.from_bytes(values, "little") & ones * (0x7FF << 52)
    carries = (exponents + (ones << 52)) >> 63 & ones
    return (carries ^ ones).to_bytes(len(values), "little")[::8]


def _ones(count: int, stride: int) -> int:
    """A 1 at the start of each lane."""
    return int.from_bytes((b"\x01" + bytes(stride - 1)) * count, "little")


def _biased(values: bytes, width: int) -> bytes:
    """Every value plus half its range: unsigned, and in the same order."""
    count = len(values) // width
    signs = _ones(count, width) << (8 * width - 1)
    return (int.from_bytes(values, "little") ^ signs).to_bytes(len(values), "little")


def _lanes(values: bytes, width: int) -> tuple[int, int, int, int]:
    """Even values and odd ones as lanes of twice the width, a 1 in each lane, and all bits of each lane's value."""
    ones = _ones((len(values) // width + 1) // 2, 2 * width)
    low = (ones << 8 * width) - ones
    whole = int.from_bytes(values, "little")
    return whole & low, whole >> 8 * width & low, ones, low


def _map(values: bytes, width: int, change: Callable[[int, int], int]) -> bytes:
    even, odd, ones, low = _lanes(values, width)
    return _joined(change(even, ones) & low, change(odd, ones) & low, len(values), width)


def _map2(left: bytes, right: bytes, width: int, join: Callable[[int, int, int], int]) -> bytes:
    even, odd, ones, low = _lanes(left, width)
    even2, odd2, _, _ = _lanes(right, width)
    return _joined(join(even, even2, ones) & low, join(odd, odd2, ones) & low, len(left), width)


def _joined(even: int, odd: int, length: int, width: int) -> bytes:
    # With an odd number of values the last lane of the odd ones stands for none.
    whole = (even | odd << 8 * width) & ((1 << 8 * length) - 1)
    return whole.to_bytes(length, "little")


def _flags(values: bytes, width: int, test: Callable[[int, int], int]) -> bytes:
    even, odd, ones, _ = _lanes(values, width)
    return _interleaved(test(even, ones), test(odd, ones), len(values) // width, width)


def _flags2(left: bytes, right: bytes, width: int, test: Callable[[int, int, int], int]) -> bytes:
    even, odd, ones, _ = _lanes(left, width)
    even2, odd2, _, _ = _lanes(right, width)
    return _interleaved(test(even, even2, ones), test(odd, odd2, ones), len(left) // width, width)


def _interleaved(even: int, odd: int, count: int, width: int) -> bytes:
    """A byte for each value from a bit for each lane."""
    lanes, stride = (count + 1) // 2, 2 * width
    flags = bytearray(2 * lanes)
    flags[0::2] = even.to_bytes(lanes * stride, "little")[::stride]
    flags[1::2] = odd.to_bytes(lanes * stride, "little")[::stride]
    return bytes(flags[:count])


def _places(flags: bytes) -> list[int]:
    """The places of zeros."""
    places, at = [], flags.find(0)
    while at >= 0:
        places.append(at)
        at = flags.find(0, at + 1)
    return places
