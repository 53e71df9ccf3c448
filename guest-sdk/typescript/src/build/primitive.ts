// Builders for values of one width.

import { ArrayData, bytesOf } from "../array.ts";
import { writeWide } from "../decimal.ts";
import { toHalf } from "../float16.ts";
import type { LongArray, NumberArray } from "../column/primitive.ts";
import type { DataType } from "../types.ts";
import { packBits } from "../validity.ts";
import { Builder, grown } from "./builder.ts";

interface Growable<A> {
  new (length: number): A;
}

/** Builds a column of integers of up to 32 bits, floats, dates in days, or times of 32 bits. */
export class NumberBuilder<A extends NumberArray = NumberArray> extends Builder<number> {
  private buffer: A;
  private count = 0;
  private readonly array: Growable<A>;

  constructor(type: DataType, array: Growable<A>, capacity: number) {
    super(type);
    this.array = array;
    this.buffer = new array(capacity);
  }

  get length(): number {
    return this.count;
  }

  push(value: number | null): void {
    if (this.count === this.buffer.length) this.grow();
    if (value === null) this.nulls.push(this.count);
    this.buffer[this.count++] = value ?? 0;
  }

  private grow(): void {
    const larger = new this.array(grown(this.count));
    larger.set(this.buffer);
    this.buffer = larger;
  }

  truncate(length: number): void {
    this.count = Math.min(this.count, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity(), [bytesOf(this.buffer.subarray(0, this.count))]);
  }
}

/** Builds a column of half-precision floats. */
export class Float16Builder extends Builder<number> {
  private readonly builder: NumberBuilder<Uint16Array>;

  constructor(type: DataType, capacity: number) {
    super(type);
    this.builder = new NumberBuilder(type, Uint16Array, capacity);
  }

  get length(): number {
    return this.builder.length;
  }

  override get nullCount(): number {
    return this.builder.nullCount;
  }

  push(value: number | null): void {
    this.builder.push(value === null ? null : toHalf(value));
  }

  truncate(length: number): void {
    this.builder.truncate(length);
  }

  finish(): ArrayData {
    return this.builder.finish();
  }
}

/** Builds a column of 64-bit integers, dates in milliseconds, times of 64 bits, timestamps or durations. */
export class LongBuilder<A extends LongArray = LongArray> extends Builder<bigint | number> {
  private buffer: A;
  private count = 0;
  private readonly array: Growable<A>;

  constructor(type: DataType, array: Growable<A>, capacity: number) {
    super(type);
    this.array = array;
    this.buffer = new array(capacity);
  }

  get length(): number {
    return this.count;
  }

  /** Adds a bigint, of which the low 64 bits count, or a whole number that it is exactly. */
  push(value: bigint | number | null): void {
    const at = this.count;
    if (at === this.buffer.length) this.grow();
    if (typeof value === "number") {
      if (value > 9007199254740991 || value < -9007199254740991) throw new RangeError("the number is not exact");
      this.buffer[at] = BigInt(value);
    } else if (value === null) {
      this.nulls.push(at);
      this.buffer[at] = 0n;
    } else {
      this.buffer[at] = value;
    }
    this.count++;
  }

  private grow(): void {
    const larger = new this.array(grown(this.count));
    // The two sorts of arrays take the same bigints, but not in one call that the compiler could check.
    (larger as BigInt64Array).set(this.buffer as BigInt64Array);
    this.buffer = larger;
  }

  truncate(length: number): void {
    this.count = Math.min(this.count, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity(), [bytesOf(this.buffer.subarray(0, this.count))]);
  }
}

/** Builds a column of decimals from their unscaled values. */
export class DecimalBuilder extends Builder<bigint> {
  private longs: BigInt64Array;
  private count = 0;
  private readonly longsPerValue: number;

  constructor(type: DataType, capacity: number) {
    super(type);
    this.longsPerValue = type.name === "decimal256" ? 4 : 2;
    this.longs = new BigInt64Array(capacity * this.longsPerValue);
  }

  get length(): number {
    return this.count;
  }

  /** Adds an unscaled value: 1250n is 12.50 where the scale is 2. */
  push(value: bigint | null): void {
    const at = this.count++;
    if (this.longs.length < (at + 1) * this.longsPerValue) this.grow();
    if (value === null) this.nulls.push(at);
    const longs = this.longs;
    if (this.longsPerValue === 2) {
      longs[2 * at] = value ?? 0n;
      longs[2 * at + 1] = (value ?? 0n) >> 64n;
    } else {
      writeWide(longs, at, 4, value ?? 0n);
    }
  }

  private grow(): void {
    const larger = new BigInt64Array(grown(this.longs.length));
    larger.set(this.longs);
    this.longs = larger;
  }

  truncate(length: number): void {
    this.count = Math.min(this.count, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    const longs = this.longs.subarray(0, this.count * this.longsPerValue);
    return new ArrayData(this.type, this.validity(), [bytesOf(longs)]);
  }
}

/** Builds a column of booleans. */
export class BooleanBuilder extends Builder<boolean> {
  private flags: Uint8Array;
  private count = 0;

  constructor(type: DataType, capacity: number) {
    super(type);
    this.flags = new Uint8Array(capacity);
  }

  get length(): number {
    return this.count;
  }

  push(value: boolean | null): void {
    if (this.count === this.flags.length) {
      const larger = new Uint8Array(grown(this.count));
      larger.set(this.flags);
      this.flags = larger;
    }
    if (value === null) this.nulls.push(this.count);
    this.flags[this.count++] = value === true ? 1 : 0;
  }

  truncate(length: number): void {
    this.count = Math.min(this.count, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity(), [packBits(this.flags.subarray(0, this.count))]);
  }
}

/** Builds a column of nothing but nulls. */
export class NullBuilder extends Builder<null> {
  private count = 0;

  get length(): number {
    return this.count;
  }

  override get nullCount(): number {
    return this.count;
  }

  push(_value: null = null): void {
    this.count++;
  }

  truncate(length: number): void {
    this.count = Math.min(this.count, length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity());
  }
}
