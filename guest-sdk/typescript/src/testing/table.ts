// Columns in memory.

import { ArrayData } from "../array.ts";
import { cellReader, fitting, Unfit, type Cell } from "../cell.ts";
import type { RawField } from "../contract.ts";
import { kindOf, type Kind } from "../kind.ts";
import { Selection } from "../selection.ts";
import { take } from "../take.ts";
import { toTree, typeText, type DataType, type Field } from "../types.ts";
import { csvRows } from "./csv.ts";

/** The kind of each column, by name. */
export type Kinds = Readonly<Record<string, Kind<any, any, any>>>;

/** Named columns of one length. */
export class Table {
  readonly fields: readonly Field[];
  readonly arrays: readonly ArrayData[];
  readonly rows: number;

  constructor(fields: readonly Field[], arrays: readonly ArrayData[], rows: number) {
    this.fields = fields;
    this.arrays = arrays;
    this.rows = rows;
  }

  /** Rows as objects; what one leaves out is null. Throws where a value is not of its column's kind. */
  static of(kinds: Kinds, rows: readonly Readonly<Record<string, Cell>>[]): Table {
    for (const name of new Set(rows.flatMap((row) => Object.keys(row)))) {
      if (kinds[name] === undefined) throw new TypeError(`no kind is given for column ${name}`);
    }
    const fields = fieldsOf(kinds);
    const columns = fields.map(({ name, type }) => column(name, type, rows.map((row) => row[name] ?? null)));
    return new Table(fields, columns, rows.length);
  }

  /**
   * Reads CSV with a header. Columns that have a kind are read, all others are left out; a field that equals `nullText`
   * is null. Throws on text that is not of its kind.
   */
  static fromCsv(text: string, kinds: Kinds, nullText = ""): Table {
    const [header = [], ...rows] = csvRows(text);
    const fields = fieldsOf(kinds);
    const columns = fields.map(({ name, type }) => {
      const place = header.indexOf(name);
      if (place < 0) throw new TypeError(`the CSV has no column ${name}`);
      const cells = rows.map((row) => row[place] ?? nullText);
      return column(name, type, cells.map((cell) => (cell === nullText ? null : parse(cell, type))));
    });
    return new Table(fields, columns, rows.length);
  }

  /** The column of this name. */
  array(name: string): ArrayData {
    const place = this.fields.findIndex((field) => field.name === name);
    if (place < 0) throw new TypeError(`there is no column ${name}; there are ${this.fields.map((f) => f.name)}`);
    return this.arrays[place]!;
  }

  /** All values of a column. */
  values(name: string): Cell[] {
    return cells(this.array(name));
  }

  /** All rows as objects, to compare with. */
  toRows(): Record<string, Cell>[] {
    const columns = this.fields.map((field, place) => [field.name, cells(this.arrays[place]!)] as const);
    return Array.from({ length: this.rows }, (_, i) =>
      Object.fromEntries(columns.map(([name, values]) => [name, values[i]!])),
    );
  }

  /** One line for the names, one for each row, values between ` | `. */
  toString(): string {
    const columns = this.arrays.map(cells);
    const lines = [this.fields.map((field) => field.name).join(" | ")];
    for (let i = 0; i < this.rows; i++) lines.push(columns.map((values) => cellText(values[i]!)).join(" | "));
    return lines.map((line) => `${line}\n`).join("");
  }

  /** The columns' fields as trees, as in a setup. */
  toRawFields(): RawField[] {
    return this.fields.flatMap((field) => toTree(field));
  }
}

/** A column's rows in another order. */
export function taken(array: ArrayData, rows: ArrayLike<number>): ArrayData {
  return take(array, Selection.from(rows).runs());
}

export function cells(array: ArrayData): Cell[] {
  const reader = cellReader(array);
  return Array.from({ length: array.length }, (_, i) => reader.get(i));
}

/** A column of these values. */
export function column(name: string, type: DataType, values: readonly Cell[]): ArrayData {
  const builder = kindOf(type).builder(values.length);
  const fit = fitting(type);
  for (const value of values) {
    const fitted = value === null ? null : fit(value);
    if (fitted instanceof Unfit) throw new TypeError(`column ${name}: ${cellText(value)} is no ${typeText(type)}`);
    builder.push(fitted);
  }
  return builder.finish();
}

function fieldsOf(kinds: Kinds): Field[] {
  return Object.entries(kinds).map(([name, { type, nullable }]) => ({ name, type, nullable }));
}

function parse(text: string, type: DataType): Cell {
  switch (type.name) {
    case "utf8":
    case "large-utf8":
    case "decimal128":
    case "decimal256":
      return text;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text;
    case "float16":
    case "float32":
    case "float64":
      return Number(text);
    default:
      return /^-?\d+$/.test(text) ? BigInt(text) : text;
  }
}

function cellText(value: Cell): string {
  if (value instanceof Uint8Array) return Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (Array.isArray(value)) return `[${value.map(cellText).join(", ")}]`;
  if (value instanceof Map) return `{${[...value].map(([key, of]) => `${cellText(key)}: ${cellText(of)}`).join(", ")}}`;
  if (typeof value === "object" && value !== null) return `{${Object.values(value).map(cellText).join(", ")}}`;
  return Object.is(value, -0) ? "-0" : String(value);
}
