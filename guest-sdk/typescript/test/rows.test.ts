import assert from "node:assert/strict";
import test from "node:test";
import {
  binary, boolean, date32, decimal128, Failure, float64, int16, int64, list, Operation, Reject, required, rows, struct,
  utf8, type Output, type ProcessRow,
} from "../src/index.ts";
import { run, Table } from "../src/testing/index.ts";

const kinds = {
  n: int64, t: utf8, f: float64, d: decimal128(10, 2), b: boolean, x: binary, day: date32, tags: list(utf8),
  place: struct({ city: utf8 }),
};
const input = Table.of(kinds, [
  { n: 1, t: "a", f: 0.5, d: "12.50", b: true, x: Uint8Array.of(1), day: 9, tags: ["p"], place: { city: "Bern" } },
  {},
  { n: 2n ** 60n, t: "c", d: "-0.01" },
]);

/** Reads all columns, and computes some. */
function transform(define: (records: Output) => ProcessRow) {
  return rows((_, plan) => {
    for (const [name, kind] of Object.entries(kinds)) plan.read(name, kind as typeof int64);
    const records = plan.output("records");
    plan.compute(records, "n", int16);
    plan.compute(records, "d", decimal128(5, 2));
    plan.compute(records, "tags", list(utf8));
    plan.compute(records, "t", required(utf8));
    return define(records);
  });
}

test("cells of every sort", () => {
  const seen: unknown[] = [];
  const read = transform(() => (row) => {
    if (row.index === 0) {
      seen.push(row.number("n"), row.bigint("n"), row.text("t"), row.number("f"), row.get("d"), row.bigint("d"));
      seen.push(row.boolean("b"), row.bytes("x"), row.number("day"), row.get("tags"), row.get("place"));
    } else if (row.index === 1) {
      seen.push(row.textOrNull("t"), row.numberOrNull("n"), row.bigintOrNull("d"), row.isNull("f"), row.get("place"));
    } else {
      seen.push(row.get("n"), row.bigint("d"));
    }
  });
  const result = run(read, { stage: "map", input });
  assert.equal(result.output().rows, 0);
  assert.deepEqual(seen, [
    1, 1n, "a", 0.5, "12.50", 1250n, true, Uint8Array.of(1), 9, ["p"], { city: "Bern" },
    null, null, null, true, null,
    2n ** 60n, -1n,
  ]);
});

test("bad rows are rejected, and what was written for them is taken back", () => {
  const write = transform((records) => (row, out) => {
    out.add(records, { t: `first of ${row.index}`, n: row.index, tags: [] });
    out.add(records, { t: row.text("t"), d: row.bigint("d") });
  });
  const result = run(write, { stage: "normalize", input });
  assert.deepEqual(result.rejectCodes(), [[1, "missing-value", "t"]]);
  assert.equal(
    result.output().toString(),
    "n | d | tags | t\n0 | null | [] | first of 0\nnull | 12.50 | null | a\n" +
      "2 | null | [] | first of 2\nnull | -0.01 | null | c\n",
  );
  assert.deepEqual(result.selection(), [0, 0, 2, 2]);
});

test("what does not fit is rejected by name", () => {
  for (const [code, field, cells] of [
    ["out-of-range", "n", { t: "", n: 40_000 }],
    ["out-of-range", "n", { t: "", n: 1.5 }],
    ["wrong-type", "n", { t: "", n: "1" }],
    ["out-of-range", "d", { t: "", d: "1000.00" }],
    ["out-of-range", "d", { t: "", d: "1.005" }],
    ["wrong-type", "d", { t: "", d: 1.5 }],
    ["wrong-type", "tags", { t: "", tags: [1] }],
    ["missing-value", "t", { n: 1 }],
    ["missing-value", "t", { t: null }],
    ["wrong-type", "other", { t: "", other: 1 }],
  ] as const) {
    const write = transform((records) => (_, out) => out.add(records, cells));
    const result = run(write, { stage: "normalize", input });
    assert.deepEqual(result.rejectCodes()[0], [0, code, field]);
    assert.equal(result.output().rows, 0);
  }
});

test("getters of another sort are rejected by name", () => {
  const getters: [string, string, ProcessRow][] = [
    ["wrong-type", "n", (row) => row.text("n")],
    ["wrong-type", "t", (row) => row.number("t")],
    ["wrong-type", "f", (row) => row.bigint("f")],
    ["wrong-type", "t", (row) => row.boolean("t")],
    ["wrong-type", "t", (row) => row.bytes("t")],
    ["wrong-type", "other", (row) => row.get("other")],
  ];
  for (const [code, field, get] of getters) {
    assert.deepEqual(run(transform(() => get), { stage: "normalize", input }).rejectCodes()[0], [0, code, field]);
  }
  const wide = run(transform(() => (row) => row.numberOrNull("n")), { stage: "normalize", input });
  assert.deepEqual(wide.rejectCodes(), [[2, "wrong-type", "n"]], "beyond 2^53 a number is not trusted");
});

test("operations are given for all rows or none", () => {
  const write = (given: (index: number) => boolean) =>
    transform((records) => (row, out) => out.add(records, { t: "" }, given(row.index) ? Operation.update : undefined));
  assert.deepEqual(run(write(() => true), { stage: "map", input }).operations(), [1, 1, 1]);
  assert.deepEqual(run(write(() => false), { stage: "map", input, operations: [2, 0, 1] }).operations(), [2, 0, 1]);
  for (const odd of [0, 1]) {
    const result = run(write((index) => index === odd), { stage: "map", input });
    const rejected = odd === 0 ? [1, 2] : [1];
    assert.deepEqual(result.rejectCodes(), rejected.map((row) => [row, "mixed-operations", null]));
  }
});

test("rejects, failures and exceptions", () => {
  const throwing = (thrown: unknown) => transform(() => () => {
    throw thrown;
  });
  const result = run(throwing(new Reject("bad", "it is bad", "t")), { stage: "normalize", input });
  assert.deepEqual(result.rejectCodes(), [[0, "bad", "t"], [1, "bad", "t"], [2, "bad", "t"]]);
  const code = (expected: string) => (error: Failure) => error.code === expected;
  assert.throws(() => run(throwing(new Failure("no-luck", "none")), { stage: "map", input }), code("no-luck"));
  assert.throws(() => run(throwing(new Error("bug")), { stage: "map", input }), code("exception"));
});

test("look-ups are read as dictionary.column", () => {
  const named = rows((_, plan) => {
    plan.readLookup(plan.lookup("names", "t", "name"), utf8);
    plan.readOperation();
    const records = plan.output("records");
    plan.compute(records, "name", utf8);
    return (row, out) => {
      out.add(records, { name: `${row.textOrNull("names.name")} ${row.number("operation")}` });
    };
  });
  const table = Table.of({ key: utf8, name: utf8 }, [{ key: "a", name: "Ann" }]);
  const result = run(named, { stage: "map", input, dictionaries: { names: { key: "key", table } } });
  assert.deepEqual(result.output().values("name"), ["Ann 0", "null 0", "null 0"]);
});
