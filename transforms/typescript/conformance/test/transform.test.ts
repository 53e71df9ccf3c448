import assert from "node:assert/strict";
import test from "node:test";
import {
  binary, decimal128, float64, int32, int64, list, required, struct, timestamp, utf8, type Failure,
} from "gristmill";
import { run, Table, type Kinds } from "gristmill/testing";
import { transform } from "../src/transform.ts";

type Rows = Parameters<typeof Table.of>[1];

const codes = {
  codes: {
    key: "code",
    table: Table.fromCsv("code,name,weight\nAT,Austria,9\nDE,,84\nCH,Suisse,\n", { code: utf8, name: utf8, weight: int64 }),
  },
};

function normalized(kinds: Kinds, rows: Rows, config = {}) {
  const input = Table.of({ id: int64, ...kinds }, rows.map((row, id) => ({ id, ...row })));
  return run(transform, { stage: "normalize", input, config, dictionaries: codes });
}

test("texts are folded as bytes", () => {
  const texts = [" Trim ME ", "", "   ", null, "ÉCOLE İ", "\tTab ", "@[`{"];
  const result = normalized({ text: utf8 }, texts.map((text) => ({ text })));
  assert.deepEqual(result.output().values("text"), ["trim me", "", "", null, "École İ", "\ttab", "@[`{"]);
  assert.deepEqual(result.output().values("text_state"), [2, 1, 1, 0, 2, 2, 2]);
});

test("decimals", () => {
  const most = "9999999999999999999999999999.9999999999";
  const result = normalized({ amount: decimal128(38, 10), fee: decimal128(38, 10) }, [
    { amount: "1.5", fee: "2.25" },
    { amount: "-0.0000000001", fee: "0.0000000001" },
    { amount: most, fee: "0.0000000001" },
    { amount: `-${most}`, fee: `-${most}` },
    { amount: null, fee: "1" },
    { amount: "9007199254740993", fee: null },
    { amount: most, fee: `-${most}` },
  ]);
  assert.equal(
    result.output().toString(),
    "id | total | negated | order | amount_text\n" +
      "0 | 3.7500000000 | -1.5000000000 | -1 | 1.5000000000\n" +
      "1 | 0.0000000000 | 0.0000000001 | -1 | -0.0000000001\n" +
      "4 | null | null | null | null\n" +
      "5 | null | -9007199254740993.0000000000 | null | 9007199254740993.0000000000\n" +
      `6 | 0.0000000000 | -${most} | 1 | ${most}\n`,
  );
  assert.deepEqual(result.rejectCodes(), [[2, "overflow", "amount"], [3, "overflow", "amount"]]);
  assert.deepEqual(result.messages, ["2 of 7 rows rejected"]);
});

test("days and times, also before 1970 and beyond what numbers hold", () => {
  const instants = [0, -1, 86_400_000_000, 2n ** 63n - 1n, -(2n ** 63n), null, -86_400_000_000];
  const result = normalized({ at: timestamp("microsecond", "Asia/Tokyo") }, instants.map((at) => ({ at })));
  assert.deepEqual(result.output().values("day"), [0, -1, 1, 106751991, -106751992, null, -1]);
  const times = [0, 86_399_999_999, 0, 14454775807, 71945224192, null, 0];
  assert.deepEqual(result.output().values("time"), times);
});

test("counts wrap or are refused", () => {
  const [most, least] = [2n ** 63n - 1n, -(2n ** 63n)];
  const counts = (config: object) => normalized({ count: int64 }, [most, least, most - 1n, null, 4].map((count) => ({ count })), config);
  const up = counts({});
  assert.deepEqual(up.output().values("next"), [least + 1n, most, null, 5]);
  assert.deepEqual(up.output().values("mixed"), [BigInt.asIntN(64, least * 31n + 7n), BigInt.asIntN(64, (most - 1n) * 31n + 7n), null, 131]);
  assert.deepEqual(up.rejectCodes(), [[0, "overflow", "count"]]);
  assert.deepEqual(counts({ step: -5 }).rejectCodes(), [[1, "overflow", "count"]]);
});

test("floats", () => {
  const ratios = [1.5, -0, NaN, Infinity, -Infinity, null, 5e-324];
  const result = normalized({ ratio: float64 }, ratios.map((ratio) => ({ ratio })));
  assert.deepEqual(result.output().values("half"), [0.75, -0, NaN, Infinity, -Infinity, null, 0]);
  assert.deepEqual(result.output().values("finite"), [true, true, false, false, false, null, true]);
});

test("bytes, lists and structs", () => {
  const place = struct({ city: utf8, score: int32 });
  const visits = list(struct({ page: utf8, seconds: int32 }));
  const result = normalized({ data: binary, numbers: list(int64), place, visits, text: utf8 }, [
    { data: Uint8Array.of(1, 2, 3), numbers: [2n ** 63n - 1n, 1, null], place: { city: "Wien", score: 1 }, visits: [null] },
    { text: "Reject" },
    { data: Uint8Array.of(), numbers: [], place: { city: null, score: 2 }, visits: [] },
    {},
    { data: Uint8Array.of(9, 8), numbers: [null], visits: [{ page: "z", seconds: null }] },
  ]);
  const rows = result.output();
  assert.deepEqual(rows.values("reversed"), [Uint8Array.of(3, 2, 1), Uint8Array.of(), null, Uint8Array.of(8, 9)]);
  assert.deepEqual(rows.values("sum"), [-(2n ** 63n), 0, null, 0]);
  assert.deepEqual(rows.values("city"), ["Wien", null, null, null]);
  assert.deepEqual(rows.values("visits"), [[null], [], null, [{ page: "z", seconds: null }]]);
});

test("look-ups", () => {
  const result = normalized({ code: utf8 }, ["AT", "DE", "CH", "XX", null].map((code) => ({ code })));
  assert.deepEqual(result.output().values("name"), ["Austria", null, "Suisse", null, null]);
  assert.deepEqual(result.output().values("weight"), [9, 84, -1, -1, -1]);
});

test("the first rule that holds rejects a row", () => {
  const most = "9999999999999999999999999999.9999999999";
  const row = { text: "reject", amount: most, fee: most, count: 2n ** 63n - 1n };
  const kinds = { text: utf8, amount: decimal128(38, 10), fee: decimal128(38, 10), count: int64 };
  const result = normalized(kinds, [{ count: row.count }, row, { ...row, text: " " }]);
  assert.deepEqual(result.rejectCodes(), [[0, "overflow", "count"], [1, "refused", "text"], [2, "overflow", "amount"]]);
  assert.deepEqual(result.output().rows, 0);
});

test("texts that ask to raise, to leave and to hoard", () => {
  for (const text of ["raise", "leave"]) {
    const failure = (error: Failure) => error.code === "exception" && error.message.includes(`asked to ${text}`);
    assert.throws(() => normalized({ text: utf8 }, [{ text: ` ${text.toUpperCase()} ` }]), failure);
  }
  assert.equal(normalized({ text: utf8 }, [{ text: "hoard" }]).output().rows, 1);
});

test("plans that fail", () => {
  const code = (expected: string) => (error: Failure) => error.code === expected;
  assert.throws(() => normalized({}, [], { step: "one" }), code("bad-config"));
  assert.throws(() => normalized({}, [], { step: 1001 }), code("bad-config"));
  assert.throws(() => normalized({ text: binary }, []), code("wrong-type"));
  const input = Table.of({ text: utf8 }, []);
  assert.throws(() => run(transform, { stage: "normalize", input }), code("missing-column"));
});

test("migrate gives everything back", () => {
  const rows = [{ id: 1, tags: ["a", null] }, { id: 2, tags: null }];
  const input = Table.of({ id: required(int64), tags: list(utf8) }, rows);
  assert.deepEqual(run(transform, { stage: "migrate", input }).output().toRows(), rows);
});

test("orders and their items", () => {
  const input = Table.of({ id: required(int64), code: utf8, tags: list(utf8), quantity: int32 }, [
    { id: 1, code: "AT", tags: [" A", null], quantity: 2 },
    { id: 2, code: "XX", tags: null, quantity: 1 },
    { id: 3, code: "CH", tags: ["x"], quantity: -1 },
    { id: 4, tags: ["B ", "c"], quantity: 0 },
    { id: 5, tags: ["d", "e"], quantity: null },
    { id: 6, tags: ["f"], quantity: 3 },
  ]);
  const operations = [0, 0, 0, 1, 1, 2];
  const result = run(transform, { stage: "map", input, dictionaries: codes, operations });
  assert.equal(
    result.output("orders").toString(),
    "id | operation | name | tag_count\n6 | 2 | null | 1\n5 | 1 | null | 2\n4 | 1 | null | 2\n" +
      "3 | 0 | Suisse | 1\n2 | 0 | null | null\n1 | 0 | Austria | 2\n",
  );
  assert.equal(
    result.output("items").toString(),
    "id | position | tag | quantity\n1 | 0 | a | 2\n1 | 1 | null | 2\n4 | 0 | b | 0\n4 | 1 | c | 0\n" +
      "5 | 0 | d | null\n5 | 1 | e | null\n6 | 0 | f | 3\n",
  );
  assert.deepEqual(result.operations("items"), [0, 1, 2, 2, 0, 1, 2]);
  assert.deepEqual(result.rejectCodes(), [[2, "negative", "quantity"]]);
});
