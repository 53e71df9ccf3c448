// Columns of texts and byte strings.

import { offsetsOf, type ArrayData } from "../array.ts";
import { Ranges } from "../ranges.ts";
import { areAscii, decodeBinary, toBinary } from "../utf8.ts";
import { Column } from "./column.ts";

/** A column of byte strings. */
export class BytesColumn extends Column<Uint8Array> {
  /** Where each value starts in `bytes`; one more than there are values, so that each ends where the next starts. */
  readonly offsets: Int32Array;
  /** All values, one after the other. */
  readonly bytes: Uint8Array;

  constructor(data: ArrayData) {
    super(data);
    this.offsets = offsetsOf(data);
    this.bytes = data.buffers[1]!;
  }

  /** The value as a view, or null. */
  get(i: number): Uint8Array | null {
    return this.hasNulls && this.isNull(i) ? null : this.bytes.subarray(this.offsets[i]!, this.offsets[i + 1]!);
  }

  /** All values as ranges of bytes, to be cut, compared and written without an object for each. */
  ranges(): Ranges {
    return Ranges.of(this.bytes, this.offsets, this.validity);
  }
}

/** A column of texts. */
export class TextColumn extends Column<string> {
  /** Where each value starts in `bytes`; one more than there are values, so that each ends where the next starts. */
  readonly offsets: Int32Array;
  /** All values in UTF-8, one after the other. */
  readonly bytes: Uint8Array;
  private text: string | undefined;
  private ascii = false;

  constructor(data: ArrayData) {
    super(data);
    this.offsets = offsetsOf(data);
    this.bytes = data.buffers[1]!;
  }

  /** The text, or null. The first call reads the whole column at once; after it a value costs one slice. */
  get(i: number): string | null {
    if (this.hasNulls && this.isNull(i)) return null;
    const value = (this.text ?? this.read()).slice(this.offsets[i]!, this.offsets[i + 1]!);
    return this.ascii ? value : decodeBinary(value);
  }

  private read(): string {
    this.ascii = areAscii(this.bytes);
    return (this.text = toBinary(this.bytes));
  }

  /** All values as ranges of bytes, to be cut, compared and written without a string for each. */
  ranges(): Ranges {
    return Ranges.of(this.bytes, this.offsets, this.validity);
  }
}

/** A column of byte strings of one width. */
export class FixedSizeBinaryColumn extends Column<Uint8Array> {
  /** Bytes of one value. */
  readonly width: number;
  /** All values, one after the other. */
  readonly bytes: Uint8Array;

  constructor(data: ArrayData) {
    super(data);
    this.width = (data.type as { width: number }).width;
    this.bytes = data.buffers[0]!;
  }

  /** The value as a view, or null. */
  get(i: number): Uint8Array | null {
    return this.hasNulls && this.isNull(i) ? null : this.bytes.subarray(i * this.width, (i + 1) * this.width);
  }
}
