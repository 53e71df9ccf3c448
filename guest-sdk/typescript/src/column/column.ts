// What all views of columns have in common.

import type { ArrayData } from "../array.ts";
import type { DataType } from "../types.ts";
import type { Validity } from "../validity.ts";

/** A view of a column. It copies nothing; places are from 0 to `length` - 1. */
export abstract class Column<T = unknown> {
  /** The column itself, to be handed on as it is. */
  readonly data: ArrayData;
  readonly length: number;
  readonly validity: Validity;
  protected readonly hasNulls: boolean;
  private readonly nullBits: Uint8Array;

  constructor(data: ArrayData) {
    this.data = data;
    this.length = data.length;
    this.validity = data.validity;
    this.hasNulls = data.nullCount > 0;
    this.nullBits = data.validity.bits;
  }

  get type(): DataType {
    return this.data.type;
  }

  get nullCount(): number {
    return this.data.nullCount;
  }

  isNull(i: number): boolean {
    return this.hasNulls && ((this.nullBits[i >> 3]! >> (i & 7)) & 1) === 0;
  }

  /** The value, or null. */
  abstract get(i: number): T | null;

  /** All values. Each is an object or a string of its own where the type calls for it: for small columns and tests. */
  *[Symbol.iterator](): Iterator<T | null> {
    for (let i = 0; i < this.length; i++) yield this.get(i);
  }
}

/** A column of nothing but nulls. */
export class NullColumn extends Column<null> {
  override isNull(): boolean {
    return true;
  }
  override get(): null {
    return null;
  }
}

/** A column of any type, seen as a whole. */
export class AnyColumn extends Column<never> {
  /** Reads no values: name the column's kind for that. */
  override get(): null {
    throw new TypeError("a column read as `any` has no values to get: read it as its own kind");
  }
}
