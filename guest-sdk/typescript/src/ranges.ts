// Texts and byte strings as ranges of one buffer.

import { ArrayData, offsetBuffer } from "./array.ts";
import type { DataType } from "./types.ts";
import { decodeUtf8, encodeUtf8, lowerAscii, upperAscii } from "./utf8.ts";
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

  /** The value as a text, or null. */
  text(i: number): string | null {
    return this.isNull(i) ? null : decodeUtf8(this.bytes.subarray(this.starts[i]!, this.ends[i]!));
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
    return this.placesOfEach([text])[0]!;
  }

  /** For each of these texts the places of all values that are this text, in rising order. All in one pass. */
  placesOfEach(texts: readonly string[]): number[][] {
    const { bytes, starts, ends, validity } = this;
    const places: number[][] = texts.map(() => []);
    // The texts that a value can be, by its length: most values have the length of none.
    const ofLength: { readonly wanted: Uint8Array; readonly places: number[] }[][] = [];
    texts.forEach((text, n) => {
      const wanted = encodeUtf8(text);
      while (ofLength.length <= wanted.length) ofLength.push([]);
      ofLength[wanted.length]!.push({ wanted, places: places[n]! });
    });
    const longest = ofLength.length - 1;
    for (let i = 0, length = starts.length; i < length; i++) {
      const start = starts[i]!;
      const size = ends[i]! - start;
      if (size > longest) continue;
      const candidates = ofLength[size]!;
      next: for (let n = 0; n < candidates.length; n++) {
        const { wanted, places } = candidates[n]!;
        for (let at = 0; at < size; at++) if (bytes[start + at] !== wanted[at]) continue next;
        if (!validity.isNull(i)) places.push(i);
      }
    }
    return places;
  }

  /** The column of these values. */
  toArray(type: DataType): ArrayData {
    const { starts, length } = this;
    const ends = this.#endsWithoutNulls();
    const offsets = new Int32Array(length + 1);
    // Values that lie next to each other are copied together.
    const pieces: number[] = [];
    let size = 0;
    let from = 0;
    let to = 0;
    for (let i = 0; i < length; ) {
      const start = starts[i]!;
      if (start !== to) {
        if (from !== to) pieces.push(from, to);
        from = start;
      }
      to = ends[i]!;
      size += to - start;
      offsets[++i] = size;
    }
    pieces.push(from, to);
    return new ArrayData(type, this.validity, [offsetBuffer(type, offsets), gather(this.bytes, pieces, size)]);
  }

  #endsWithoutNulls(): Int32Array {
    if (this.validity.nullCount === 0) return this.ends;
    const ends = this.ends.slice();
    const flags = this.validity.flags();
    for (let i = flags.indexOf(0); i >= 0; i = flags.indexOf(0, i + 1)) ends[i] = this.starts[i]!;
    return ends;
  }
}

/** The bytes of pieces, each from one place to the next, `size` in all. */
function gather(bytes: Uint8Array, pieces: readonly number[], size: number): Uint8Array {
  if (pieces.length === 2) return bytes.subarray(pieces[0], pieces[1]);
  // Moves within one array make no objects, which copies of parts of an array do.
  const gathered = new Uint8Array(size + bytes.length);
  gathered.set(bytes, size);
  let at = 0;
  for (let n = 0; n < pieces.length; n += 2) {
    const start = pieces[n]!;
    const end = pieces[n + 1]!;
    gathered.copyWithin(at, size + start, size + end);
    at += end - start;
  }
  return gathered.subarray(0, size);
}
