// Checks columns against the contract, as the runner does.

import { offsetsOf, type ArrayData } from "../array.ts";
import { decodeUtf8 } from "../utf8.ts";
import type { Field } from "../types.ts";

/** What is wrong with a column; nothing if it keeps the contract. */
export function problemOf(field: Field, array: ArrayData): string | undefined {
  const { type, length, validity } = array;
  const at = (problem: string) => `column \`${field.name}\`: ${problem}`;
  if (validity.nullCount > 0 && validity.bits.length !== (length + 7) >> 3) return at("its validity has another length");
  const nulls = validity.flags().filter((flag) => flag === 0).length;
  if (nulls !== validity.nullCount) return at(`${nulls} nulls, but a null count of ${validity.nullCount}`);
  if (!field.nullable && array.nullCount > 0) return at("it holds nulls, which it must not");
  switch (type.name) {
    case "utf8":
    case "large-utf8":
    case "binary":
    case "large-binary":
    case "list":
    case "large-list":
    case "map": {
      const offsets = offsetsOf(array);
      if (offsets[0] !== 0) return at("its offsets do not start at 0");
      for (let i = 0; i < length; i++) if (offsets[i]! > offsets[i + 1]!) return at(`offset ${i + 1} falls`);
      if (type.name.endsWith("utf8")) {
        for (let i = 0; i < length; i++) {
          const value = array.buffers[1]!.subarray(offsets[i]!, offsets[i + 1]!);
          if (!validity.isNull(i) && !isUtf8(value)) return at(`value ${i} is not UTF-8`);
        }
      }
    }
  }
  return undefined;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    decodeUtf8(bytes);
    return true;
  } catch {
    return false;
  }
}
