import assert from "node:assert/strict";
import test from "node:test";
import type { Cell } from "../src/cell.ts";
import {
  any, binary, boolean, columns, date32, date64, decimal128, decimal256, duration, fixedSizeBinary, fixedSizeList,
  float16, float32, float64, int16, int32, int64, int8, kindOf, largeBinary, largeList, largeUtf8, list, map, nothing,
  required, struct, time32, time64, timestamp, uint16, uint32, uint64, uint8, utf8,
} from "../src/index.ts";
import { run, Table, type Kinds } from "../src/testing/index.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);

/** A column of each type, and values of it. */
const kinds: Kinds = {
  nothing, boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64,
  decimal128: decimal128(38, 10), decimal256: decimal256(76, 2), utf8, largeUtf8, binary, largeBinary,
  fixed: fixedSizeBinary(2), date32, date64, time32: time32("second"), time64: time64("nanosecond"),
  timestamp: timestamp("microsecond", "Europe/Paris"), duration: duration("millisecond"), list: list(int16),
  largeList: largeList(required(utf8)), pair: fixedSizeList(boolean, 2), struct: struct({ city: utf8, score: int32 }),
  map: map(utf8, decimal128(5, 2)), deep: list(struct({ tags: list(utf8), at: map(utf8, fixedSizeList(int8, 1)) })),
};
const rows: Record<string, Cell>[] = [
  {
    boolean: true, int8: -128, int16: -1, int32: 2147483647, int64: -(2n ** 63n), uint8: 255, uint16: 65535,
    uint32: 4294967295, uint64: 2n ** 64n - 1n, float16: -0.5, float32: 1.5, float64: -0,
    decimal128: "-9999999999999999999999999999.9999999999", decimal256: "1e".slice(0, 1) + "0".repeat(40) + ".25",
    utf8: "Zürich 😀", largeUtf8: "", binary: bytes(0, 255), largeBinary: bytes(), fixed: bytes(1, 2), date32: -1,
    date64: 86_400_000, time32: 1, time64: 5, timestamp: -1, duration: 2n ** 60n, list: [1, null, -3],
    largeList: ["a", ""], pair: [true, null], struct: { city: "x", score: null },
    map: new Map<Cell, Cell>([["k", "1.25"], ["n", null]]),
    deep: [null, { tags: [], at: new Map([["a", [1]]]) }, { tags: [null, "é"], at: new Map() }],
  },
  {},
  { boolean: false, utf8: "plain", int64: 5, list: [], largeList: [], struct: {}, map: new Map(), deep: [], float64: NaN },
  { boolean: true, utf8: "é", binary: bytes(7), list: [9], pair: [false, false], deep: [{ tags: ["t"], at: null }] },
];
const input = () => Table.of(kinds, rows);

/** Rows with all columns. */
function full(rows: readonly Record<string, Cell>[]): Record<string, Cell>[] {
  const structs = (row: Record<string, Cell>) =>
    row["struct"] ? { ...row, struct: { city: null, score: null, ...(row["struct"] as object) } } : row;
  return rows.map((row) => ({ ...Object.fromEntries(Object.keys(kinds).map((name) => [name, null])), ...structs(row) }));
}

test("values of every type are what was put in", () => {
  assert.deepEqual(input().toRows(), full(rows));
});

test("every type is handed on as it is, and cut and reordered", () => {
  const whole = (order: number[] | "accepted" | undefined, rejects: number[] = []) =>
    columns((setup, plan) => {
      const records = plan.output("records");
      const handles = setup.input.map(
        ({ name, type }) => [plan.read(name, any), plan.compute(records, name, kindOf(type))] as const,
      );
      return (batch, outputs) => {
        for (const row of rejects) outputs.reject(row, "bad", "it is bad");
        for (const [read, column] of handles) outputs.set(column, batch.data(read));
        if (order === "accepted") outputs.selectAccepted(records);
      };
    });
  assert.deepEqual(run(whole(undefined), { stage: "migrate", input: input() }).output().toRows(), full(rows));
  for (const left of [[0], [1], [3], [0, 2], [1, 2, 3], [0, 1, 2, 3], [2, 2, 1]]) {
    const result = run(whole("accepted", left), { stage: "normalize", input: input() });
    const kept = [0, 1, 2, 3].filter((row) => !left.includes(row));
    assert.deepEqual(result.output().toRows(), full(rows.filter((_, row) => kept.includes(row))), String(left));
    assert.deepEqual(result.selection(), kept);
  }
});

test("every type is built value by value, and taken back", () => {
  const { arrays, fields } = input();
  fields.forEach(({ name, type }, place) => {
    const kind = kindOf(type);
    const column = Table.of({ [name]: kind }, rows.map((row) => ({ [name]: row[name] ?? null })));
    assert.deepEqual(column.values(name), full(rows).map((row) => row[name]), name);
    assert.ok(kind.accepts(arrays[place]!.type), name);
    assert.equal(arrays[place]!.nullCount, rows.filter((row) => (row[name] ?? null) === null).length, name);
  });
});

test("truncating a builder equals never having pushed", () => {
  for (const { name, type } of input().fields) {
    const values = Array.from({ length: 6 }, (_, i) => full(rows)[i % rows.length]![name] ?? null);
    for (let length = 0; length <= values.length; length++) {
      const cut = kindOf(type).builder(1);
      const fresh = kindOf(type).builder(1);
      const pushed = (of: Cell): unknown => (type.name.startsWith("decimal") && of !== null ? BigInt(1) : raw(of));
      values.forEach((value) => cut.push(pushed(value)));
      cut.truncate(length);
      cut.push(pushed(values[0]!));
      values.slice(0, length).forEach((value) => fresh.push(pushed(value)));
      fresh.push(pushed(values[0]!));
      assert.deepEqual(cut.finish(), fresh.finish(), `${name} cut to ${length}`);
    }
  }
});

/** What builders take: decimals as bigints, maps as entries. */
function raw(value: Cell): unknown {
  if (Array.isArray(value)) return value.map(raw);
  if (value instanceof Map) return [...value].map(([key, of]) => [raw(key), typeof of === "string" ? 125n : raw(of)]);
  if (value instanceof Uint8Array || typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, raw(of)]));
}

test("views of nested columns", () => {
  const table = input();
  const lists = list(int16).view(table.array("list"));
  assert.deepEqual(lists.get(0), { start: 0, end: 3 });
  assert.equal(lists.get(1), null);
  assert.deepEqual([...lists.items], [1, null, -3, 9]);
  const places = struct({ city: utf8, score: int32 }).view(table.array("struct"));
  assert.equal(places.members.city.get(0), "x");
  assert.deepEqual(places.get(0), { city: "x", score: null });
  const maps = map(utf8, decimal128(5, 2)).view(table.array("map"));
  assert.deepEqual([maps.get(0), maps.keys.get(1), maps.values.get(0)], [{ start: 0, end: 2 }, "n", 125n]);
  const pairs = fixedSizeList(boolean, 2).view(table.array("pair"));
  assert.deepEqual([pairs.get(3), pairs.items.get(6)], [{ start: 6, end: 8 }, false]);
});

test("kinds take their own type alone", () => {
  const accepted = Object.keys(kinds).map((name) =>
    Object.keys(kinds).filter((other) => kinds[name]!.accepts(kinds[other]!.type)),
  );
  assert.deepEqual(accepted, Object.keys(kinds).map((name) => [name]));
  assert.ok(timestamp.accepts({ name: "timestamp", unit: "second", zone: null }));
  assert.ok(!timestamp("second").accepts({ name: "timestamp", unit: "second", zone: "UTC" }));
  assert.ok(!struct({ city: utf8 }).accepts(kinds["struct"]!.type));
});

test("values that are not of a column's type are refused", () => {
  for (const [kind, value] of [
    [int8, 128], [int8, 1.5], [uint8, -1], [uint64, -1], [int64, 2n ** 63n], [utf8, 1], [boolean, 1], [float64, "1"],
    [fixedSizeBinary(2), bytes(1)], [decimal128(3, 1), "100.0"], [decimal128(3, 1), 1], [list(int8), [200]],
    [fixedSizeList(int8, 2), [1]], [struct({ a: required(int8) }), {}], [map(utf8, int8), new Map([[null, 1]])],
    [nothing, 0],
  ] as const) {
    assert.throws(() => Table.of({ c: kind }, [{ c: value as Cell }]), TypeError, `${kind.label}: ${String(value)}`);
  }
});
