// Write Gristmill transforms in TypeScript or JavaScript. README.md has complete examples.

export { ArrayData } from "./array.ts";
export { Batch } from "./batch.ts";
export { Builder } from "./build/builder.ts";
export * from "./build/bytes.ts";
export * from "./build/nested.ts";
export * from "./build/primitive.ts";
export type { Cell } from "./cell.ts";
export * from "./column/bytes.ts";
export { AnyColumn, Column, NullColumn } from "./column/column.ts";
export * from "./column/nested.ts";
export * from "./column/primitive.ts";
export { columns, type Process } from "./component.ts";
export type * from "./contract.ts";
export { formatDecimal, parseDecimal } from "./decimal.ts";
export { Failure, Reject } from "./failure.ts";
export { fromHalf, toHalf } from "./float16.ts";
export * from "./kind.ts";
export { Operation, Outputs } from "./outputs.ts";
export { Plan, type In, type Lookup, type Out, type Output } from "./plan.ts";
export { Ranges } from "./ranges.ts";
export { rows, Row, RowOutputs, type ProcessRow } from "./rows.ts";
export { Selection } from "./selection.ts";
export { Setup, type ConfigOf, type ConfigShape, type Dictionary } from "./setup.ts";
export { typeText, type DataType, type Field } from "./types.ts";
export { decodeUtf8, encodeUtf8, lowerAscii, upperAscii } from "./utf8.ts";
export { Validity } from "./validity.ts";
