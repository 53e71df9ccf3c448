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
  #values: A;
  #length = 0;
  readonly #array: Growable<A>;

  constructor(type: DataType, array: Growable<A>, capacity: number) {
    super(type);
    this.#array = array;
    this.#values = new array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  push(value: number | null): void {
    if (this.#length === this.#values.length) this.#grow();
    if (value === null) this.nulls.push(this.#length);
    this.#values[this.#length++] = value ?? 0;
  }

  #grow(): void {
    const larger = new this.#array(grown(this.#length));
    larger.set(this.#values);
    this.#values = larger;
  }

  truncate(length: number): void {
    this.#length = Math.min(this.#length, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity(), [bytesOf(this.#values.subarray(0, this.#length))]);
  }
}

/** Builds a column of half-precision floats. */
export class Float16Builder extends Builder<number> {
  readonly #bits: NumberBuilder<Uint16Array>;

  constructor(type: DataType, capacity: number) {
    super(type);
    this.#bits = new NumberBuilder(type, Uint16Array, capacity);
  }

  get length(): number {
    return this.#bits.length;
  }

  override get nullCount(): number {
    return this.#bits.nullCount;
  }

  push(value: number | null): void {
    this.#bits.push(value === null ? null : toHalf(value));
  }

  truncate(length: number): void {
    this.#bits.truncate(length);
  }

  finish(): ArrayData {
    return this.#bits.finish();
  }
}

/** Builds a column of 64-bit integers, dates in milliseconds, times of 64 bits, timestamps or durations. */
export class LongBuilder<A extends LongArray = LongArray> extends Builder<bigint | number> {
  #values: A;
  #length = 0;
  readonly #array: Growable<A>;

  constructor(type: DataType, array: Growable<A>, capacity: number) {
    super(type);
    this.#array = array;
    this.#values = new array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a bigint, of which the low 64 bits count, or a whole number that it is exactly. */
  push(value: bigint | number | null): void {
    const at = this.#length;
    if (at === this.#values.length) this.#grow();
    if (typeof value === "number") {
      if (value > 9007199254740991 || value < -9007199254740991) throw new RangeError("the number is not exact");
      this.#values[at] = BigInt(value);
    } else if (value === null) {
      this.nulls.push(at);
      this.#values[at] = 0n;
    } else {
      this.#values[at] = value;
    }
    this.#length++;
  }

  #grow(): void {
    const larger = new this.#array(grown(this.#length));
    // The two sorts of arrays take the same bigints, but not in one call that the compiler could check.
    (larger as BigInt64Array).set(this.#values as BigInt64Array);
    this.#values = larger;
  }

  truncate(length: number): void {
    this.#length = Math.min(this.#length, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity(), [bytesOf(this.#values.subarray(0, this.#length))]);
  }
}

/** Builds a column of decimals from their unscaled values. */
export class DecimalBuilder extends Builder<bigint> {
  #longs: BigInt64Array;
  #length = 0;
  readonly #width: number;

  constructor(type: DataType, capacity: number) {
    super(type);
    this.#width = type.name === "decimal256" ? 4 : 2;
    this.#longs = new BigInt64Array(capacity * this.#width);
  }

  get length(): number {
    return this.#length;
  }

  /** Adds an unscaled value: 1250n is 12.50 where the scale is 2. */
  push(value: bigint | null): void {
    if (this.#longs.length < (this.#length + 1) * this.#width) this.#grow();
    if (value === null) this.nulls.push(this.#length);
    writeWide(this.#longs, this.#length++, this.#width, value ?? 0n);
  }

  #grow(): void {
    const larger = new BigInt64Array(grown(this.#longs.length));
    larger.set(this.#longs);
    this.#longs = larger;
  }

  truncate(length: number): void {
    this.#length = Math.min(this.#length, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    const longs = this.#longs.subarray(0, this.#length * this.#width);
    return new ArrayData(this.type, this.validity(), [bytesOf(longs)]);
  }
}

/** Builds a column of booleans. */
export class BooleanBuilder extends Builder<boolean> {
  #flags: Uint8Array;
  #length = 0;

  constructor(type: DataType, capacity: number) {
    super(type);
    this.#flags = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  push(value: boolean | null): void {
    if (this.#length === this.#flags.length) {
      const larger = new Uint8Array(grown(this.#length));
      larger.set(this.#flags);
      this.#flags = larger;
    }
    if (value === null) this.nulls.push(this.#length);
    this.#flags[this.#length++] = value === true ? 1 : 0;
  }

  truncate(length: number): void {
    this.#length = Math.min(this.#length, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity(), [packBits(this.#flags.subarray(0, this.#length))]);
  }
}

/** Builds a column of nothing but nulls. */
export class NullBuilder extends Builder<null> {
  #length = 0;

  get length(): number {
    return this.#length;
  }

  override get nullCount(): number {
    return this.#length;
  }

  push(_value: null = null): void {
    this.#length++;
  }

  truncate(length: number): void {
    this.#length = Math.min(this.#length, length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity());
  }
}
