// Kinds: what a column is read as and what it is computed as.

import { ArrayData, bytesOf, type TypedArrayConstructor } from "./array.ts";
import { Builder } from "./build/builder.ts";
import { BytesBuilder, FixedSizeBinaryBuilder, textArray, TextBuilder } from "./build/bytes.ts";
import { FixedSizeListBuilder, ListBuilder, MapBuilder, StructBuilder } from "./build/nested.ts";
import {
  BooleanBuilder, DecimalBuilder, Float16Builder, LongBuilder, NullBuilder, NumberBuilder,
} from "./build/primitive.ts";
import { BytesColumn, FixedSizeBinaryColumn, TextColumn } from "./column/bytes.ts";
import { AnyColumn, NullColumn, type Column } from "./column/column.ts";
import { FixedSizeListColumn, ListColumn, MapColumn, StructColumn } from "./column/nested.ts";
import {
  BooleanColumn, DecimalColumn, Float16Column, LongColumn, NumberColumn, type LongArray, type NumberArray,
} from "./column/primitive.ts";
import type { PlainTag, TimeUnit } from "./contract.ts";
import { Ranges } from "./ranges.ts";
import { childFields, type DataType, type Field } from "./types.ts";
import { packBits, Validity } from "./validity.ts";

/** What a column can be read as. */
export interface Reader<C extends Column> {
  /** For messages. */
  readonly label: string;
  accepts(type: DataType): boolean;
  view(data: ArrayData): C;
}

/** What a column can be read as and computed as. `T`: its values. `V`: whole columns of values, if there are such. */
export interface Kind<C extends Column = Column, B extends Builder = Builder, V = never> extends Reader<C> {
  readonly type: DataType;
  /** Whether a computed column, item or member of this kind may hold nulls. */
  readonly nullable: boolean;
  builder(capacity?: number): B;
  /** Makes a whole column. */
  whole(values: V, validity?: Validity): ArrayData;
}

/** A kind of which no value is null. */
export function required<K extends Kind<Column, Builder, any>>(kind: K): K {
  return { ...kind, nullable: false };
}

const noWhole = (): never => {
  throw new TypeError("columns of this kind are made by a builder");
};

function validOf(values: { readonly length: number }, validity: Validity | undefined): Validity {
  if (validity === undefined) return Validity.all(values.length);
  if (validity.length !== values.length) {
    throw new RangeError(`${values.length} values, but a validity of ${validity.length}`);
  }
  return validity;
}

function numbers<A extends NumberArray>(
  name: PlainTag,
  array: TypedArrayConstructor<A> & (new (length: number) => A),
): Kind<NumberColumn<A>, NumberBuilder<A>, A> {
  return numbersOf({ name }, (type) => type.name === name, array);
}

function numbersOf<A extends NumberArray>(
  type: DataType,
  accepts: (type: DataType) => boolean,
  array: TypedArrayConstructor<A> & (new (length: number) => A),
): Kind<NumberColumn<A>, NumberBuilder<A>, A> {
  return {
    label: type.name,
    type,
    nullable: true,
    accepts,
    view: (data) => new NumberColumn(data, array),
    builder: (capacity = 64) => new NumberBuilder(type, array, capacity),
    whole: (values, validity) => new ArrayData(type, validOf(values, validity), [bytesOf(values)]),
  };
}

function longs<A extends LongArray>(
  type: DataType,
  accepts: (type: DataType) => boolean,
  array: TypedArrayConstructor<A> & (new (length: number) => A),
): Kind<LongColumn<A>, LongBuilder<A>, A | Float64Array> {
  return {
    label: type.name,
    type,
    nullable: true,
    accepts,
    view: (data) => new LongColumn(data, array),
    builder: (capacity = 64) => new LongBuilder(type, array, capacity),
    whole: (values, validity) =>
      new ArrayData(type, validOf(values, validity), [
        bytesOf(values instanceof Float64Array ? longsOf(values) : values),
      ]),
  };
}

/** Whole numbers as 64-bit integers. NaN, which stands for a null or in a row that is rejected, becomes 0. */
function longsOf(numbers: Float64Array): BigInt64Array {
  if (numbers.includes(NaN)) {
    numbers = numbers.slice();
    for (let i = 0; i < numbers.length; i++) if (numbers[i] !== numbers[i]) numbers[i] = 0;
  }
  // The built-in function calls the other without a step of the interpreter between them.
  return BigInt64Array.from(numbers as unknown as ArrayLike<bigint>, BigInt as unknown as (value: bigint) => bigint);
}

const is = (name: DataType["name"]) => (type: DataType) => type.name === name;

export const int8 = numbers("int8", Int8Array);
export const int16 = numbers("int16", Int16Array);
export const int32 = numbers("int32", Int32Array);
export const uint8 = numbers("uint8", Uint8Array);
export const uint16 = numbers("uint16", Uint16Array);
export const uint32 = numbers("uint32", Uint32Array);
export const float32 = numbers("float32", Float32Array);
export const float64 = numbers("float64", Float64Array);
/** Days since 1970-01-01. */
export const date32 = numbers("date32", Int32Array);
export const int64 = longs({ name: "int64" }, is("int64"), BigInt64Array);
export const uint64 = longs({ name: "uint64" }, is("uint64"), BigUint64Array);
/** Milliseconds since 1970-01-01. */
export const date64 = longs({ name: "date64" }, is("date64"), BigInt64Array);

export const float16: Kind<Float16Column, Float16Builder> = {
  label: "float16",
  type: { name: "float16" },
  nullable: true,
  accepts: is("float16"),
  view: (data) => new Float16Column(data),
  builder: (capacity = 64) => new Float16Builder({ name: "float16" }, capacity),
  whole: noWhole,
};

/** Nothing but nulls. */
export const nothing: Kind<NullColumn, NullBuilder> = {
  label: "null",
  type: { name: "null" },
  nullable: true,
  accepts: is("null"),
  view: (data) => new NullColumn(data),
  builder: () => new NullBuilder({ name: "null" }),
  whole: noWhole,
};

/** Whole columns have a byte for each value, 0 for false. */
export const boolean: Kind<BooleanColumn, BooleanBuilder, Uint8Array> = {
  label: "boolean",
  type: { name: "boolean" },
  nullable: true,
  accepts: is("boolean"),
  view: (data) => new BooleanColumn(data),
  builder: (capacity = 64) => new BooleanBuilder({ name: "boolean" }, capacity),
  whole: (values, validity) =>
    new ArrayData({ name: "boolean" }, validOf(values, validity), [packBits(values)]),
};

function texts(name: "utf8" | "large-utf8"): Kind<TextColumn, TextBuilder, Ranges | readonly (string | null)[]> {
  return {
    label: name,
    type: { name },
    nullable: true,
    accepts: is(name),
    view: (data) => new TextColumn(data),
    builder: () => new TextBuilder({ name }),
    whole: (values) => (values instanceof Ranges ? values.toArray({ name }) : textArray({ name }, values)),
  };
}

function byteStrings(name: "binary" | "large-binary"): Kind<BytesColumn, BytesBuilder, Ranges> {
  return {
    label: name,
    type: { name },
    nullable: true,
    accepts: is(name),
    view: (data) => new BytesColumn(data),
    builder: (capacity = 64) => new BytesBuilder({ name }, capacity),
    whole: (ranges) => ranges.toArray({ name }),
  };
}

export const utf8 = texts("utf8");
export const largeUtf8 = texts("large-utf8");
export const binary = byteStrings("binary");
export const largeBinary = byteStrings("large-binary");

/** Adds to a function what reads columns of any of its kinds: `plan.read(name, timestamp)` takes any unit and zone. */
function reading<F extends (...args: never[]) => unknown, C extends Column>(make: F, reader: Reader<C>): F & Reader<C> {
  return Object.assign(make, reader);
}

const fixedSizeBinaryReader: Reader<FixedSizeBinaryColumn> = {
  label: "fixed-size-binary",
  accepts: is("fixed-size-binary"),
  view: (data) => new FixedSizeBinaryColumn(data),
};
/** Byte strings of one width, in bytes. To read: `fixedSizeBinary` takes any width, `fixedSizeBinary(4)` one. */
export const fixedSizeBinary = reading((width: number): Kind<FixedSizeBinaryColumn, FixedSizeBinaryBuilder> => {
  const type: DataType = { name: "fixed-size-binary", width };
  return {
    ...fixedSizeBinaryReader,
    type,
    nullable: true,
    accepts: (other) => other.name === type.name && other.width === width,
    builder: (capacity = 64) => new FixedSizeBinaryBuilder(type, capacity),
    whole: noWhole,
  };
}, fixedSizeBinaryReader);

function decimals(name: "decimal128" | "decimal256") {
  const reader: Reader<DecimalColumn> = { label: name, accepts: is(name), view: (data) => new DecimalColumn(data) };
  return reading((precision: number, scale: number): Kind<DecimalColumn, DecimalBuilder> => {
    const type: DataType = { name, precision, scale };
    return {
      ...reader,
      type,
      nullable: true,
      accepts: (other) => other.name === name && other.precision === precision && other.scale === scale,
      builder: (capacity = 64) => new DecimalBuilder(type, capacity),
      whole: noWhole,
    };
  }, reader);
}
/** Decimals of up to 38 digits, `scale` of them behind the point. To read: `decimal128` takes any. */
export const decimal128 = decimals("decimal128");
/** Decimals of up to 76 digits, `scale` of them behind the point. To read: `decimal256` takes any. */
export const decimal256 = decimals("decimal256");

type Longs = Kind<LongColumn<BigInt64Array>, LongBuilder<BigInt64Array>, BigInt64Array | Float64Array>;
const longReader = (name: "time64" | "timestamp" | "duration"): Reader<LongColumn<BigInt64Array>> => ({
  label: name,
  accepts: is(name),
  view: (data) => new LongColumn(data, BigInt64Array),
});

/** Since midnight, in seconds or milliseconds. To read: `time32` takes both. */
export const time32 = reading(
  (unit: "second" | "millisecond"): Kind<NumberColumn<Int32Array>, NumberBuilder<Int32Array>, Int32Array> =>
    numbersOf({ name: "time32", unit }, (type) => type.name === "time32" && type.unit === unit, Int32Array),
  {
    label: "time32",
    accepts: is("time32"),
    view: (data: ArrayData) => new NumberColumn(data, Int32Array),
  } as Reader<NumberColumn<Int32Array>>,
);
/** Since midnight, in microseconds or nanoseconds. To read: `time64` takes both. */
export const time64 = reading(
  (unit: "microsecond" | "nanosecond"): Longs =>
    longs({ name: "time64", unit }, (type) => type.name === "time64" && type.unit === unit, BigInt64Array),
  longReader("time64"),
);
/** Since 1970-01-01T00:00:00, in UTC where there is a zone, else local time. To read: `timestamp` takes any. */
export const timestamp = reading(
  (unit: TimeUnit, zone: string | null = null): Longs =>
    longs(
      { name: "timestamp", unit, zone },
      (type) => type.name === "timestamp" && type.unit === unit && type.zone === zone,
      BigInt64Array,
    ),
  longReader("timestamp"),
);
/** To read: `duration` takes any unit. */
export const duration = reading(
  (unit: TimeUnit): Longs =>
    longs({ name: "duration", unit }, (type) => type.name === "duration" && type.unit === unit, BigInt64Array),
  longReader("duration"),
);

type AnyKind = Kind<any, any, any>;
type ColumnOf<K> = K extends Kind<infer C, any, any> ? C : never;
type BuilderOf<K> = K extends Kind<any, infer B, any> ? B : never;
type ValueOf<K> = BuilderOf<K> extends Builder<infer T> ? T : never;

const fieldOf = (name: string, kind: AnyKind): Field => ({ name, type: kind.type, nullable: kind.nullable });

type Lists = Extract<DataType, { item: Field; size?: never }>;

function lists<K extends AnyKind>(
  type: Lists,
  item: K,
): Kind<ListColumn<ColumnOf<K>>, ListBuilder<ValueOf<K>, BuilderOf<K>>> {
  return {
    label: `${type.name}(${item.label})`,
    type,
    nullable: true,
    accepts: (other) => other.name === type.name && item.accepts(other.item.type),
    view: (data) => new ListColumn(data, item),
    builder: (capacity = 64) => new ListBuilder(type, item, capacity),
    whole: noWhole,
  };
}

export const list = <K extends AnyKind>(item: K) => lists({ name: "list", item: fieldOf("item", item) }, item);
export const largeList = <K extends AnyKind>(item: K) =>
  lists({ name: "large-list", item: fieldOf("item", item) }, item);

function fixedSizeLists<K extends AnyKind>(
  type: Extract<DataType, { size: number }>,
  item: K,
): Kind<FixedSizeListColumn<ColumnOf<K>>, FixedSizeListBuilder<ValueOf<K>, BuilderOf<K>>> {
  return {
    label: `${type.name}(${item.label}, ${type.size})`,
    type,
    nullable: true,
    accepts: (other) => other.name === type.name && other.size === type.size && item.accepts(other.item.type),
    view: (data) => new FixedSizeListColumn(data, item),
    builder: (capacity = 64) => new FixedSizeListBuilder(type, item, capacity),
    whole: noWhole,
  };
}

/** Lists of `size` items each. */
export const fixedSizeList = <K extends AnyKind>(item: K, size: number) =>
  fixedSizeLists({ name: "fixed-size-list", item: fieldOf("item", item), size }, item);

function structs<M extends Record<string, AnyKind>>(
  type: Extract<DataType, { name: "struct" }>,
  members: M,
): Kind<StructColumn<{ [K in keyof M]: ColumnOf<M[K]> }>, StructBuilder<{ [K in keyof M]: BuilderOf<M[K]> }>> {
  const names = type.members.map((member) => member.name);
  return {
    label: `struct(${names.map((name) => `${name}: ${members[name]!.label}`).join(", ")})`,
    type,
    nullable: true,
    accepts: (other) =>
      other.name === "struct" &&
      other.members.length === names.length &&
      other.members.every((member, i) => member.name === names[i] && members[member.name]!.accepts(member.type)),
    view: (data) => new StructColumn(data, members),
    builder: (capacity = 64) => new StructBuilder(type, members, capacity),
    whole: noWhole,
  };
}

/** Structs of exactly these members, in this order. */
export const struct = <M extends Record<string, AnyKind>>(members: M) =>
  structs({ name: "struct", members: Object.keys(members).map((name) => fieldOf(name, members[name]!)) }, members);

function maps<K extends AnyKind, V extends AnyKind>(
  type: Extract<DataType, { name: "map" }>,
  key: K,
  value: V,
): Kind<MapColumn<ColumnOf<K>, ColumnOf<V>>, MapBuilder<BuilderOf<K>, BuilderOf<V>>> {
  return {
    label: `map(${key.label}, ${value.label})`,
    type,
    nullable: true,
    accepts: (other) => {
      if (other.name !== "map") return false;
      const [keys, values] = childFields(other.entries.type);
      return key.accepts(keys!.type) && value.accepts(values!.type);
    },
    view: (data) => new MapColumn(data, key, value),
    builder: (capacity = 64) => new MapBuilder(type, key, value, capacity),
    whole: noWhole,
  };
}

/** Maps; their keys are never null. */
export function map<K extends AnyKind, V extends AnyKind>(key: K, value: V) {
  const members = [fieldOf("key", required(key)), fieldOf("value", value)];
  const entries: Field = { name: "entries", type: { name: "struct", members }, nullable: false };
  return maps({ name: "map", entries, sorted: false }, key, value);
}

/** To read a column of any type as a whole. */
export const any: Reader<AnyColumn> = { label: "any type", accepts: () => true, view: (data) => new AnyColumn(data) };

const PLAIN: Record<PlainTag, AnyKind> = {
  "null": nothing, boolean,
  int8, int16, int32, int64, uint8, uint16, uint32, uint64,
  float16, float32, float64,
  utf8, "large-utf8": largeUtf8, binary, "large-binary": largeBinary,
  date32, date64,
};

/** The kind of a type that is known only when the plan is made. */
export function kindOf(type: DataType): Kind<Column, Builder, any> {
  switch (type.name) {
    case "decimal128":
      return decimal128(type.precision, type.scale);
    case "decimal256":
      return decimal256(type.precision, type.scale);
    case "fixed-size-binary":
      return fixedSizeBinary(type.width);
    case "time32":
      return time32(type.unit as "second");
    case "time64":
      return time64(type.unit as "microsecond");
    case "timestamp":
      return timestamp(type.unit, type.zone);
    case "duration":
      return duration(type.unit);
    case "list":
    case "large-list":
      return lists(type as Lists, kindOf(type.item.type)) as AnyKind;
    case "fixed-size-list":
      return fixedSizeLists(type, kindOf(type.item.type)) as AnyKind;
    case "struct":
      return structs(type, Object.fromEntries(type.members.map((member) => [member.name, kindOf(member.type)])));
    case "map": {
      const [key, value] = childFields(type.entries.type);
      return maps(type, kindOf(key!.type), kindOf(value!.type)) as AnyKind;
    }
    default:
      return PLAIN[type.name];
  }
}
