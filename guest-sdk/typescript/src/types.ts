// Column types and fields, as trees.

import type { PlainTag, RawDataType, RawField, TimeUnit } from "./contract.ts";

/** The type of a column. Physical layouts are those of the Arrow columnar format. */
export type DataType =
  | { readonly name: PlainTag }
  | { readonly name: "decimal128" | "decimal256"; readonly precision: number; readonly scale: number }
  /** `width`: bytes of a value. */
  | { readonly name: "fixed-size-binary"; readonly width: number }
  | { readonly name: "time32" | "time64" | "duration"; readonly unit: TimeUnit }
  /** Since 1970-01-01T00:00:00, in UTC where there is a zone, else local time. */
  | { readonly name: "timestamp"; readonly unit: TimeUnit; readonly zone: string | null }
  | { readonly name: "list" | "large-list"; readonly item: Field }
  /** `size`: items in each value. */
  | { readonly name: "fixed-size-list"; readonly item: Field; readonly size: number }
  | { readonly name: "struct"; readonly members: readonly Field[] }
  /** `entries`: a non-null struct of two members, the keys (never null) and the values. `sorted`: those keys are. */
  | { readonly name: "map"; readonly entries: Field; readonly sorted: boolean };

/** A named column, or a member of a nested one. */
export interface Field {
  readonly name: string;
  readonly type: DataType;
  readonly nullable: boolean;
}

/** The fields of a nested type; none for all others. */
export function childFields(type: DataType): readonly Field[] {
  switch (type.name) {
    case "list":
    case "large-list":
    case "fixed-size-list":
      return [type.item];
    case "map":
      return [type.entries];
    case "struct":
      return type.members;
    default:
      return [];
  }
}

/** How many buffers a column of this type has itself, without its children. */
export function ownBuffers(type: DataType): number {
  switch (type.name) {
    case "null":
      return 0;
    case "fixed-size-list":
    case "struct":
      return 1;
    case "utf8":
    case "large-utf8":
    case "binary":
    case "large-binary":
      return 3;
    default:
      return 2;
  }
}

const WIDTHS: Partial<Record<DataType["name"], number>> = {
  int8: 1, uint8: 1,
  int16: 2, uint16: 2, float16: 2,
  int32: 4, uint32: 4, float32: 4, date32: 4, time32: 4,
  int64: 8, uint64: 8, float64: 8, date64: 8, time64: 8, timestamp: 8, duration: 8,
  decimal128: 16, decimal256: 32,
};

/** Bytes of one value of a type of fixed width; none for all others, booleans included. */
export function widthOf(type: DataType): number | undefined {
  return type.name === "fixed-size-binary" ? type.width : WIDTHS[type.name];
}

/** The type for people, such as `timestamp(microsecond, UTC)`. */
export function typeText(type: DataType): string {
  switch (type.name) {
    case "decimal128":
    case "decimal256":
      return `${type.name}(${type.precision}, ${type.scale})`;
    case "fixed-size-binary":
      return `${type.name}(${type.width})`;
    case "time32":
    case "time64":
    case "duration":
      return `${type.name}(${type.unit})`;
    case "timestamp":
      return type.zone === null ? `timestamp(${type.unit})` : `timestamp(${type.unit}, ${type.zone})`;
    case "list":
    case "large-list":
      return `${type.name}(${typeText(type.item.type)})`;
    case "fixed-size-list":
      return `${type.name}(${typeText(type.item.type)}, ${type.size})`;
    case "struct":
      return `struct(${type.members.map((member) => `${member.name}: ${typeText(member.type)}`).join(", ")})`;
    case "map":
      return `map(${childFields(type.entries.type).map((member) => typeText(member.type)).join(", ")})`;
    default:
      return type.name;
  }
}

/** The field's tree, depth first, root first. */
export function toTree(field: Field, tree: RawField[] = []): RawField[] {
  const children = childFields(field.type);
  tree.push({
    name: field.name,
    dataType: toRawType(field.type),
    nullable: field.nullable,
    children: children.length,
  });
  for (const child of children) toTree(child, tree);
  return tree;
}

/** All the fields of a list of trees. None if the trees are not whole or a type has the wrong children. */
export function fromTrees(trees: readonly RawField[]): Field[] | undefined {
  let at = 0;
  const next = (): Field | undefined => {
    const root = trees[at++];
    if (root === undefined) return undefined;
    const children: Field[] = [];
    for (let i = 0; i < root.children; i++) {
      const child = next();
      if (child === undefined) return undefined;
      children.push(child);
    }
    const type = fromRawType(root.dataType, children);
    return type && { name: root.name, type, nullable: root.nullable };
  };
  const fields: Field[] = [];
  while (at < trees.length) {
    const field = next();
    if (field === undefined) return undefined;
    fields.push(field);
  }
  return fields;
}

function toRawType(type: DataType): RawDataType {
  switch (type.name) {
    case "decimal128":
    case "decimal256":
      return { tag: type.name, val: { precision: type.precision, scale: type.scale } };
    case "fixed-size-binary":
      return { tag: type.name, val: type.width };
    case "fixed-size-list":
      return { tag: type.name, val: type.size };
    case "time32":
    case "time64":
    case "duration":
      return { tag: type.name, val: type.unit };
    case "timestamp":
      return { tag: type.name, val: { unit: type.unit, zone: type.zone } };
    case "map":
      return { tag: type.name, val: type.sorted };
    default:
      return { tag: type.name };
  }
}

function fromRawType(raw: RawDataType, children: readonly Field[]): DataType | undefined {
  const [child] = children;
  if (raw.tag === "struct") return { name: "struct", members: children };
  const nested = raw.tag === "list" || raw.tag === "large-list" || raw.tag === "fixed-size-list" || raw.tag === "map";
  if (children.length !== (nested ? 1 : 0)) return undefined;
  switch (raw.tag) {
    case "list":
    case "large-list":
      return { name: raw.tag, item: child! };
    case "fixed-size-list":
      return { name: raw.tag, item: child!, size: raw.val };
    case "map":
      if (childFields(child!.type).length !== 2) return undefined;
      return { name: raw.tag, entries: child!, sorted: raw.val };
    case "decimal128":
    case "decimal256":
      return { name: raw.tag, precision: raw.val.precision, scale: raw.val.scale };
    case "fixed-size-binary":
      return { name: raw.tag, width: raw.val };
    case "time32":
    case "time64":
    case "duration":
      return { name: raw.tag, unit: raw.val };
    case "timestamp":
      return { name: raw.tag, unit: raw.val.unit, zone: raw.val.zone };
    default:
      return { name: raw.tag };
  }
}
