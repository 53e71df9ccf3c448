// What all builders have in common.

import { ArrayData } from "../array.ts";
import type { DataType } from "../types.ts";
import { Validity } from "../validity.ts";

/**
 * A column in the making. Give a builder its capacity and pushing allocates little.
 *
 * Builders, columns and selections have `private` members and no `#` ones, which cost QuickJS several times as much.
 */
export abstract class Builder<T = unknown> {
  readonly type: DataType;
  /** The places of the nulls, in rising order: pushing a value that is not null costs nothing here. */
  protected nulls: number[] = [];

  constructor(type: DataType) {
    this.type = type;
  }

  /** Values pushed so far, nulls included. */
  abstract get length(): number;

  abstract push(value: T | null): void;

  /** Forgets values from a place on. */
  abstract truncate(length: number): void;

  /** The finished column; the builder must not be used afterwards. */
  abstract finish(): ArrayData;

  get nullCount(): number {
    return this.nulls.length;
  }

  protected validity(): Validity {
    return Validity.fromNulls(this.nulls, this.length);
  }

  protected truncateNulls(length: number): void {
    while (this.nulls.length > 0 && this.nulls[this.nulls.length - 1]! >= length) this.nulls.pop();
  }
}

/** The capacity after this one. */
export function grown(capacity: number): number {
  return Math.max(64, capacity * 2);
}
