// Which input row each output row comes from.

/** Input rows in the order of the output. Rows may be left out, repeated and reordered. */
export class Selection {
  private picked: Uint32Array;
  private count = 0;
  /** Known where the selection was made from runs. */
  private knownRuns: Runs | undefined;

  constructor(capacity = 1024) {
    this.picked = new Uint32Array(capacity);
  }

  static from(rows: ArrayLike<number>): Selection {
    const selection = new Selection(0);
    selection.picked = Uint32Array.from(rows);
    selection.count = rows.length;
    return selection;
  }

  /** All of so many rows but some, which are given in rising order; any of them may be given twice. */
  static allBut(rows: number, left: ArrayLike<number>): Selection {
    const selection = new Selection(rows);
    const selected = selection.picked;
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
    selection.count = length;
    selection.knownRuns = { starts, ends, length };
    return selection;
  }

  /** The next output row comes from this input row. */
  push(row: number): void {
    if (this.count === this.picked.length) {
      const larger = new Uint32Array(Math.max(64, this.count * 2));
      larger.set(this.picked);
      this.picked = larger;
    }
    this.picked[this.count++] = row;
    this.knownRuns = undefined;
  }

  get length(): number {
    return this.count;
  }

  /** The input rows. A view: good until the next `push`. */
  get rows(): Uint32Array {
    return this.picked.subarray(0, this.count);
  }

  /** Forgets output rows from a place on. */
  truncate(length: number): void {
    this.count = Math.min(this.count, length);
    this.knownRuns = undefined;
  }

  /** Whether it is all of so many rows, each in its place: then nothing needs to be said. */
  isAll(rows: number): boolean {
    if (this.count !== rows) return false;
    for (let i = 0; i < rows; i++) if (this.picked[i] !== i) return false;
    return true;
  }

  /** Runs of neighbouring rows as first row and end, in the order of the output. */
  runs(): Runs {
    if (this.knownRuns !== undefined) return this.knownRuns;
    const starts: number[] = [];
    const ends: number[] = [];
    const rows = this.picked;
    const length = this.count;
    for (let i = 0; i < length; ) {
      const start = rows[i]!;
      let end = start + 1;
      for (i++; i < length && rows[i] === end; i++) end++;
      starts.push(start);
      ends.push(end);
    }
    return (this.knownRuns = { starts, ends, length });
  }
}

/** Places of a column, as runs: what is next to each other is copied together. */
export interface Runs {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Places of all runs together. */
  readonly length: number;
}
