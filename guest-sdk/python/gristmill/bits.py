"""Bitmaps and masks.

A bitmap is what the contract uses: a bit for each value, from the least significant one of byte 0. A mask has a byte
for each value, 0 or 1: what `itertools.compress`, `bytes.translate` and slices work on. Both ways the work is done in
one big integer, not value by value.
"""

from __future__ import annotations

from itertools import compress

_DIGITS = bytes.maketrans(b"\x00\x01", b"01")
_INVERTED = bytes.maketrans(b"\x00\x01", b"\x01\x00")
_VALUES = bytes.maketrans(b"01", b"\x00\x01")


def expand(bitmap: bytes, length: int) -> bytes:
    """The mask of a bitmap's first `length` bits."""
    if length == 0:
        return b""
    bits = int.from_bytes(bitmap, "little") & ((1 << length) - 1)
    # A bit above the highest keeps leading zeros; the text runs from the highest bit down.
    return format(bits | 1 << length, "b").encode()[:0:-1].translate(_VALUES)


def pack(mask: bytes) -> bytes:
    """The bitmap of a mask."""
    if not mask:
        return b""
    return int(mask[::-1].translate(_DIGITS), 2).to_bytes((len(mask) + 7) // 8, "little")


def both(left: bytes | None, right: bytes | None) -> bytes | None:
    """1 where both masks have 1. None is a mask of ones."""
    if left is None or right is None:
        return right if left is None else left
    if len(left) != len(right):
        raise ValueError(f"masks of {len(left)} and {len(right)} values")
    joined = int.from_bytes(left, "little") & int.from_bytes(right, "little")
    return joined.to_bytes(len(left), "little")


def inverted(mask: bytes) -> bytes:
    """0 for 1 and 1 for 0."""
    return mask.translate(_INVERTED)


def zeros(mask: bytes | None) -> list[int]:
    """The places of the zeros."""
    if mask is None or 0 not in mask:
        return []
    return list(compress(range(len(mask)), inverted(mask)))


def ones(mask: bytes) -> list[int]:
    """The places of the ones."""
    return list(compress(range(len(mask)), mask))


def cleared(length: int, places: list[int]) -> bytes:
    """A mask of ones but for these places."""
    mask = bytearray(b"\x01") * length
    for place in places:
        mask[place] = 0
    return bytes(mask)
