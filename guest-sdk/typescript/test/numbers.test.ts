import assert from "node:assert/strict";
import test from "node:test";
import { fitsPrecision, formatDecimal, parseDecimal } from "../src/decimal.ts";
import { decimal128, decimal256, int64, uint64 } from "../src/kind.ts";
import { fromHalf, toHalf } from "../src/float16.ts";

test("halves round-trip", () => {
  for (let bits = 0; bits <= 0xffff; bits++) {
    const value = fromHalf(bits);
    if (Number.isNaN(value)) assert.ok(Number.isNaN(fromHalf(toHalf(value))));
    else assert.equal(toHalf(value), bits, bits.toString(16));
  }
});

test("halves round to even", () => {
  for (const [value, rounded] of [
    [2049, 2048], [2051, 2052], [65519, 65504], [65520, Infinity], [1e-9, 0], [-65520, -Infinity],
    [2 ** -24 * 1.5, 2 ** -23], [2 ** -25, 0], [2 ** -14 * (1 - 2 ** -12), 2 ** -14],
  ] as const) {
    assert.equal(fromHalf(toHalf(value)), rounded, String(value));
  }
});

test("decimals as texts", () => {
  for (const [text, scale, unscaled] of [
    ["12.50", 2, 1250n], ["-0.01", 2, -1n], ["7", 3, 7000n], [".5", 1, 5n], ["5.", 0, 5n], ["1.500", 1, 15n],
    ["+3", 0, 3n], ["1200", -2, 12n], ["0", 0, 0n],
  ] as const) {
    assert.equal(parseDecimal(text, scale), unscaled, text);
  }
  for (const text of ["", ".", "-", "1.2.3", "1e3", "0x1", " 1", "1,5", "1.55", "NaN"]) {
    assert.equal(parseDecimal(text, 1), undefined, text);
  }
  assert.equal(parseDecimal("1250", -2), undefined);
  for (const [unscaled, scale, text] of [
    [1250n, 2, "12.50"], [-1n, 2, "-0.01"], [0n, 3, "0.000"], [12n, -2, "1200"], [5n, 0, "5"],
  ] as const) {
    assert.equal(formatDecimal(unscaled, scale), text);
  }
});

test("precision", () => {
  assert.ok(fitsPrecision(999n, 3) && fitsPrecision(-999n, 3));
  assert.ok(!fitsPrecision(1000n, 3) && !fitsPrecision(-1000n, 3));
});

test("wide integers round-trip", () => {
  for (const [kind, bits] of [[decimal128(38, 0), 128], [decimal256(76, 0), 256]] as const) {
    const values = [0n, 1n, -1n, 2n ** 31n, -(2n ** 31n), 2n ** 63n, -(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n];
    for (let bit = 62n; bit < BigInt(bits) - 1n; bit += 13n) values.push(2n ** bit, -(2n ** bit) - 1n);
    values.push(2n ** BigInt(bits - 1) - 1n, -(2n ** BigInt(bits - 1)));
    const builder = kind.builder();
    for (const value of [...values, null]) builder.push(value);
    assert.deepEqual([...kind.view(builder.finish())], [...values, null]);
  }
});

test("64-bit integers as numbers, where those are exact", () => {
  const exact = [0, 1, -1, 4294967296, -4294967297, 2 ** 53 - 1, -(2 ** 53)];
  const builder = int64.builder(1);
  for (const value of exact) builder.push(BigInt(value));
  builder.push(2n ** 53n);
  builder.push(-(2n ** 53n) - 1n);
  builder.push(null);
  const column = int64.view(builder.finish());
  assert.deepEqual([...column.numbers()], [...exact, NaN, NaN, NaN]);
  assert.deepEqual(exact.map((_, i) => column.number(i)), exact);
  assert.ok(Number.isNaN(column.number(exact.length)));
  assert.equal(column.number(exact.length + 2), null);

  const unsigned = uint64.builder();
  unsigned.push(2n ** 64n - 1n);
  unsigned.push(7);
  assert.deepEqual([...uint64.view(unsigned.finish()).numbers()], [NaN, 7]);
  assert.throws(() => int64.builder().push(2 ** 53), RangeError);
  assert.throws(() => int64.builder().push(1.5), RangeError);
});

test("whole columns of numbers", () => {
  const column = int64.view(int64.whole(Float64Array.of(5, -(2 ** 40) - 1, NaN)));
  assert.deepEqual([...column], [5n, -(2n ** 40n) - 1n, 0n]);
});
