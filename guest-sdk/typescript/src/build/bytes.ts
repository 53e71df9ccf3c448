// Builders for texts and byte strings.

import { ArrayData, offsetBuffer } from "../array.ts";
import type { DataType } from "../types.ts";
import { encodeBinary, fromBinary, isAscii } from "../utf8.ts";
import { Validity } from "../validity.ts";
import { Builder, grown } from "./builder.ts";

/** The column of these texts. A lone surrogate becomes U+FFFD. */
export function textArray(type: DataType, texts: readonly (string | null)[]): ArrayData {
  // All texts are written at once: a call for each would cost more than the text. Joining takes null for nothing.
  let binary = texts.join("");
  if (!isAscii(binary)) {
    texts = texts.map((text) => (text === null ? null : encodeBinary(text)));
    binary = texts.join("");
  }
  const length = texts.length;
  const offsets = new Int32Array(length + 1);
  const nulls: number[] = [];
  for (let i = 0, end = 0; i < length; ) {
    const text = texts[i]!;
    if (text === null) nulls.push(i);
    else end += text.length;
    offsets[++i] = end;
  }
  return new ArrayData(type, Validity.fromNulls(nulls, length), [offsetBuffer(type, offsets), fromBinary(binary)]);
}

/** Builds a column of texts. A lone surrogate becomes U+FFFD. */
export class TextBuilder extends Builder<string> {
  private readonly texts: (string | null)[] = [];

  get length(): number {
    return this.texts.length;
  }

  override get nullCount(): number {
    return this.texts.filter((text) => text === null).length;
  }

  push(value: string | null): void {
    this.texts.push(value);
  }

  truncate(length: number): void {
    if (length < this.texts.length) this.texts.length = length;
  }

  finish(): ArrayData {
    return textArray(this.type, this.texts);
  }
}

/** Builds a column of byte strings. */
export class BytesBuilder extends Builder<Uint8Array> {
  private written: Uint8Array;
  private ends: Int32Array;
  private count = 0;

  constructor(type: DataType, capacity: number) {
    super(type);
    this.ends = new Int32Array(capacity + 1);
    this.written = new Uint8Array(capacity * 16);
  }

  get length(): number {
    return this.count;
  }

  push(value: Uint8Array | null): void {
    let end = this.ends[this.count]!;
    if (value === null) {
      this.nulls.push(this.count);
    } else {
      if (end + value.length > this.written.length) this.growBytes(end + value.length);
      this.written.set(value, end);
      end += value.length;
    }
    if (++this.count === this.ends.length) {
      const larger = new Int32Array(grown(this.count));
      larger.set(this.ends);
      this.ends = larger;
    }
    this.ends[this.count] = end;
  }

  private growBytes(needed: number): void {
    const larger = new Uint8Array(Math.max(needed, grown(this.written.length)));
    larger.set(this.written);
    this.written = larger;
  }

  truncate(length: number): void {
    this.count = Math.min(this.count, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    const offsets = this.ends.subarray(0, this.count + 1);
    const bytes = this.written.subarray(0, offsets[this.count]!);
    return new ArrayData(this.type, this.validity(), [offsetBuffer(this.type, offsets), bytes]);
  }
}

/** Builds a column of byte strings of one width. */
export class FixedSizeBinaryBuilder extends Builder<Uint8Array> {
  /** Bytes of one value. */
  readonly width: number;
  private written: Uint8Array;
  private count = 0;

  constructor(type: DataType, capacity: number) {
    super(type);
    this.width = (type as { width: number }).width;
    this.written = new Uint8Array(capacity * this.width);
  }

  get length(): number {
    return this.count;
  }

  push(value: Uint8Array | null): void {
    const at = this.count * this.width;
    if (at + this.width > this.written.length) {
      const larger = new Uint8Array(Math.max(at + this.width, grown(this.written.length)));
      larger.set(this.written);
      this.written = larger;
    }
    if (value === null) {
      this.nulls.push(this.count);
      this.written.fill(0, at, at + this.width);
    } else if (value.length !== this.width) throw new RangeError(`a value has ${value.length} bytes, not ${this.width}`);
    else this.written.set(value, at);
    this.count++;
  }

  truncate(length: number): void {
    this.count = Math.min(this.count, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity(), [this.written.subarray(0, this.count * this.width)]);
  }
}
