// Single values of any type, as row transforms and tests read and write them.

import type { ArrayData } from "./array.ts";
import type { Builder } from "./build/builder.ts";
import type { Column } from "./column/column.ts";
import { FixedSizeListColumn, ListColumn, MapColumn, StructColumn } from "./column/nested.ts";
import { DecimalColumn, LongColumn, NumberColumn } from "./column/primitive.ts";
import { fitsPrecision, formatDecimal, parseDecimal } from "./decimal.ts";
import { Reject } from "./failure.ts";
import { kindOf } from "./kind.ts";
import { childFields, type DataType, type Field } from "./types.ts";

/**
 * One value.
 *
 * Integers, dates, times, timestamps and durations are numbers, or bigints where no number is exact. Decimals are
 * texts such as `12.50`; written, they may also be bigints, the unscaled value.
 */
export type Cell =
  | null | boolean | number | bigint | string | Uint8Array
  | readonly Cell[] | { readonly [member: string]: Cell } | ReadonlyMap<Cell, Cell>;

export interface CellReader {
  get(i: number): Cell;
  /** A whole number, or the unscaled value of a decimal; undefined for other types. */
  integer(i: number): bigint | null | undefined;
}

/** Reads single values of a column. */
export function cellReader(array: ArrayData): CellReader {
  const column = kindOf(array.type).view(array);
  return { get: getter(column), integer: integerGetter(column) };
}

function getter(column: Column): (i: number) => Cell {
  if (column instanceof LongColumn) {
    return (i) => {
      const number = column.number(i);
      return number !== null && Number.isNaN(number) ? column.get(i) : number;
    };
  }
  if (column instanceof DecimalColumn) {
    const { scale } = column;
    return (i) => {
      const unscaled = column.get(i);
      return unscaled === null ? null : formatDecimal(unscaled, scale);
    };
  }
  if (column instanceof ListColumn || column instanceof FixedSizeListColumn) {
    const item = getter(column.items as Column);
    return (i) => {
      const span = column.get(i);
      if (span === null) return null;
      const items: Cell[] = [];
      for (let at = span.start; at < span.end; at++) items.push(item(at));
      return items;
    };
  }
  if (column instanceof StructColumn) {
    const members = Object.entries(column.members as Record<string, Column>);
    const getters = members.map(([name, member]) => [name, getter(member)] as const);
    return (i) => (column.isNull(i) ? null : Object.fromEntries(getters.map(([name, get]) => [name, get(i)])));
  }
  if (column instanceof MapColumn) {
    const key = getter(column.keys as Column);
    const value = getter(column.values as Column);
    return (i) => {
      const span = column.get(i);
      if (span === null) return null;
      const entries = new Map<Cell, Cell>();
      for (let at = span.start; at < span.end; at++) entries.set(key(at), value(at));
      return entries;
    };
  }
  return (i) => column.get(i) as Cell;
}

function integerGetter(column: Column): (i: number) => bigint | null | undefined {
  if (column instanceof LongColumn || column instanceof DecimalColumn) return (i) => column.get(i) as bigint | null;
  if (!(column instanceof NumberColumn) || column.type.name.startsWith("float")) return () => undefined;
  return (i) => {
    const value = column.get(i);
    return value === null ? null : BigInt(value);
  };
}

/** Writes a value that is not null. Throws a reject that names the column where it is no value of the type. */
export type CellWriter = (value: Cell, column: string) => void;

export function cellWriter(type: DataType, builder: Builder): CellWriter {
  const fit = fitting(type);
  return (value, column) => {
    const fitted = fit(value);
    if (fitted instanceof Unfit) throw new Reject(fitted.code, fitted.message, column);
    builder.push(fitted);
  };
}

/** Why a column does not take a value. */
export class Unfit {
  readonly code: string;
  readonly message: string;

  private constructor(code: string, message: string) {
    this.code = code;
    this.message = message;
  }

  static readonly type = new Unfit("wrong-type", "the value is of another sort than the output column");
  static readonly range = new Unfit("out-of-range", "the output column cannot hold the value");
  static readonly missing = new Unfit("missing-value", "a value within the value is null");
}

type Fit = (value: Cell) => unknown;

const INTEGERS: Partial<Record<DataType["name"], readonly [number, number]>> = {
  int8: [-128, 127], int16: [-32768, 32767], int32: [-2147483648, 2147483647],
  uint8: [0, 255], uint16: [0, 65535], uint32: [0, 4294967295],
  date32: [-2147483648, 2147483647], time32: [-2147483648, 2147483647],
};

/** What a builder of the type takes for a value that is not null. */
export function fitting(type: DataType): Fit {
  const range = INTEGERS[type.name];
  if (range !== undefined) {
    const [least, most] = range;
    return (value) => {
      const number = typeof value === "bigint" ? Number(value) : value;
      if (typeof number !== "number") return Unfit.type;
      return Number.isInteger(number) && number >= least && number <= most ? number : Unfit.range;
    };
  }
  switch (type.name) {
    case "null":
      return () => Unfit.type;
    case "boolean":
      return (value) => (typeof value === "boolean" ? value : Unfit.type);
    case "float16":
    case "float32":
    case "float64":
      return (value) => (typeof value === "number" ? value : Unfit.type);
    case "utf8":
    case "large-utf8":
      return (value) => (typeof value === "string" ? value : Unfit.type);
    case "binary":
    case "large-binary":
      return (value) => (value instanceof Uint8Array ? value : Unfit.type);
    case "fixed-size-binary":
      return (value) =>
        !(value instanceof Uint8Array) ? Unfit.type : value.length === type.width ? value : Unfit.range;
    case "decimal128":
    case "decimal256":
      return (value) => {
        const unscaled = typeof value === "string" ? parseDecimal(value, type.scale) : value;
        if (unscaled === undefined) return Unfit.range;
        if (typeof unscaled !== "bigint") return Unfit.type;
        return fitsPrecision(unscaled, type.precision) ? unscaled : Unfit.range;
      };
    case "list":
    case "large-list":
      return fittingItems(type.item);
    case "fixed-size-list": {
      const items = fittingItems(type.item);
      return (value) => (Array.isArray(value) && value.length !== type.size ? Unfit.range : items(value));
    }
    case "struct":
      return fittingMembers(type.members);
    case "map": {
      const [key, value] = childFields(type.entries.type);
      return fittingEntries(key!, value!);
    }
  }
  const unsigned = type.name === "uint64";
  return (value) => {
    if (typeof value === "number") return Number.isSafeInteger(value) && !(unsigned && value < 0) ? value : Unfit.range;
    if (typeof value !== "bigint") return Unfit.type;
    return (unsigned ? BigInt.asUintN(64, value) : BigInt.asIntN(64, value)) === value ? value : Unfit.range;
  };
}

/** The same for a member, which may be null. */
function fittingField({ type, nullable }: Field): (value: Cell | undefined) => unknown {
  const fit = fitting(type);
  return (value) => (value === null || value === undefined ? (nullable ? null : Unfit.missing) : fit(value));
}

function fittingItems(item: Field): Fit {
  const fit = fittingField(item);
  return (value) => {
    if (!Array.isArray(value)) return Unfit.type;
    const items = value.map(fit);
    return items.find((item) => item instanceof Unfit) ?? items;
  };
}

function fittingMembers(members: readonly Field[]): Fit {
  const fits = members.map((member) => [member.name, fittingField(member)] as const);
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return Unfit.type;
    const given = value as Record<string, Cell>;
    const fitted = fits.map(([name, fit]) => [name, fit(given[name])] as const);
    return fitted.find(([, member]) => member instanceof Unfit)?.[1] ?? Object.fromEntries(fitted);
  };
}

function fittingEntries(key: Field, value: Field): Fit {
  const fitKey = fittingField(key);
  const fitValue = fittingField(value);
  return (map) => {
    if (!(map instanceof Map)) return Unfit.type;
    const entries = [...map].map(([key, value]) => [fitKey(key), fitValue(value)] as const);
    return entries.flat().find((part) => part instanceof Unfit) ?? entries;
  };
}

