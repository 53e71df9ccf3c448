// The rows of one call.

import { ArrayReader, type ArrayData } from "./array.ts";
import type { Column } from "./column/column.ts";
import type { RawBatch } from "./contract.ts";
import { Failure } from "./failure.ts";
import type { In, Read } from "./plan.ts";

/** The columns that the plan reads, as received. */
export class Batch {
  readonly rows: number;
  readonly #arrays: readonly ArrayData[];

  constructor(raw: RawBatch, reads: readonly Read[]) {
    this.rows = raw.rows;
    const reader = new ArrayReader(raw.columns);
    this.#arrays = reads.map(({ name, field }) => {
      const array = reader.next(field.type);
      if (array?.length !== raw.rows) {
        throw new Failure("bad-batch", `column \`${name}\` is not what its type and ${raw.rows} rows call for`);
      }
      return array;
    });
    if (!reader.isAtEnd()) throw new Failure("bad-batch", "the batch has more columns than the plan reads");
  }

  /** A view of a column. */
  column<C extends Column>(column: In<C>): C {
    return column.reader.view(this.data(column));
  }

  /** A column as it is: to be set as a computed column, without a look at its values. */
  data(column: In<Column>): ArrayData {
    return this.#arrays[column.place]!;
  }

  /** The columns in the order in which the plan reads them. */
  arrays(): readonly ArrayData[] {
    return this.#arrays;
  }
}
