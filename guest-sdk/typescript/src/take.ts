// Rows of a column in another order, left out or repeated, for any type.

import { ArrayData, offsetBuffer, offsetsOf } from "./array.ts";
import type { Runs } from "./selection.ts";
import { widthOf } from "./types.ts";
import { packBits, unpackBits, Validity } from "./validity.ts";

/** The values at these places, one run of places after the other. */
export function take(array: ArrayData, runs: Runs): ArrayData {
  const { type } = array;
  const validity = takeValidity(array.validity, runs);
  const width = widthOf(type);
  if (width !== undefined) return new ArrayData(type, validity, [takeFixed(array.buffers[0]!, width, runs)]);
  switch (type.name) {
    case "null":
      return new ArrayData(type, validity);
    case "boolean":
      return new ArrayData(type, validity, [takeBits(array.buffers[0]!, array.length, runs)]);
    case "struct":
      return new ArrayData(type, validity, [], array.children.map((member) => take(member, runs)));
    case "fixed-size-list": {
      const items = spread(runs, (place) => place * type.size);
      return new ArrayData(type, validity, [], [take(array.children[0]!, items)]);
    }
  }
  const from = offsetsOf(array);
  const items = spread(runs, (place) => from[place]!);
  const offsets = offsetBuffer(type, takeOffsets(from, runs));
  const [child] = array.children;
  if (child !== undefined) return new ArrayData(type, validity, [offsets], [take(child, items)]);
  return new ArrayData(type, validity, [offsets, takeFixed(array.buffers[1]!, 1, items)]);
}

/** The runs of what lies behind places. */
function spread(runs: Runs, start: (place: number) => number): Runs {
  const starts: number[] = [];
  const ends: number[] = [];
  let length = 0;
  for (let n = 0; n < runs.starts.length; n++) {
    const first = start(runs.starts[n]!);
    const end = start(runs.ends[n]!);
    starts.push(first);
    ends.push(end);
    length += end - first;
  }
  return { starts, ends, length };
}

function takeValidity(validity: Validity, runs: Runs): Validity {
  if (validity.nullCount === 0) return Validity.all(runs.length);
  return Validity.fromFlags(takeFixed(validity.flags(), 1, runs));
}

function takeBits(bits: Uint8Array, length: number, runs: Runs): Uint8Array {
  return packBits(takeFixed(unpackBits(bits, length), 1, runs));
}

function takeFixed(values: Uint8Array, width: number, { starts, ends, length }: Runs): Uint8Array {
  const size = length * width;
  // Moved within one array: a call for each run, which makes no object, costs as much as a few values in a loop.
  const taken = new Uint8Array(size + values.length);
  taken.set(values, size);
  let at = 0;
  for (let n = 0, runs = starts.length; n < runs; n++) {
    const start = starts[n]! * width;
    const end = ends[n]! * width;
    taken.copyWithin(at, size + start, size + end);
    at += end - start;
  }
  return taken.subarray(0, size);
}

function takeOffsets(from: Int32Array, { starts, ends, length }: Runs): Int32Array {
  const offsets = new Int32Array(length + 1);
  let at = 1;
  for (let n = 0; n < starts.length; n++) {
    const less = from[starts[n]!]! - offsets[at - 1]!;
    for (let place = starts[n]! + 1, end = ends[n]!; place <= end; place++) offsets[at++] = from[place]! - less;
  }
  return offsets;
}
