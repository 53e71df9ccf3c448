// Which values of a column are null.

const EMPTY = new Uint8Array(0);

/** The validity of a column: a bit for each value, none at all where no value is null. */
export class Validity {
  /** A bit for each value, 1 where it is not null, least significant bit first. Empty: no value is null. */
  readonly bits: Uint8Array;
  readonly length: number;
  readonly nullCount: number;

  constructor(bits: Uint8Array, length: number, nullCount: number) {
    this.bits = nullCount === 0 ? EMPTY : bits;
    this.length = length;
    this.nullCount = nullCount;
  }

  /** No value is null. */
  static all(length: number): Validity {
    return new Validity(EMPTY, length, 0);
  }

  /** From a byte for each value: 0 where it is null. */
  static fromFlags(flags: Uint8Array): Validity {
    const nulls: number[] = [];
    for (let i = flags.indexOf(0); i >= 0; i = flags.indexOf(0, i + 1)) nulls.push(i);
    return Validity.fromNulls(nulls, flags.length);
  }

  /** From the places of the nulls. */
  static fromNulls(nulls: readonly number[], length: number): Validity {
    if (nulls.length === 0) return Validity.all(length);
    const bits = ones(length);
    for (let n = 0; n < nulls.length; n++) {
      const i = nulls[n]!;
      bits[i >> 3]! &= ~(1 << (i & 7));
    }
    return new Validity(bits, length, nulls.length);
  }

  isNull(i: number): boolean {
    return this.nullCount > 0 && ((this.bits[i >> 3]! >> (i & 7)) & 1) === 0;
  }

  /** Null where either is. */
  and(other: Validity): Validity {
    if (other.nullCount === 0) return this;
    if (this.nullCount === 0) return other;
    const bits = ones(this.length);
    let valid = 0;
    for (let at = 0; at < bits.length; at++) {
      const byte = bits[at]! & this.bits[at]! & other.bits[at]!;
      bits[at] = byte;
      valid += byte === 0xff ? 8 : BITS[byte & 15]! + BITS[byte >> 4]!;
    }
    return new Validity(bits, this.length, this.length - valid);
  }

  /** A byte for each value, 0 where it is null: for loops in which a call for each value costs too much. */
  flags(): Uint8Array {
    const flags = new Uint8Array(this.length).fill(1);
    if (this.nullCount > 0) {
      const bits = this.bits;
      for (let at = 0; at < bits.length; at++) {
        const byte = bits[at]!;
        if (byte === 0xff) continue;
        for (let bit = 0; bit < 8; bit++) if (((byte >> bit) & 1) === 0) flags[at * 8 + bit] = 0;
      }
    }
    return flags;
  }
}

/** How many of four bits are 1. */
const BITS = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];

/** Bits that are all 1, those beyond the length 0. */
function ones(length: number): Uint8Array {
  const bits = new Uint8Array((length + 7) >> 3).fill(0xff);
  if ((length & 7) !== 0) bits[bits.length - 1] = (1 << (length & 7)) - 1;
  return bits;
}

/** A byte for each bit, 0 or 1. */
export function unpackBits(bits: Uint8Array, length: number): Uint8Array {
  const flags = new Uint8Array(length);
  for (let i = 0; i < length; i++) flags[i] = (bits[i >> 3]! >> (i & 7)) & 1;
  return flags;
}

/** A bit for each byte, 1 where it is not 0. */
export function packBits(flags: Uint8Array): Uint8Array {
  const length = flags.length;
  const bits = new Uint8Array((length + 7) >> 3);
  const whole = length >> 3;
  for (let at = 0, i = 0; at < whole; at++, i += 8) {
    bits[at] =
      (flags[i] ? 1 : 0) | (flags[i + 1] ? 2 : 0) | (flags[i + 2] ? 4 : 0) | (flags[i + 3] ? 8 : 0) |
      (flags[i + 4] ? 16 : 0) | (flags[i + 5] ? 32 : 0) | (flags[i + 6] ? 64 : 0) | (flags[i + 7] ? 128 : 0);
  }
  for (let i = whole * 8; i < length; i++) if (flags[i]) bits[i >> 3]! |= 1 << (i & 7);
  return bits;
}
