// What the input has.

import { Failure, typeText, type DataType, type Setup } from "gristmill";

/** Whether the input has the column; a failure if it has it in a type that does not pass. */
export function has(setup: Setup, name: string, reader: { accepts(type: DataType): boolean }): boolean {
  const field = setup.inputField(name);
  if (field === undefined) return false;
  if (reader.accepts(field.type)) return true;
  throw new Failure("wrong-type", `column \`${name}\` has the unexpected type ${typeText(field.type)}`);
}

/** A failure unless the input has the column, in a type that passes. */
export function need(setup: Setup, name: string, reader: { accepts(type: DataType): boolean }): void {
  if (!has(setup, name, reader)) throw new Failure("missing-column", `the input has no column \`${name}\``);
}
