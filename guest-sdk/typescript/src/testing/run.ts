// The runner's part, in memory.

import { ArrayData, ArrayReader } from "../array.ts";
import type { Cell } from "../cell.ts";
import type {
  Contract, RawColumns, RawColumnSource, RawFailure, RawOutput, RawPlan, RawProcessed, RawReject, RawSetup, Stage,
} from "../contract.ts";
import { Failure } from "../failure.ts";
import { childFields, fromTrees, type Field } from "../types.ts";
import { Validity } from "../validity.ts";
import { problemOf } from "./check.ts";
import { column, Table, taken } from "./table.ts";

/** What a transform is run with. */
export interface Given {
  readonly stage: Stage;
  readonly input: Table;
  /** The stage's configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** By name; `key` is the column that look-ups match. */
  readonly dictionaries?: Readonly<Record<string, { readonly key: string; readonly table: Table }>>;
  /** The operation of each input row: 0 insert, 1 update, 2 delete. Inserts where it is left out. */
  readonly operations?: readonly number[];
}

/** The transform's answer breaks the contract: the runner would refuse it. */
export class ContractError extends Error {
  override readonly name = "ContractError";
}

/** Plans and processes one batch. Throws the transform's own `Failure`, or a `ContractError`. */
export function run(transform: Contract, given: Given): Run {
  const setup = setupOf(given);
  const plan = failing(() => transform.plan(setup));
  const again = failing(() => transform.plan(setup));
  broken(JSON.stringify(plan) !== JSON.stringify(again), "two plans of the same setup differ");
  const host = new Host(given, plan);
  const processed = failing(() => transform.process(setup, host.batch()));
  return host.apply(processed);
}

function failing<R>(call: () => R): R {
  try {
    return call();
  } catch (thrown) {
    const { code, message } = thrown as RawFailure;
    if (typeof code === "string" && typeof message === "string") throw new Failure(code, message);
    throw thrown;
  }
}

function broken(is: boolean, problem: string): void {
  if (is) throw new ContractError(`the contract is broken: ${problem}`);
}

function setupOf({ stage, config = {}, input, dictionaries = {} }: Given): RawSetup {
  return {
    stage,
    config: JSON.stringify(config),
    input: input.toRawFields(),
    dictionaries: Object.entries(dictionaries).map(([name, { key, table }]) => ({
      name,
      key,
      fields: table.toRawFields(),
    })),
  };
}

interface Sourced {
  readonly field: Field;
  readonly array: ArrayData;
}

class Host {
  readonly #given: Given;
  readonly #plan: RawPlan;
  readonly #rows: number;
  readonly #operations: Uint8Array;

  constructor(given: Given, plan: RawPlan) {
    this.#given = given;
    this.#plan = plan;
    this.#rows = given.input.rows;
    this.#operations = Uint8Array.from(given.operations ?? new Uint8Array(this.#rows));
    if (this.#operations.length !== this.#rows) throw new TypeError("operations and input rows differ");
  }

  /** The batch that the plan asks for. */
  batch(): { rows: number; columns: RawColumns } {
    const columns: RawColumns = { nodes: [], buffers: [] };
    for (const source of this.#plan.reads) this.#source(source).array.appendTo(columns);
    // Buffers of their own, as a component gets them.
    columns.buffers = columns.buffers.map((buffer) => buffer.slice());
    return { rows: this.#rows, columns };
  }

  #source(source: RawColumnSource): Sourced {
    const { input } = this.#given;
    if (source.tag === "input") {
      const field = input.fields.find((field) => field.name === source.val);
      broken(field === undefined, `the plan reads \`${source.val}\`, which the input does not have`);
      return { field: field!, array: input.array(source.val) };
    }
    if (source.tag === "operation") {
      const field: Field = { name: "operation", type: { name: "uint8" }, nullable: false };
      return { field, array: new ArrayData(field.type, Validity.all(this.#rows), [this.#operations]) };
    }
    const lookup = this.#plan.lookups[source.val];
    const dictionary = this.#given.dictionaries?.[lookup?.dictionary ?? ""];
    broken(dictionary === undefined, `the plan has no look-up ${source.val} in a dictionary that there is`);
    const { key, table } = dictionary!;
    const values = table.values(lookup!.value);
    const places = new Map(table.values(key).map((key, place) => [String(key), place]));
    const joined = input.values(lookup!.key).map((key): Cell => {
      const place = key === null ? undefined : places.get(String(key));
      return place === undefined ? null : values[place]!;
    });
    const field = table.fields.find((field) => field.name === lookup!.value)!;
    return { field: { ...field, nullable: true }, array: column(field.name, field.type, joined) };
  }

  apply(processed: RawProcessed): Run {
    const { outputs } = this.#plan;
    broken(processed.outputs.length !== outputs.length, `${processed.outputs.length} outputs, not ${outputs.length}`);
    const outside = processed.rejects.find((reject) => reject.row >= this.#rows);
    broken(outside !== undefined, `a reject of row ${outside?.row} of ${this.#rows}`);
    const rejected = new Set(processed.rejects.map((reject) => reject.row));
    return new Run(
      processed.outputs.map((output, place) => this.#output(outputs[place]!, output, rejected)),
      processed.rejects,
      processed.messages,
    );
  }

  #output(planned: RawPlan["outputs"][number], output: RawOutput, rejected: ReadonlySet<number>): RunOutput {
    const { name } = planned;
    const selection = output.selection ?? Uint32Array.from({ length: this.#rows }, (_, i) => i);
    const wrongRows = selection.length !== output.rows || selection.some((row) => row >= this.#rows);
    broken(wrongRows, `output ${name}: its selection does not name ${output.rows} input rows`);
    const selectsRejected = this.#given.stage !== "map" && selection.some((row) => rejected.has(row));
    broken(selectsRejected, `output ${name}: it selects a rejected row`);

    const fields: Field[] = [];
    const arrays: ArrayData[] = [];
    const reader = new ArrayReader(output.columns);
    for (const column of planned.columns) {
      if (column.tag === "forwarded") {
        const { field, array } = this.#source(column.val.source);
        fields.push({ ...field, name: column.val.name });
        arrays.push(taken(array, selection));
        continue;
      }
      const [field] = fromTrees(column.val) ?? [];
      broken(field === undefined, `output ${name}: a computed column's tree is not whole`);
      const array = reader.next(field!.type);
      broken(array === undefined, `output ${name}: column \`${field!.name}\` is not what its type calls for`);
      broken(array!.length !== output.rows, `output ${name}: column \`${field!.name}\` has ${array!.length} rows`);
      const problem = problems(field!, array!);
      broken(problem !== undefined, `output ${name}: ${problem}`);
      fields.push(field!);
      arrays.push(array!);
    }
    broken(!reader.isAtEnd(), `output ${name}: it has more columns than the plan`);
    const operations = output.operations ?? Array.from(selection, (row) => this.#operations[row]!);
    const wrongOperations = operations.length !== output.rows || operations.some((operation) => operation > 2);
    broken(wrongOperations, `output ${name}: its operations are wrong`);
    return { name, table: new Table(fields, arrays, output.rows), selection: [...selection], operations };
  }
}

/** Problems of a column and of all columns within it. */
function problems(field: Field, array: ArrayData): string | undefined {
  const children = childFields(field.type).map((child, place) => () => problems(child, array.children[place]!));
  return [() => problemOf(field, array), ...children].reduce<string | undefined>((found, next) => found ?? next(), undefined);
}

interface RunOutput {
  readonly name: string;
  readonly table: Table;
  readonly selection: number[];
  readonly operations: number[];
}

/** What a run gave. */
export class Run {
  readonly #outputs: readonly RunOutput[];
  /** In the order given. */
  readonly rejects: readonly RawReject[];
  readonly messages: readonly string[];

  constructor(outputs: readonly RunOutput[], rejects: readonly RawReject[], messages: readonly string[]) {
    this.#outputs = outputs;
    this.rejects = rejects;
    this.messages = messages;
  }

  /** All columns of an output, forwarded ones included. */
  output(name = "records"): Table {
    return this.#find(name).table;
  }

  /** For each row of an output, the input row that it comes from. */
  selection(name = "records"): readonly number[] {
    return this.#find(name).selection;
  }

  /** For each row of an output: 0 insert, 1 update, 2 delete. */
  operations(name = "records"): readonly number[] {
    return this.#find(name).operations;
  }

  /** Row, code and column of each reject, for comparison. */
  rejectCodes(): [number, string, string | null][] {
    return this.rejects.map(({ row, code, field }) => [row, code, field]);
  }

  #find(name: string): RunOutput {
    const output = this.#outputs.find((output) => output.name === name);
    if (output === undefined) throw new TypeError(`there is no output ${name}`);
    return output;
  }
}

