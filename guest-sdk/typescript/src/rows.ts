// A row view for simple transforms: read cells by name, write cells by name.
//
// It costs several times what whole columns cost. Nested columns are read and written as arrays and objects.

import type { ArrayData } from "./array.ts";
import type { Batch } from "./batch.ts";
import type { Builder } from "./build/builder.ts";
import { cellReader, cellWriter, type Cell, type CellReader, type CellWriter } from "./cell.ts";
import { columns } from "./component.ts";
import type { Contract } from "./contract.ts";
import { Reject } from "./failure.ts";
import { kindOf } from "./kind.ts";
import type { Operation, Outputs } from "./outputs.ts";
import { computedFields, type Output, type OutputPlan, type Plan, type Read } from "./plan.ts";
import { Selection } from "./selection.ts";
import type { Setup } from "./setup.ts";

/** Writes the output rows that one input row makes: none, one or more, to any output. Throws a `Reject` for a bad row. */
export type ProcessRow = (row: Row, out: RowOutputs) => void;

/**
 * A transform that sees one row at a time. Export it as `transform`.
 *
 * Rows show the columns that the plan reads: an input column under its name, a look-up as `dictionary.column`, the
 * operation as `operation`. When a row is rejected, whatever was written for it is taken back. Any other exception ends
 * the call, as in `columns`.
 */
export function rows(define: (setup: Setup, plan: Plan) => ProcessRow): Contract {
  return columns((setup, plan) => {
    const process = define(setup, plan);
    return (batch, outputs) => {
      const row = new Row(plan.reads, batch);
      const out = new RowOutputs(plan.outputs, batch.rows);
      for (let index = 0; index < batch.rows; index++) {
        row.index = index;
        out.begin(index);
        try {
          process(row, out);
        } catch (thrown) {
          if (!(thrown instanceof Reject)) throw thrown;
          out.takeBack();
          outputs.reject(index, thrown.code, thrown.message, thrown.field);
        }
      }
      out.finish(outputs);
    };
  });
}

/**
 * One input row. The getters throw a reject that names the column: `wrong-type` where it holds another sort of value
 * or is not read by the plan, `missing-value` where it is null and the getter is not an `…OrNull` one.
 */
export class Row {
  /** The row's place in the batch. */
  index = 0;
  readonly #cells: Record<string, CellReader>;

  constructor(reads: readonly Read[], batch: Batch) {
    const arrays: readonly ArrayData[] = batch.arrays();
    this.#cells = Object.create(null) as Record<string, CellReader>;
    reads.forEach((read, place) => (this.#cells[read.name] = cellReader(arrays[place]!)));
  }

  /**
   * The value, whatever it is: a string, number, boolean, bytes, an array for a list, an object for a struct, a `Map`.
   * Integers of 64 bits are numbers where those are exact, else bigints; decimals are texts such as `12.50`.
   */
  get(column: string): Cell {
    return this.#cell(column).get(this.index);
  }

  isNull(column: string): boolean {
    return this.#cell(column).get(this.index) === null;
  }

  /** A text. */
  text(column: string): string {
    return present(column, this.textOrNull(column));
  }
  textOrNull(column: string): string | null {
    const value = this.get(column);
    if (value === null || typeof value === "string") return value;
    throw wrongType(column, "a text");
  }

  boolean(column: string): boolean {
    return present(column, this.booleanOrNull(column));
  }
  booleanOrNull(column: string): boolean | null {
    const value = this.get(column);
    if (value === null || typeof value === "boolean") return value;
    throw wrongType(column, "a boolean");
  }

  /** A float, or any integer, date, time, timestamp or duration that a number holds exactly. */
  number(column: string): number {
    return present(column, this.numberOrNull(column));
  }
  numberOrNull(column: string): number | null {
    const value = this.get(column);
    if (value === null || typeof value === "number") return value;
    throw wrongType(column, "a number that is exact");
  }

  /** Any integer, date, time, timestamp or duration, or the unscaled value of a decimal. */
  bigint(column: string): bigint {
    return present(column, this.bigintOrNull(column));
  }
  bigintOrNull(column: string): bigint | null {
    const value = this.#cell(column).integer(this.index);
    if (value === undefined) throw wrongType(column, "a whole number");
    return value;
  }

  /** The bytes of a byte string. */
  bytes(column: string): Uint8Array {
    return present(column, this.bytesOrNull(column));
  }
  bytesOrNull(column: string): Uint8Array | null {
    const value = this.get(column);
    if (value === null || value instanceof Uint8Array) return value;
    throw wrongType(column, "a byte string");
  }

  #cell(column: string): CellReader {
    const cell = this.#cells[column];
    if (cell === undefined) throw new Reject("wrong-type", "the transform's plan does not read this column", column);
    return cell;
  }
}

function present<T>(column: string, value: T | null): T {
  if (value === null) throw new Reject("missing-value", "the value is null", column);
  return value;
}

function wrongType(column: string, sort: string): Reject {
  return new Reject("wrong-type", `the column does not hold ${sort}`, column);
}

interface RowOutput {
  readonly output: Output;
  readonly names: readonly string[];
  readonly nullable: readonly boolean[];
  readonly writers: readonly CellWriter[];
  readonly builders: readonly Builder[];
  readonly selection: Selection;
  /** One for each row, or none at all: then rows keep those of their input rows. */
  readonly operations: Operation[];
  /** Rows before the input row in hand. */
  before: number;
}

/** Takes the output rows of a row transform. */
export class RowOutputs {
  #inputRow = 0;
  readonly #outputs: readonly RowOutput[];

  constructor(planned: readonly OutputPlan[], capacity: number) {
    this.#outputs = planned.map((output, place) => {
      const fields = computedFields(output);
      const builders = fields.map((field) => kindOf(field.type).builder(capacity));
      return {
        output: { name: output.name, place },
        names: fields.map((field) => field.name),
        nullable: fields.map((field) => field.nullable),
        writers: fields.map((field, column) => cellWriter(field.type, builders[column]!)),
        builders,
        selection: new Selection(capacity),
        operations: [],
        before: 0,
      };
    });
  }

  /**
   * Adds a row to an output: its computed columns by name; those left out are null. Throws a reject that names the
   * column: `wrong-type`, `out-of-range`, or `missing-value` for a null in a required one.
   *
   * `operation` is what the row does to the target; the operation of its input row where it is not given. The rows of
   * an output give it all or none: a row that differs is rejected with `mixed-operations`.
   */
  add(output: Output, cells: Readonly<Record<string, Cell | undefined>> = {}, operation?: Operation): void {
    const to = this.#outputs[output.place]!;
    const { names, operations, selection } = to;
    if (selection.length > 0 && (operation !== undefined) !== operations.length > 0) {
      throw new Reject("mixed-operations", "some rows of this output set their operation and some do not");
    }
    let found = 0;
    for (let place = 0; place < names.length; place++) {
      const name = names[place]!;
      const value = cells[name];
      if (value !== undefined) found++;
      if (value !== undefined && value !== null) to.writers[place]!(value, name);
      else if (to.nullable[place]) to.builders[place]!.push(null);
      else throw new Reject("missing-value", "the value is null", name);
    }
    if (found < Object.keys(cells).length) refuseUnknown(names, cells);
    if (operation !== undefined) operations.push(operation);
    selection.push(this.#inputRow);
  }

  begin(inputRow: number): void {
    this.#inputRow = inputRow;
    for (const output of this.#outputs) output.before = output.selection.length;
  }

  takeBack(): void {
    for (const { before, builders, selection, operations } of this.#outputs) {
      for (const builder of builders) builder.truncate(before);
      selection.truncate(before);
      if (operations.length > before) operations.length = before;
    }
  }

  finish(outputs: Outputs): void {
    for (const { output, builders, selection, operations } of this.#outputs) {
      builders.forEach((builder, place) => outputs.setPlace(output, place, builder.finish()));
      outputs.select(output, selection);
      if (operations.length > 0) outputs.operations(output, operations);
    }
  }
}

function refuseUnknown(names: readonly string[], cells: Readonly<Record<string, unknown>>): void {
  const unknown = Object.keys(cells).find((name) => cells[name] !== undefined && !names.includes(name));
  if (unknown === undefined) return;
  throw new Reject("wrong-type", "the transform's plan does not compute this column", unknown);
}
