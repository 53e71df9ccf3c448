// Builders for lists, structs and maps.

import { ArrayData, offsetBuffer } from "../array.ts";
import { childFields, type DataType } from "../types.ts";
import { Validity } from "../validity.ts";
import { Builder } from "./builder.ts";

/** A kind as far as a nested builder needs it. */
export interface Buildable<T, B extends Builder<T>> {
  builder(capacity?: number): B;
}

/** Builds a column of lists: push a value's items to `items`, then end the value; or push whole arrays. */
export class ListBuilder<T, B extends Builder<T>> extends Builder<readonly (T | null)[]> {
  /** The items of all values. */
  readonly items: B;
  private readonly ends: number[] = [];

  constructor(type: DataType, item: Buildable<T, B>, capacity: number) {
    super(type);
    this.items = item.builder(capacity);
  }

  get length(): number {
    return this.ends.length;
  }

  push(value: readonly (T | null)[] | null): void {
    if (value === null) this.nulls.push(this.ends.length);
    else for (const item of value) this.items.push(item);
    this.endValue();
  }

  /** Ends the value in hand: its items are those pushed since the one before it. */
  endValue(): void {
    this.ends.push(this.items.length);
  }

  truncate(length: number): void {
    if (length < this.ends.length) {
      this.ends.length = length;
      this.items.truncate(this.ends[length - 1] ?? 0);
    }
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    const offsets = new Int32Array(this.ends.length + 1);
    offsets.set(this.ends, 1);
    return new ArrayData(this.type, this.validity(), [offsetBuffer(this.type, offsets)], [this.items.finish()]);
  }
}

/** Builds a column of lists that all have the same number of items. */
export class FixedSizeListBuilder<T, B extends Builder<T>> extends Builder<readonly (T | null)[]> {
  private readonly itemBuilder: B;
  /** Items in each value. */
  readonly size: number;
  private count = 0;

  constructor(type: DataType, item: Buildable<T, B>, capacity: number) {
    super(type);
    this.size = (type as { size: number }).size;
    this.itemBuilder = item.builder(capacity * this.size);
  }

  get length(): number {
    return this.count;
  }

  push(value: readonly (T | null)[] | null): void {
    if (value !== null && value.length !== this.size) {
      throw new RangeError(`a value has ${value.length} items, not ${this.size}`);
    }
    if (value === null) this.nulls.push(this.count);
    for (let i = 0; i < this.size; i++) this.itemBuilder.push(value === null ? null : value[i]!);
    this.count++;
  }

  truncate(length: number): void {
    if (length < this.count) {
      this.count = length;
      this.itemBuilder.truncate(length * this.size);
    }
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity(), [], [this.itemBuilder.finish()]);
  }
}

/** Builds a column of structs from objects; a member that an object leaves out is null. */
export class StructBuilder<B extends Record<string, Builder>> extends Builder<{ readonly [K in keyof B]?: unknown }> {
  /** A builder for each member. */
  readonly members: B;
  private count = 0;

  constructor(type: DataType, kinds: Record<string, Buildable<unknown, Builder>>, capacity: number) {
    super(type);
    const members: Record<string, Builder> = {};
    for (const { name } of childFields(type)) members[name] = kinds[name]!.builder(capacity);
    this.members = members as B;
  }

  get length(): number {
    return this.count;
  }

  push(value: { readonly [K in keyof B]?: unknown } | null): void {
    if (value === null) this.nulls.push(this.count);
    for (const name in this.members) this.members[name]!.push(value?.[name] ?? null);
    this.count++;
  }

  truncate(length: number): void {
    this.count = Math.min(this.count, length);
    for (const name in this.members) this.members[name]!.truncate(length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity(), [], Object.values(this.members).map((member) => member.finish()));
  }
}

/** Builds a column of maps from `Map`s or entries. */
export class MapBuilder<KB extends Builder, VB extends Builder> extends Builder<Iterable<readonly [unknown, unknown]>> {
  /** The keys of all values, never null. */
  readonly keys: KB;
  readonly values: VB;
  private readonly ends: number[] = [];

  constructor(type: DataType, key: Buildable<unknown, KB>, value: Buildable<unknown, VB>, capacity: number) {
    super(type);
    this.keys = key.builder(capacity);
    this.values = value.builder(capacity);
  }

  get length(): number {
    return this.ends.length;
  }

  push(entries: Iterable<readonly [unknown, unknown]> | null): void {
    if (entries === null) {
      this.nulls.push(this.ends.length);
    } else {
      for (const [key, value] of entries) {
        this.keys.push(key);
        this.values.push(value);
      }
    }
    this.endValue();
  }

  /** Ends the map in hand: its entries are those pushed to `keys` and `values` since the one before it. */
  endValue(): void {
    if (this.keys.length !== this.values.length) throw new RangeError("a map has a value for each key");
    this.ends.push(this.keys.length);
  }

  truncate(length: number): void {
    if (length < this.ends.length) {
      this.ends.length = length;
      const end = this.ends[length - 1] ?? 0;
      this.keys.truncate(end);
      this.values.truncate(end);
    }
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    const offsets = new Int32Array(this.ends.length + 1);
    offsets.set(this.ends, 1);
    const [entries] = childFields(this.type);
    const struct = new ArrayData(entries!.type, Validity.all(this.keys.length), [], [
      this.keys.finish(),
      this.values.finish(),
    ]);
    return new ArrayData(this.type, this.validity(), [offsetBuffer(this.type, offsets)], [struct]);
  }
}
