// Which input row each output row comes from.

/** Input rows in the order of the output. Rows may be left out, repeated and reordered. */
export class Selection {
  #rows: Uint32Array;
  #length = 0;
  /** Known where the selection was made from runs. */
  #runs: Runs | undefined;

  constructor(capacity = 1024) {
    this.#rows = new Uint32Array(capacity);
  }

  static from(rows: ArrayLike<number>): Selection {
    const selection = new Selection(0);
    selection.#rows = Uint32Array.from(rows);
    selection.#length = rows.length;
    return selection;
  }

  /** All of so many rows but some, which are given in rising order; any of them may be given twice. */
  static allBut(rows: number, left: ArrayLike<number>): Selection {
    const selection = new Selection(rows);
    const selected = selection.#rows;
    const starts: number[] = [];
    const ends: number[] = [];
    let length = 0;
    let row = 0;
    for (let n = 0; n <= left.length; n++) {
      const end = n < left.length ? left[n]! : rows;
      if (row < end) {
        starts.push(row);
        ends.push(end);
        do selected[length++] = row++;
        while (row < end);
      }
      row = Math.max(row, end + 1);
    }
    selection.#length = length;
    selection.#runs = { starts, ends, length };
    return selection;
  }

  /** The next output row comes from this input row. */
  push(row: number): void {
    if (this.#length === this.#rows.length) {
      const larger = new Uint32Array(Math.max(64, this.#length * 2));
      larger.set(this.#rows);
      this.#rows = larger;
    }
    this.#rows[this.#length++] = row;
    this.#runs = undefined;
  }

  get length(): number {
    return this.#length;
  }

  /** The input rows. A view: good until the next `push`. */
  get rows(): Uint32Array {
    return this.#rows.subarray(0, this.#length);
  }

  /** Forgets output rows from a place on. */
  truncate(length: number): void {
    this.#length = Math.min(this.#length, length);
    this.#runs = undefined;
  }

  /** Whether it is all of so many rows, each in its place: then nothing needs to be said. */
  isAll(rows: number): boolean {
    if (this.#length !== rows) return false;
    for (let i = 0; i < rows; i++) if (this.#rows[i] !== i) return false;
    return true;
  }

  /** Runs of neighbouring rows as first row and end, in the order of the output. */
  runs(): Runs {
    if (this.#runs !== undefined) return this.#runs;
    const starts: number[] = [];
    const ends: number[] = [];
    const rows = this.#rows;
    const length = this.#length;
    for (let i = 0; i < length; ) {
      const start = rows[i]!;
      let end = start + 1;
      for (i++; i < length && rows[i] === end; i++) end++;
      starts.push(start);
      ends.push(end);
    }
    return (this.#runs = { starts, ends, length });
  }
}

/** Places of a column, as runs: what is next to each other is copied together. */
export interface Runs {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Places of all runs together. */
  readonly length: number;
}
