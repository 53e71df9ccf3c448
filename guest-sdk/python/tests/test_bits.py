"""Bitmaps, masks and lanes against plain loops."""

import math
import random
import struct
import unittest
from collections.abc import Callable
from itertools import accumulate

from gristmill import bits, lanes

SIZES = (0, 1, 2, 7, 8, 9, 64, 101)


class BitsTest(unittest.TestCase):
    def test_masks_and_bitmaps_are_the_same(self) -> None:
        source = random.Random(1)
        for size in SIZES:
            mask = bytes(source.randrange(2) for _ in range(size))
            bitmap = bits.pack(mask)
            self.assertEqual(len(bitmap), (size + 7) // 8)
            self.assertEqual([bitmap[i >> 3] >> (i & 7) & 1 for i in range(size)], list(mask))
            self.assertEqual(bits.expand(bitmap, size), mask)
            self.assertEqual(bits.ones(mask), [i for i in range(size) if mask[i]])
            self.assertEqual(bits.zeros(mask), [i for i in range(size) if not mask[i]])
            self.assertEqual(bits.cleared(size, bits.zeros(mask)), mask)

    def test_unused_bits_are_ignored(self) -> None:
        self.assertEqual(bits.expand(b"\xfd", 3), b"\x01\x00\x01")

    def test_no_mask_is_all_ones(self) -> None:
        self.assertIsNone(bits.both(None, None))
        self.assertEqual(bits.both(None, b"\x00\x01"), b"\x00\x01")
        self.assertEqual(bits.both(b"\x01\x01", b"\x00\x01"), b"\x00\x01")
        with self.assertRaises(ValueError):
            bits.both(b"\x01", b"\x01\x01")


class LanesTest(unittest.TestCase):
    def each(self, check: Callable[[int, list[int], list[int], random.Random], None]) -> None:
        for width in (4, 8, 16):
            half = 1 << (8 * width - 1)
            for size in SIZES:
                source = random.Random(size)
                edges = [0, -1, 1, half - 1, -half, half - 2, 1 - half]

                def value(source: random.Random = source, half: int = half, edges: list[int] = edges) -> int:
                    return source.choice([source.randrange(-half, half), source.choice(edges)])

                with self.subTest(width=width, size=size):
                    check(width, [value() for _ in range(size)], [value() for _ in range(size)], source)

    def test_results_wrap(self) -> None:
        def check(width: int, left: list[int], right: list[int], source: random.Random) -> None:
            half = 1 << (8 * width - 1)
            for factor, addend in [(31, 7), (-1, 0), (0, -5), (source.randrange(-half, half), half - 1)]:
                expected = [value * factor + addend for value in left]
                self.assertEqual(lanes.affine(packed(left, width), factor, addend, width), packed(expected, width))
            self.assertEqual(lanes.negated(packed(left, width), width), packed([-value for value in left], width))

        self.each(check)

    def test_sums_say_where_they_do_not_fit(self) -> None:
        def check(width: int, left: list[int], right: list[int], source: random.Random) -> None:
            half = 1 << (8 * width - 1)
            for addend in (0, 1, -1, half - 1, -half):
                sums, places = lanes.add(packed(left, width), addend, width)
                self.assertEqual(sums, packed([value + addend for value in left], width))
                self.assertEqual(places, [i for i, v in enumerate(left) if not -half <= v + addend < half])
            self.assertEqual(
                lanes.sums(packed(left, width), packed(right, width), width),
                packed([a + b for a, b in zip(left, right, strict=True)], width),
            )
            for most in (half - 1, half // 3, 1, 0):
                sums, places = lanes.sums_within(packed(left, width), packed(right, width), most, width)
                totals = [a + b for a, b in zip(left, right, strict=True)]
                self.assertEqual(sums, packed(totals, width))
                self.assertEqual(places, [i for i, total in enumerate(totals) if abs(total) > most])

        self.each(check)

    def test_sums_of_values_far_from_the_most(self) -> None:
        for width, most in [(8, 2**63 - 1), (16, 10**38 - 1), (8, 1000), (8, 7), (8, 1)]:
            half = 1 << (most.bit_length() - 1)
            for edge in (half // 2, half // 2 - 1, most // 2, most // 2 + 1, most):
                for left, right in [(edge, edge), (-edge, -edge), (edge, -edge), (0, -edge)]:
                    sums, places = lanes.sums_within(packed([1, left], width), packed([-1, right], width), most, width)
                    self.assertEqual(sums, packed([0, left + right], width))
                    self.assertEqual(places, [1] if abs(left + right) > most else [], (width, most, left, right))

    def test_comparisons(self) -> None:
        def check(width: int, left: list[int], right: list[int], source: random.Random) -> None:
            right = [a if source.randrange(3) == 0 else b for a, b in zip(left, right, strict=True)]
            mask = lanes.at_least(packed(left, width), packed(right, width), width)
            self.assertEqual(list(mask), [int(a >= b) for a, b in zip(left, right, strict=True)])

        self.each(check)

    def test_what_is_not_zero(self) -> None:
        def check(width: int, left: list[int], right: list[int], source: random.Random) -> None:
            values = [source.choice([0, value]) for value in left]
            self.assertEqual(list(lanes.nonzero(packed(values, width), width)), [int(value != 0) for value in values])

        self.each(check)

    def test_lengths_of_offsets(self) -> None:
        def check(width: int, left: list[int], right: list[int], source: random.Random) -> None:
            lengths = [source.randrange(1000) for _ in left]
            offsets = packed(list(accumulate(lengths, initial=0)), width)
            self.assertEqual(lanes.differences(offsets, width), packed(lengths, width))

        self.each(check)
        self.assertEqual(lanes.differences(b""), b"")

    def test_finite_floats(self) -> None:
        inf, nan, most = float("inf"), float("nan"), 1.7976931348623157e308
        floats = [0.0, -0.0, inf, -inf, nan, most, -most, 5e-324, 1.0]
        for size in range(len(floats) + 1):
            mask = lanes.finite(struct.pack(f"<{size}d", *floats[:size]))
            self.assertEqual(list(mask), [math.isfinite(value) for value in floats[:size]])
        negative_nan = (0xFFF << 52 | 1).to_bytes(8, "little")
        self.assertEqual(lanes.finite(negative_nan + bytes(8)), b"\x00\x01")


def packed(values: list[int], width: int) -> bytes:
    return b"".join([(value % (1 << 8 * width)).to_bytes(width, "little") for value in values])
