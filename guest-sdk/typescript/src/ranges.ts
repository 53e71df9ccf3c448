// Texts and byte strings as ranges of one buffer.

import { ArrayData, offsetBuffer } from "./array.ts";
import type { DataType } from "./types.ts";
import { encodeUtf8, lowerAscii, upperAscii } from "./utf8.ts";
import { Validity } from "./validity.ts";

/**
 * Values as ranges of bytes: value i is `bytes` from `starts[i]` to `ends[i]`. Starts and ends may be changed at will
 * within the bytes; a value that is not null must stay whole UTF-8 if it is to be a text.
 */
export class Ranges {
  readonly bytes: Uint8Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly validity: Validity;

  constructor(bytes: Uint8Array, starts: Int32Array, ends: Int32Array, validity: Validity) {
    this.bytes = bytes;
    this.starts = starts;
    this.ends = ends;
    this.validity = validity;
  }

  /** The values of a column; changing them does not change it. */
  static of(bytes: Uint8Array, offsets: Int32Array, validity: Validity): Ranges {
    return new Ranges(bytes, offsets.slice(0, validity.length), offsets.slice(1), validity);
  }

  get length(): number {
    return this.validity.length;
  }

  isNull(i: number): boolean {
    return this.validity.isNull(i);
  }

  /** Takes the spaces (byte 0x20, no other) away at both ends of each value. */
  trimSpaces(): this {
    const { bytes, starts, ends } = this;
    for (let i = 0; i < starts.length; i++) {
      let start = starts[i]!;
      let end = ends[i]!;
      if (start === end || (bytes[start] !== 32 && bytes[end - 1] !== 32)) continue;
      while (start < end && bytes[start] === 32) start++;
      while (start < end && bytes[end - 1] === 32) end--;
      starts[i] = start;
      ends[i] = end;
    }
    return this;
  }

  /** The same ranges of a copy in which `A`–`Z` are `a`–`z`. */
  lowerAscii(): Ranges {
    return new Ranges(lowerAscii(this.bytes), this.starts, this.ends, this.validity);
  }

  /** The same ranges of a copy in which `a`–`z` are `A`–`Z`. */
  upperAscii(): Ranges {
    return new Ranges(upperAscii(this.bytes), this.starts, this.ends, this.validity);
  }

  /** The places of all values that are this text, in rising order. */
  placesOf(text: string): number[] {
    const wanted = encodeUtf8(text);
    const { bytes, starts, ends, validity } = this;
    const size = wanted.length;
    const places: number[] = [];
    next: for (let i = 0; i < starts.length; i++) {
      const start = starts[i]!;
      if (ends[i]! - start !== size) continue;
      for (let at = 0; at < size; at++) if (bytes[start + at] !== wanted[at]) continue next;
      if (!validity.isNull(i)) places.push(i);
    }
    return places;
  }

  /** The column of these values. */
  toArray(type: DataType): ArrayData {
    const { bytes, starts, ends, length } = this;
    const flags = this.validity.nullCount > 0 ? this.validity.flags() : undefined;
    const offsets = new Int32Array(length + 1);
    const gathered = new Uint8Array(gatheredLength(this, flags));
    let size = 0;
    // Values that lie next to each other are copied together.
    let from = 0;
    let to = 0;
    for (let i = 0; i < length; i++) {
      if (flags === undefined || flags[i] !== 0) {
        const start = starts[i]!;
        const end = ends[i]!;
        if (start !== to) {
          if (from < to) gathered.set(bytes.subarray(from, to), size - (to - from));
          from = start;
        }
        to = end;
        size += end - start;
      }
      offsets[i + 1] = size;
    }
    if (from < to) gathered.set(bytes.subarray(from, to), size - (to - from));
    return new ArrayData(type, this.validity, [offsetBuffer(type, offsets), gathered]);
  }
}

function gatheredLength({ starts, ends, length }: Ranges, flags: Uint8Array | undefined): number {
  let size = 0;
  for (let i = 0; i < length; i++) {
    if (ends[i]! < starts[i]!) throw new RangeError(`value ${i} ends before it starts`);
    if (flags === undefined || flags[i] !== 0) size += ends[i]! - starts[i]!;
  }
  return size;
}
