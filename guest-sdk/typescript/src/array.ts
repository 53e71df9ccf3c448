// A column as nodes and buffers, whatever its type.

import type { RawColumns } from "./contract.ts";
import { childFields, ownBuffers, widthOf, type DataType } from "./types.ts";
import { Validity } from "./validity.ts";

/** A column of any type: its own buffers, and a column for each member. Finished: nothing changes it. */
export class ArrayData {
  readonly type: DataType;
  readonly length: number;
  readonly validity: Validity;
  /** The buffers without validity: none, values, or offsets and bytes. */
  readonly buffers: readonly Uint8Array[];
  readonly children: readonly ArrayData[];

  constructor(
    type: DataType,
    validity: Validity,
    buffers: readonly Uint8Array[] = [],
    children: readonly ArrayData[] = [],
  ) {
    this.type = type;
    this.length = validity.length;
    this.validity = validity;
    this.buffers = buffers;
    this.children = children;
  }

  get nullCount(): number {
    return this.type.name === "null" ? this.length : this.validity.nullCount;
  }

  /** Appends nodes and buffers, depth first. */
  appendTo(columns: RawColumns): void {
    columns.nodes.push({ length: this.length, nullCount: this.nullCount });
    if (this.type.name !== "null") columns.buffers.push(this.validity.bits);
    columns.buffers.push(...this.buffers);
    for (const child of this.children) child.appendTo(columns);
  }
}

/** Reads columns one after the other; nothing where the buffers are not what their types call for. */
export class ArrayReader {
  readonly #columns: RawColumns;
  #node = 0;
  #buffer = 0;

  constructor(columns: RawColumns) {
    this.#columns = columns;
  }

  next(type: DataType): ArrayData | undefined {
    const node = this.#columns.nodes[this.#node++];
    const own = this.#columns.buffers.slice(this.#buffer, (this.#buffer += ownBuffers(type)));
    if (node === undefined || own.length !== ownBuffers(type)) return undefined;
    const bits = own.shift() ?? new Uint8Array(0);
    if (node.nullCount > 0 && type.name !== "null" && bits.length * 8 < node.length) return undefined;
    const children: ArrayData[] = [];
    for (const { type: childType } of childFields(type)) {
      const child = this.next(childType);
      if (child === undefined) return undefined;
      children.push(child);
    }
    const validity = new Validity(bits, node.length, type.name === "null" ? 0 : node.nullCount);
    const array = new ArrayData(type, validity, own, children);
    return fits(array) ? array : undefined;
  }

  /** Whether nothing is left. */
  isAtEnd(): boolean {
    return this.#node === this.#columns.nodes.length && this.#buffer === this.#columns.buffers.length;
  }
}

/** Whether the buffers are as long as the type and the length call for. */
function fits({ type, length, buffers, children }: ArrayData): boolean {
  const [first, second] = buffers;
  const width = widthOf(type);
  if (width !== undefined) return first!.length === width * length;
  const child = children[0]?.length ?? 0;
  switch (type.name) {
    case "boolean":
      return first!.length === (length + 7) >> 3;
    case "utf8":
    case "binary":
      return first!.length === 4 * (length + 1) && offset32(first!, length) === second!.length;
    case "large-utf8":
    case "large-binary":
      return first!.length === 8 * (length + 1) && offset64(first!, length) === second!.length;
    case "list":
    case "map":
      return first!.length === 4 * (length + 1) && offset32(first!, length) === child;
    case "large-list":
      return first!.length === 8 * (length + 1) && offset64(first!, length) === child;
    case "fixed-size-list":
      return child === length * type.size;
    case "struct":
      return children.every((member) => member.length === length);
    default:
      return true;
  }
}

function offset32(buffer: Uint8Array, i: number): number {
  return new DataView(buffer.buffer, buffer.byteOffset).getInt32(i * 4, true);
}

function offset64(buffer: Uint8Array, i: number): number {
  return Number(new DataView(buffer.buffer, buffer.byteOffset).getBigInt64(i * 8, true));
}

/** A typed array over a buffer. Copies only where the buffer does not start at a multiple of the width. */
export function over<A>(make: TypedArrayConstructor<A>, buffer: Uint8Array): A {
  const width = make.BYTES_PER_ELEMENT;
  const aligned = buffer.byteOffset % width === 0 ? buffer : buffer.slice();
  return new make(aligned.buffer as ArrayBuffer, aligned.byteOffset, Math.floor(aligned.length / width));
}

export interface TypedArrayConstructor<A> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): A;
}

/** The bytes of a typed array. */
export function bytesOf(values: ArrayBufferView): Uint8Array {
  return new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
}

/** Where each value of a column with offsets starts; one more than there are values. 64-bit offsets are narrowed. */
export function offsetsOf(array: ArrayData): Int32Array {
  const large = array.type.name.startsWith("large-");
  const words = over(Int32Array, array.buffers[0]!);
  if (!large) return words;
  const offsets = new Int32Array(array.length + 1);
  // A component's memory ends before 2 GiB: the high halves are 0.
  for (let i = 0; i < offsets.length; i++) offsets[i] = words[2 * i]!;
  return offsets;
}

/** The buffer of a column's offsets, in the width that its type calls for. */
export function offsetBuffer(type: DataType, offsets: Int32Array): Uint8Array {
  if (!type.name.startsWith("large-")) return bytesOf(offsets);
  const words = new Int32Array(offsets.length * 2);
  for (let i = 0; i < offsets.length; i++) words[2 * i] = offsets[i]!;
  return bytesOf(words);
}
