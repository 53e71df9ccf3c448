// Columns of values of one width.

import { bytesOf, over, type ArrayData, type TypedArrayConstructor } from "../array.ts";
import { readWide } from "../decimal.ts";
import { fromHalf } from "../float16.ts";
import { unpackBits } from "../validity.ts";
import { Column } from "./column.ts";

export type NumberArray =
  | Int8Array | Int16Array | Int32Array
  | Uint8Array | Uint16Array | Uint32Array
  | Float32Array | Float64Array;

/** A column of integers of up to 32 bits, floats, dates in days, or times of 32 bits. */
export class NumberColumn<A extends NumberArray = NumberArray> extends Column<number> {
  /** All values. What lies behind a null is unspecified. */
  readonly values: A;

  constructor(data: ArrayData, array: TypedArrayConstructor<A>) {
    super(data);
    this.values = over(array, data.buffers[0]!);
  }

  get(i: number): number | null {
    return this.hasNulls && this.isNull(i) ? null : this.values[i]!;
  }
}

/** A column of half-precision floats. */
export class Float16Column extends Column<number> {
  /** All values as their bits. */
  readonly bits: Uint16Array;

  constructor(data: ArrayData) {
    super(data);
    this.bits = over(Uint16Array, data.buffers[0]!);
  }

  get(i: number): number | null {
    return this.hasNulls && this.isNull(i) ? null : fromHalf(this.bits[i]!);
  }
}

export type LongArray = BigInt64Array | BigUint64Array;

/** A column of 64-bit integers, dates in milliseconds, times of 64 bits, timestamps or durations. */
export class LongColumn<A extends LongArray = LongArray> extends Column<bigint> {
  /** All values. What lies behind a null is unspecified. */
  readonly values: A;
  /** All values as pairs of 32-bit words: the low one of value i at 2i, the high one at 2i + 1. */
  readonly words: Int32Array;

  constructor(data: ArrayData, array: TypedArrayConstructor<A>) {
    super(data);
    this.values = over(array, data.buffers[0]!);
    this.words = over(Int32Array, bytesOf(this.values));
  }

  get(i: number): bigint | null {
    return this.hasNulls && this.isNull(i) ? null : this.values[i]!;
  }

  /** The value as a number: null where it is null, NaN where it is not from -2^53 to 2^53 - 1. */
  number(i: number): number | null {
    if (this.hasNulls && this.isNull(i)) return null;
    const high = this.words[2 * i + 1]!;
    const exact = high < 0x200000 && high >= (this.values instanceof BigUint64Array ? 0 : -0x200000);
    return exact ? high * 4294967296 + (this.words[2 * i]! >>> 0) : NaN;
  }

  /**
   * All values as numbers: NaN where a value is null or not from -2^53 to 2^53 - 1, where numbers are exact. A test for
   * NaN (`value !== value`) finds both exceptions.
   */
  numbers(): Float64Array {
    const length = this.length;
    const numbers = new Float64Array(length);
    const words = this.words;
    const least = this.values instanceof BigUint64Array ? 0 : -0x200000;
    for (let i = 0, word = 0; i < length; i++) {
      const low = words[word++]!;
      const high = words[word++]!;
      numbers[i] = high < 0x200000 && high >= least ? high * 4294967296 + (low >>> 0) : NaN;
    }
    if (this.nullCount > 0) {
      const flags = this.validity.flags();
      for (let i = flags.indexOf(0); i >= 0; i = flags.indexOf(0, i + 1)) numbers[i] = NaN;
    }
    return numbers;
  }
}

/** A column of decimals, as their unscaled values. */
export class DecimalColumn extends Column<bigint> {
  /** Digits behind the point. */
  readonly scale: number;
  readonly precision: number;
  /** All unscaled values as 64-bit words, least significant first: two for each of 128 bits, four of 256. */
  readonly longs: BigInt64Array;
  /** The same as 32-bit words. */
  readonly words: Int32Array;
  private readonly longsPerValue: number;
  private readonly lows: BigUint64Array;

  constructor(data: ArrayData) {
    super(data);
    const type = data.type as { name: string; precision: number; scale: number };
    this.scale = type.scale;
    this.precision = type.precision;
    this.longsPerValue = type.name === "decimal128" ? 2 : 4;
    this.longs = over(BigInt64Array, data.buffers[0]!);
    this.words = over(Int32Array, bytesOf(this.longs));
    this.lows = over(BigUint64Array, bytesOf(this.longs));
  }

  get(i: number): bigint | null {
    if (this.hasNulls && this.isNull(i)) return null;
    const { words, longs } = this;
    if (this.longsPerValue !== 2) return readWide(longs, words, i, this.longsPerValue);
    // Most values fit the low half; reading it alone makes one bigint and not four.
    const high = words[4 * i + 3]!;
    const small = words[4 * i + 2] === high && words[4 * i + 1]! >> 31 === high;
    return small ? longs[2 * i]! : (longs[2 * i + 1]! << 64n) | this.lows[2 * i]!;
  }
}

export class BooleanColumn extends Column<boolean> {
  /** A bit for each value, least significant bit first. */
  readonly bits: Uint8Array;

  constructor(data: ArrayData) {
    super(data);
    this.bits = data.buffers[0]!;
  }

  get(i: number): boolean | null {
    return this.hasNulls && this.isNull(i) ? null : ((this.bits[i >> 3]! >> (i & 7)) & 1) === 1;
  }

  /** A byte for each value, 1 where it is true. What lies behind a null is unspecified. */
  flags(): Uint8Array {
    return unpackBits(this.bits, this.length);
  }
}
