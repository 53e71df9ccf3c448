// The plan of a transform: what it reads, what it looks up and what it gives.

import type { Builder } from "./build/builder.ts";
import type { Column } from "./column/column.ts";
import type { RawColumnSource, RawOutputColumn, RawPlan } from "./contract.ts";
import { Failure } from "./failure.ts";
import { uint8, type Kind, type Reader } from "./kind.ts";
import type { NumberColumn } from "./column/primitive.ts";
import type { Setup } from "./setup.ts";
import { toTree, typeText, type Field } from "./types.ts";

/** A column to read in the batch. */
export interface In<C extends Column> {
  readonly place: number;
  readonly reader: Reader<C>;
}

/** A column to compute. */
export interface Out<B extends Builder = Builder, V = unknown> {
  readonly output: Output;
  /** Among the output's computed columns. */
  readonly place: number;
  readonly field: Field;
  readonly kind: Kind<Column, B, V>;
  /** A builder of the column's type, with room for this many values. */
  builder(capacity?: number): B;
}

/** An output of the plan. */
export interface Output {
  readonly place: number;
  readonly name: string;
}

/** A look-up of the plan: a dictionary's column, joined by the runner. */
export interface Lookup {
  readonly place: number;
  readonly dictionary: string;
  readonly key: string;
  /** The dictionary's column, nullable: not every key is found. */
  readonly value: Field;
}

/** A column that the batch has. `name`: the input's column, or `dictionary.column`. */
export interface Read {
  readonly name: string;
  readonly source: RawColumnSource;
  readonly field: Field;
}

export interface OutputPlan {
  readonly name: string;
  readonly columns: OutputColumn[];
}

/** `source`: where a forwarded column comes from; none if it is computed. */
export interface OutputColumn {
  readonly field: Field;
  readonly source?: RawColumnSource;
}

/**
 * Takes the plan. Everything that it hands out is a handle for the batch and the outputs.
 *
 * Reading a column or a look-up twice costs nothing: it crosses the boundary once.
 */
export class Plan {
  readonly reads: readonly Read[] = [];
  readonly lookups: readonly Lookup[] = [];
  readonly outputs: readonly OutputPlan[] = [];
  readonly #setup: Setup;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  /** Reads an input column. Fails with `missing-column` or `wrong-type`. */
  read<C extends Column>(column: string, reader: Reader<C>): In<C> {
    return this.#read(column, { tag: "input", val: column }, this.#input(column), reader);
  }

  /** Reads the operation of each row: 0 insert, 1 update, 2 delete. */
  readOperation(): In<NumberColumn<Uint8Array>> {
    return this.#read("operation", { tag: "operation" }, operationField("operation"), uint8);
  }

  /** Reads a look-up. Fails with `wrong-type`. */
  readLookup<C extends Column>(lookup: Lookup, reader: Reader<C>): In<C> {
    const name = `${lookup.dictionary}.${lookup.value.name}`;
    return this.#read(name, { tag: "lookup", val: lookup.place }, lookup.value, reader);
  }

  #read<C extends Column>(name: string, source: RawColumnSource, field: Field, reader: Reader<C>): In<C> {
    if (!reader.accepts(field.type)) {
      throw new Failure("wrong-type", `column \`${name}\` is ${typeText(field.type)}, not ${reader.label}`);
    }
    const reads = this.reads as Read[];
    const known = reads.findIndex((read) => sameSource(read.source, source));
    return { place: known >= 0 ? known : reads.push({ name, source, field }) - 1, reader };
  }

  /**
   * Looks up a dictionary's column `value` by the input column `key`: null where the dictionary has no such key.
   * Fails with `missing-dictionary` or `missing-column`. The value crosses the boundary only if it is read.
   */
  lookup(dictionary: string, key: string, value: string): Lookup {
    this.#input(key);
    const field = this.#setup.dictionary(dictionary).fields.find((field) => field.name === value);
    if (field === undefined) {
      throw new Failure("missing-column", `dictionary \`${dictionary}\` has no column \`${value}\``);
    }
    const lookups = this.lookups as Lookup[];
    const known = lookups.find((l) => l.dictionary === dictionary && l.key === key && l.value.name === value);
    if (known !== undefined) return known;
    const lookup: Lookup = { place: lookups.length, dictionary, key, value: { ...field, nullable: true } };
    lookups.push(lookup);
    return lookup;
  }

  /** Adds an output. Stages normalize and migrate have one, `records`; stage map has one for each target table. */
  output(name: string): Output {
    return { name, place: (this.outputs as OutputPlan[]).push({ name, columns: [] }) - 1 };
  }

  /** The next column of the output is an input column, perhaps under another name; it does not cross the boundary. */
  forward(output: Output, column: string, name = column): void {
    this.#add(output, { field: { ...this.#input(column), name }, source: { tag: "input", val: column } });
  }

  /** The next column of the output is a look-up; it does not cross the boundary. */
  forwardLookup(output: Output, name: string, lookup: Lookup): void {
    this.#add(output, { field: { ...lookup.value, name }, source: { tag: "lookup", val: lookup.place } });
  }

  /** The next column of the output is the operation of each row, as uint8. */
  forwardOperation(output: Output, name: string): void {
    this.#add(output, { field: operationField(name), source: { tag: "operation" } });
  }

  /** The next column of the output is computed, and may hold nulls unless its kind is `required`. */
  compute<B extends Builder, V>(output: Output, name: string, kind: Kind<Column, B, V>): Out<B, V> {
    return this.#compute(output, { name, type: kind.type, nullable: kind.nullable }, kind);
  }

  /** The next column of the output is computed and never holds nulls. */
  computeRequired<B extends Builder, V>(output: Output, name: string, kind: Kind<Column, B, V>): Out<B, V> {
    return this.#compute(output, { name, type: kind.type, nullable: false }, kind);
  }

  #compute<B extends Builder, V>(output: Output, field: Field, kind: Kind<Column, B, V>): Out<B, V> {
    const place = this.outputs[output.place]!.columns.filter((column) => column.source === undefined).length;
    this.#add(output, { field });
    return { output, place, field, kind, builder: (capacity) => kind.builder(capacity) };
  }

  #add(output: Output, column: OutputColumn): void {
    const { columns } = this.outputs[output.place]!;
    if (columns.some((other) => other.field.name === column.field.name)) {
      throw new Failure("duplicate-column", `output \`${output.name}\` has two columns named \`${column.field.name}\``);
    }
    columns.push(column);
  }

  #input(column: string): Field {
    const field = this.#setup.inputField(column);
    if (field !== undefined) return field;
    const names = this.#setup.input.map((field) => field.name).join(", ");
    throw new Failure("missing-column", `the input has no column \`${column}\`; it has ${names}`);
  }

  toRaw(): RawPlan {
    const column = ({ source, field }: OutputColumn): RawOutputColumn =>
      source === undefined
        ? { tag: "computed", val: toTree(field) }
        : { tag: "forwarded", val: { name: field.name, source } };
    return {
      reads: this.reads.map((read) => read.source),
      lookups: this.lookups.map(({ dictionary, key, value }) => ({ dictionary, key, value: value.name })),
      outputs: this.outputs.map(({ name, columns }) => ({ name, columns: columns.map(column) })),
    };
  }
}

/** The computed columns of an output, in their order. */
export function computedFields(output: OutputPlan): Field[] {
  return output.columns.filter((column) => column.source === undefined).map((column) => column.field);
}

function sameSource(a: RawColumnSource, b: RawColumnSource): boolean {
  return a.tag === b.tag && (a as { val?: unknown }).val === (b as { val?: unknown }).val;
}

function operationField(name: string): Field {
  return { name, type: { name: "uint8" }, nullable: false };
}
