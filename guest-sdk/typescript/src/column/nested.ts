// Columns of lists, structs and maps.

import { offsetsOf, type ArrayData } from "../array.ts";
import type { Reader } from "../kind.ts";
import { childFields } from "../types.ts";
import { Column } from "./column.ts";

/** Which items of a column belong to a value. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A column of lists: spans of one column of items. */
export class ListColumn<C extends Column> extends Column<Span> {
  /** Where the items of each value start; one more than there are values. */
  readonly offsets: Int32Array;
  /** The items of all values, one after the other. */
  readonly items: C;

  constructor(data: ArrayData, item: Reader<C>) {
    super(data);
    this.offsets = offsetsOf(data);
    this.items = item.view(data.children[0]!);
  }

  /** Which of `items` belong to value i, or null. */
  get(i: number): Span | null {
    return this.hasNulls && this.isNull(i) ? null : { start: this.offsets[i]!, end: this.offsets[i + 1]! };
  }
}

/** A column of lists that all have the same number of items. */
export class FixedSizeListColumn<C extends Column> extends Column<Span> {
  /** Items in each value. */
  readonly size: number;
  readonly items: C;

  constructor(data: ArrayData, item: Reader<C>) {
    super(data);
    this.size = (data.type as { size: number }).size;
    this.items = item.view(data.children[0]!);
  }

  /** Which of `items` belong to value i, or null. */
  get(i: number): Span | null {
    return this.hasNulls && this.isNull(i) ? null : { start: i * this.size, end: (i + 1) * this.size };
  }
}

/** A column of structs: a column for each member. A member's value under a null struct is unspecified. */
export class StructColumn<M extends Record<string, Column>> extends Column<{ [K in keyof M]: unknown }> {
  readonly members: M;

  constructor(data: ArrayData, readers: Record<string, Reader<Column>>) {
    super(data);
    const members: Record<string, Column> = {};
    childFields(data.type).forEach(({ name }, i) => (members[name] = readers[name]!.view(data.children[i]!)));
    this.members = members as M;
  }

  /** The members' values as an object, or null. */
  get(i: number): { [K in keyof M]: unknown } | null {
    if (this.hasNulls && this.isNull(i)) return null;
    const values: Record<string, unknown> = {};
    for (const name in this.members) values[name] = this.members[name]!.get(i);
    return values as { [K in keyof M]: unknown };
  }
}

/** A column of maps: spans of a column of keys and a column of values. */
export class MapColumn<K extends Column, V extends Column> extends Column<Span> {
  /** Where the entries of each value start; one more than there are values. */
  readonly offsets: Int32Array;
  readonly keys: K;
  readonly values: V;

  constructor(data: ArrayData, key: Reader<K>, value: Reader<V>) {
    super(data);
    this.offsets = offsetsOf(data);
    const [keys, values] = data.children[0]!.children;
    this.keys = key.view(keys!);
    this.values = value.view(values!);
  }

  /** Which of `keys` and `values` belong to value i, or null. */
  get(i: number): Span | null {
    return this.hasNulls && this.isNull(i) ? null : { start: this.offsets[i]!, end: this.offsets[i + 1]! };
  }
}
