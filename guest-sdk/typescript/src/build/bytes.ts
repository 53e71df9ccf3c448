// Builders for texts and byte strings.

import { ArrayData, offsetBuffer } from "../array.ts";
import type { DataType } from "../types.ts";
import { encodeBinary, fromBinary, isAscii } from "../utf8.ts";
import { Builder, grown } from "./builder.ts";

/** Builds a column of texts. A lone surrogate becomes U+FFFD. */
export class TextBuilder extends Builder<string> {
  /** Written all at once at the end: a call for each value would cost more than the value. */
  readonly #texts: string[] = [];

  get length(): number {
    return this.#texts.length;
  }

  push(value: string | null): void {
    if (value === null) {
      this.nulls.push(this.#texts.length);
      this.#texts.push("");
    } else {
      this.#texts.push(value);
    }
  }

  truncate(length: number): void {
    if (length < this.#texts.length) this.#texts.length = length;
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    let texts = this.#texts;
    let binary = texts.join("");
    if (!isAscii(binary)) {
      texts = texts.map(encodeBinary);
      binary = texts.join("");
    }
    const length = texts.length;
    const offsets = new Int32Array(length + 1);
    for (let i = 0, end = 0; i < length; ) {
      end += texts[i]!.length;
      offsets[++i] = end;
    }
    return new ArrayData(this.type, this.validity(), [offsetBuffer(this.type, offsets), fromBinary(binary)]);
  }
}

/** Builds a column of byte strings. */
export class BytesBuilder extends Builder<Uint8Array> {
  #bytes: Uint8Array;
  #offsets: Int32Array;
  #length = 0;

  constructor(type: DataType, capacity: number) {
    super(type);
    this.#offsets = new Int32Array(capacity + 1);
    this.#bytes = new Uint8Array(capacity * 16);
  }

  get length(): number {
    return this.#length;
  }

  push(value: Uint8Array | null): void {
    let end = this.#offsets[this.#length]!;
    if (value === null) {
      this.nulls.push(this.#length);
    } else {
      if (end + value.length > this.#bytes.length) this.#growBytes(end + value.length);
      this.#bytes.set(value, end);
      end += value.length;
    }
    if (++this.#length === this.#offsets.length) {
      const larger = new Int32Array(grown(this.#length));
      larger.set(this.#offsets);
      this.#offsets = larger;
    }
    this.#offsets[this.#length] = end;
  }

  #growBytes(needed: number): void {
    const larger = new Uint8Array(Math.max(needed, grown(this.#bytes.length)));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }

  truncate(length: number): void {
    this.#length = Math.min(this.#length, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    const offsets = this.#offsets.subarray(0, this.#length + 1);
    const bytes = this.#bytes.subarray(0, offsets[this.#length]!);
    return new ArrayData(this.type, this.validity(), [offsetBuffer(this.type, offsets), bytes]);
  }
}

/** Builds a column of byte strings of one width. */
export class FixedSizeBinaryBuilder extends Builder<Uint8Array> {
  /** Bytes of one value. */
  readonly width: number;
  #bytes: Uint8Array;
  #length = 0;

  constructor(type: DataType, capacity: number) {
    super(type);
    this.width = (type as { width: number }).width;
    this.#bytes = new Uint8Array(capacity * this.width);
  }

  get length(): number {
    return this.#length;
  }

  push(value: Uint8Array | null): void {
    const at = this.#length * this.width;
    if (at + this.width > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(at + this.width, grown(this.#bytes.length)));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    if (value === null) {
      this.nulls.push(this.#length);
      this.#bytes.fill(0, at, at + this.width);
    } else if (value.length !== this.width) throw new RangeError(`a value has ${value.length} bytes, not ${this.width}`);
    else this.#bytes.set(value, at);
    this.#length++;
  }

  truncate(length: number): void {
    this.#length = Math.min(this.#length, length);
    this.truncateNulls(length);
  }

  finish(): ArrayData {
    return new ArrayData(this.type, this.validity(), [this.#bytes.subarray(0, this.#length * this.width)]);
  }
}
