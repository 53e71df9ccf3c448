// The contract of `wit/transform.wit` as JavaScript values: records are objects, variants have a `tag` and perhaps a
// `val`, none is null, `list<u8>` is a Uint8Array. Use it only where the typed SDK stands in the way.

export type Stage = "normalize" | "migrate" | "map";
export type TimeUnit = "second" | "millisecond" | "microsecond" | "nanosecond";

/** Types that have neither parameters nor children. */
export type PlainTag =
  | "null" | "boolean"
  | "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64"
  | "float16" | "float32" | "float64"
  | "utf8" | "large-utf8" | "binary" | "large-binary"
  | "date32" | "date64";

export type RawDataType =
  | { tag: PlainTag | "list" | "large-list" | "struct" }
  | { tag: "decimal128" | "decimal256"; val: { precision: number; scale: number } }
  | { tag: "fixed-size-binary" | "fixed-size-list"; val: number }
  | { tag: "time32" | "time64" | "duration"; val: TimeUnit }
  | { tag: "timestamp"; val: { unit: TimeUnit; zone: string | null } }
  | { tag: "map"; val: boolean };

/** One node of a schema tree: a field is followed by its `children` subtrees. */
export interface RawField {
  name: string;
  dataType: RawDataType;
  nullable: boolean;
  children: number;
}

export interface RawNode {
  length: number;
  nullCount: number;
}

export interface RawColumns {
  nodes: RawNode[];
  buffers: Uint8Array[];
}

export interface RawDictionary {
  name: string;
  key: string;
  fields: RawField[];
}

export interface RawSetup {
  stage: Stage;
  config: string;
  input: RawField[];
  dictionaries: RawDictionary[];
}

export interface RawLookup {
  dictionary: string;
  key: string;
  value: string;
}

export type RawColumnSource = { tag: "input"; val: string } | { tag: "lookup"; val: number } | { tag: "operation" };

export type RawOutputColumn =
  | { tag: "forwarded"; val: { name: string; source: RawColumnSource } }
  | { tag: "computed"; val: RawField[] };

export interface RawOutputPlan {
  name: string;
  columns: RawOutputColumn[];
}

export interface RawPlan {
  reads: RawColumnSource[];
  lookups: RawLookup[];
  outputs: RawOutputPlan[];
}

export interface RawBatch {
  rows: number;
  columns: RawColumns;
}

export interface RawOutput {
  rows: number;
  selection: Uint32Array | null;
  /** An array: the engine takes typed ones for lists of a number type alone, and not for its alias `operation`. */
  operations: number[] | null;
  columns: RawColumns;
}

export interface RawReject {
  row: number;
  code: string;
  field: string | null;
  message: string;
}

export interface RawProcessed {
  outputs: RawOutput[];
  rejects: RawReject[];
  messages: string[];
}

/** What `plan` and `process` throw; anything else that they throw is a trap. */
export interface RawFailure {
  code: string;
  message: string;
}

/** What a module exports as `transform`. */
export interface Contract {
  plan(setup: RawSetup): RawPlan;
  process(setup: RawSetup, batch: RawBatch): RawProcessed;
}
