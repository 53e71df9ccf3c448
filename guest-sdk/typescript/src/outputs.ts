// What a transform gives back.

import { ArrayData } from "./array.ts";
import { Builder } from "./build/builder.ts";
import type { RawOutput, RawProcessed, RawReject } from "./contract.ts";
import { computedFields, type Out, type Output, type OutputPlan } from "./plan.ts";
import { Selection } from "./selection.ts";
import { take } from "./take.ts";
import { Validity } from "./validity.ts";

/** The operation of a change record. */
export const Operation = { insert: 0, update: 1, delete: 2 } as const;
export type Operation = (typeof Operation)[keyof typeof Operation];

interface Pending {
  readonly columns: (ArrayData | undefined)[];
  selection: Selection | "accepted" | undefined;
  operations: number[] | undefined;
}

/**
 * Takes the columns, selections and rejects of one call.
 *
 * Every computed column of the plan must be set. An output without a selection has one row for each input row.
 */
export class Outputs {
  readonly #rows: number;
  readonly #planned: readonly OutputPlan[];
  readonly #pending: readonly Pending[];
  readonly #rejects: RawReject[] = [];
  readonly #messages: string[] = [];

  constructor(planned: readonly OutputPlan[], rows: number) {
    this.#rows = rows;
    this.#planned = planned;
    this.#pending = planned.map((output) => ({
      columns: computedFields(output).map(() => undefined),
      selection: undefined,
      operations: undefined,
    }));
  }

  /**
   * Sets a computed column: from its builder, from another column of its type, or from all its values at once, such as
   * an `Int32Array` for int32 or an array of strings and nulls for utf8. `validity` says which values of a typed array are
   * null, as flags (0 is null) or as another column has them.
   */
  set<B extends Builder, V>(column: Out<B, V>, values: B | ArrayData | V, validity?: Uint8Array | Validity): void {
    const nulls = validity instanceof Uint8Array ? Validity.fromFlags(validity) : validity;
    const data =
      values instanceof ArrayData
        ? values
        : values instanceof Builder
          ? values.finish()
          : column.kind.whole(values as V, nulls);
    this.setPlace(column.output, column.place, data);
  }

  setPlace(output: Output, place: number, data: ArrayData): void {
    this.#pending[output.place]!.columns[place] = data;
  }

  /** Sets which input row each output row comes from. Columns then have a value for each output row. */
  select(output: Output, selection: Selection): void {
    this.#pending[output.place]!.selection = selection;
  }

  /**
   * The output is all rows that are not rejected by the end of the call. Its columns have a value for each *input* row;
   * those of rejected rows are left out. Operations, where they are set, too.
   */
  selectAccepted(output: Output): void {
    this.#pending[output.place]!.selection = "accepted";
  }

  /** Sets the operation of each output row, as `Operation`; those of the input rows where it is not called. */
  operations(output: Output, operations: ArrayLike<number>): void {
    this.#pending[output.place]!.operations = Array.from(operations);
  }

  /**
   * Does not accept an input row. Stages normalize and migrate must leave it out of the selection too. Neither code nor
   * message says what the row holds.
   */
  reject(row: number, code: string, message: string, field: string | null = null): void {
    this.#rejects.push({ row, code, field, message });
  }

  /** Rejects so far. */
  get rejected(): number {
    return this.#rejects.length;
  }

  /** Says something to the operator. The runner keeps the first few messages and cuts long ones. */
  message(message: string): void {
    this.#messages.push(message);
  }

  /** Checks what the types cannot: a mistake here is the transform's own. */
  finish(): RawProcessed {
    return {
      outputs: this.#planned.map((planned, place) => this.#finishOutput(planned, this.#pending[place]!)),
      rejects: this.#rejects,
      messages: this.#messages,
    };
  }

  #finishOutput(planned: OutputPlan, pending: Pending): RawOutput {
    let { selection, operations } = pending;
    const accepted = selection === "accepted";
    if (selection === "accepted") {
      const left = Uint32Array.from(this.#rejects, (reject) => reject.row).sort();
      selection = left.length === 0 ? undefined : Selection.allBut(this.#rows, left);
    } else if (selection?.isAll(this.#rows)) {
      selection = undefined;
    }
    // With accepted rows, columns are given for the input's rows and cut here.
    const cut = accepted && selection !== undefined ? selection.runs() : undefined;
    const rows = selection?.length ?? this.#rows;
    const given = accepted ? this.#rows : rows;
    const columns: RawOutput["columns"] = { nodes: [], buffers: [] };
    computedFields(planned).forEach((field, place) => {
      const at = `column \`${field.name}\` of output \`${planned.name}\``;
      const whole = pending.columns[place];
      if (whole === undefined) throw new Error(`${at} was not set`);
      if (whole.length !== given) throw new Error(`${at} has ${whole.length} values, not ${given}`);
      const column = cut === undefined ? whole : take(whole, cut);
      if (!field.nullable && column.nullCount > 0 && field.type.name !== "null") {
        throw new Error(`${at} is required but holds nulls`);
      }
      column.appendTo(columns);
    });
    if (operations !== undefined) {
      if (operations.length !== given) {
        throw new Error(`output \`${planned.name}\` has ${operations.length} operations, not ${given}`);
      }
      if (cut !== undefined) operations = Array.from(selection!.rows, (row) => operations![row]!);
    }
    return { rows, selection: selection?.rows ?? null, operations: operations ?? null, columns };
  }
}
