// Plans, selections, operations, exceptions and the mistakes that the SDK finds.

import assert from "node:assert/strict";
import test from "node:test";
import {
  any, columns, Failure, int32, int64, Operation, Ranges, Reject, required, Selection, utf8, Validity,
  type Contract, type Output, type Outputs, type Plan, type Setup,
} from "../src/index.ts";
import { ContractError, run, Table } from "../src/testing/index.ts";

const input = Table.of({ n: int64, t: utf8 }, [{ n: 1, t: "a" }, { t: "b" }, { n: 3, t: "c" }]);

/** Forwards `t` and copies `n` of these rows. */
function copying(rows: number[], more: (outputs: Outputs, records: Output) => void = () => {}): Contract {
  return columns((_, plan) => {
    const records = plan.output("records");
    plan.forward(records, "t");
    const read = plan.read("n", int64);
    const copy = plan.compute(records, "n", int64);
    return (batch, outputs) => {
      const column = batch.column(read);
      const builder = copy.builder(rows.length);
      for (const row of rows) builder.push(column.get(row));
      outputs.set(copy, builder);
      outputs.select(records, Selection.from(rows));
      more(outputs, records);
    };
  });
}

const failsWith = (code: string) => (error: unknown) => error instanceof Failure && error.code === code;

function planning(define: (setup: Setup, plan: Plan) => void): Contract {
  return columns((setup, plan) => {
    define(setup, plan);
    return () => {};
  });
}

test("rows are left out, repeated and reordered", () => {
  const result = run(copying([2, 0, 2]), { stage: "map", input, operations: [0, 1, 2] });
  assert.equal(result.output().toString(), "t | n\nc | 3\na | 1\nc | 3\n");
  assert.deepEqual(result.operations(), [2, 0, 2], "each row has its input row's");
});

test("a selection of all rows in place is none", () => {
  const transform = copying([0, 1, 2]);
  const setup = { stage: "map" as const, config: "{}", input: input.toRawFields(), dictionaries: [] };
  const columns = { nodes: [], buffers: [] };
  input.array("n").appendTo(columns);
  const [output] = transform.process(setup, { rows: 3, columns }).outputs;
  assert.deepEqual([output?.selection, output?.rows], [null, 3]);
});

test("operations and messages", () => {
  const transform = copying([0, 1], (outputs, records) => {
    outputs.operations(records, [Operation.delete, Operation.update]);
    outputs.message("two rows");
  });
  const result = run(transform, { stage: "map", input });
  assert.deepEqual(result.operations(), [2, 1]);
  assert.deepEqual(result.messages, ["two rows"]);
});

test("plans that fail", () => {
  for (const [code, define] of [
    ["missing-column", (_, plan) => plan.read("x", int64)],
    ["wrong-type", (_, plan) => plan.read("n", int32)],
    ["missing-dictionary", (_, plan) => plan.lookup("d", "t", "v")],
    ["wrong-stage", (setup) => setup.requireStage("migrate")],
    ["bad-config", (setup) => setup.config({})],
    ["bad-config", (setup) => setup.config({ limit: String })],
    ["bad-config", (setup) => setup.config({ limit: 1, more: Number })],
    [
      "duplicate-column",
      (_, plan) => {
        const output = plan.output("records");
        plan.forward(output, "t");
        plan.compute(output, "t", utf8);
      },
    ],
  ] as [string, (setup: Setup, plan: Plan) => void][]) {
    assert.throws(() => run(planning(define), { stage: "map", input, config: { limit: 5 } }), failsWith(code), code);
  }
});

test("configuration", () => {
  let config: { limit: number; name: string; strict: boolean } | undefined;
  const transform = planning((setup) => (config = setup.config({ limit: Number, name: "none", strict: false })));
  run(transform, { stage: "map", input, config: { limit: 5, strict: true } });
  assert.deepEqual(config, { limit: 5, name: "none", strict: true });
});

test("what is read twice crosses once", () => {
  const transform = planning((_, plan) => {
    const name = plan.lookup("d", "t", "name");
    plan.readLookup(name, utf8);
    plan.readLookup(plan.lookup("d", "t", "name"), utf8);
    plan.read("n", int64);
    plan.read("n", any);
    const output = plan.output("records");
    plan.forwardLookup(output, "name", name);
    plan.forwardOperation(output, "operation");
    assert.deepEqual([plan.reads.length, plan.lookups.length], [2, 1]);
  });
  const table = Table.of({ t: utf8, name: utf8 }, [{ t: "c", name: "C" }, { t: "a", name: "A" }]);
  const result = run(transform, { stage: "map", input, dictionaries: { d: { key: "t", table } } });
  assert.equal(result.output().toString(), "name | operation\nA | 0\nnull | 0\nC | 0\n");
});

test("a rejected row may not be selected by normalize", () => {
  const transform = copying([0, 1, 2], (outputs) => outputs.reject(1, "bad", "it is bad", "n"));
  assert.throws(() => run(transform, { stage: "normalize", input }), ContractError);
  assert.deepEqual(run(transform, { stage: "map", input }).rejectCodes(), [[1, "bad", "n"]]);
});

test("accepted rows are cut out of whole columns", () => {
  const transform = columns((_, plan) => {
    const records = plan.output("records");
    const read = plan.read("t", utf8);
    const text = plan.compute(records, "t", utf8);
    const place = plan.compute(records, "place", required(int32));
    return (batch, outputs) => {
      outputs.reject(1, "bad", "it is bad");
      outputs.set(text, batch.column(read).ranges().upperAscii());
      outputs.set(place, Int32Array.of(10, 11, 12));
      outputs.operations(records, [2, 1, 0]);
      outputs.selectAccepted(records);
    };
  });
  const result = run(transform, { stage: "normalize", input });
  assert.equal(result.output().toString(), "t | place\nA | 10\nC | 12\n");
  assert.deepEqual([result.selection(), result.operations()], [[0, 2], [2, 0]]);
});

test("mistakes with outputs are exceptions that name the column", () => {
  const computing = (act: (outputs: Outputs, column: Parameters<Outputs["set"]>[0]) => void) =>
    columns((_, plan) => {
      const column = plan.computeRequired(plan.output("records"), "n", int32);
      return (_, outputs) => act(outputs, column as never);
    });
  for (const [message, act] of [
    [/column `n` of output `records` was not set/, () => {}],
    [/has 2 values, not 3/, (outputs, column) => outputs.set(column, new Int32Array(2))],
    [/is required but holds nulls/, (outputs, column) => outputs.set(column, new Int32Array(3), Uint8Array.of(1, 0, 1))],
    [/3 values, but a validity of 2/, (outputs, column) => outputs.set(column, new Int32Array(3), Uint8Array.of(1, 0))],
    [
      /2 operations, not 3/,
      (outputs, column) => {
        outputs.set(column, new Int32Array(3));
        outputs.operations(column.output, [0, 1]);
      },
    ],
  ] as [RegExp, (outputs: Outputs, column: Parameters<Outputs["set"]>[0]) => void][]) {
    assert.throws(
      () => run(computing(act), { stage: "map", input }),
      (error: Failure) => error.code === "exception" && message.test(error.message),
      String(message),
    );
  }
});

test("an exception says what and where, and no value", () => {
  const throwing = (thrown: () => unknown) =>
    columns(() => function processing() {
      throw thrown();
    });
  const message = (thrown: () => unknown) => {
    try {
      run(throwing(thrown), { stage: "map", input });
    } catch (error) {
      assert.ok(failsWith("exception")(error));
      return (error as Failure).message;
    }
    return undefined;
  };
  assert.match(message(() => new Error("no rate"))!, /^Error: no rate \(in .*processing/);
  assert.match(message(() => new TypeError("x is not a function"))!, /^TypeError: x is not a function/);
  const parse = () => {
    try {
      return JSON.parse("secret");
    } catch (error) {
      return error;
    }
  };
  assert.ok(!message(parse)!.includes("secret"));
  assert.ok(message(parse)!.startsWith("SyntaxError"));
  assert.equal(message(() => "secret"), "something that is no Error was thrown");
  assert.match(message(() => new Reject("bad", "it is bad"))!, /outputs\.reject/);
  assert.throws(() => run(throwing(() => new Failure("no-luck", "none")), { stage: "map", input }), failsWith("no-luck"));
});

test("a batch that is not what the plan reads", () => {
  const transform = copying([0]);
  const setup = { stage: "map" as const, config: "{}", input: input.toRawFields(), dictionaries: [] };
  const whole = { nodes: [], buffers: [] as Uint8Array[] };
  input.array("n").appendTo(whole);
  const code = (batch: Parameters<Contract["process"]>[1]) => {
    try {
      transform.process(setup, batch);
    } catch (failure) {
      return (failure as { code: string }).code;
    }
    return undefined;
  };
  assert.equal(code({ rows: 3, columns: { nodes: [], buffers: [] } }), "bad-batch");
  assert.equal(code({ rows: 4, columns: whole }), "bad-batch");
  assert.equal(code({ rows: 3, columns: { ...whole, buffers: whole.buffers.map((b) => b.subarray(1)) } }), "bad-batch");
  assert.equal(code({ rows: 3, columns: { ...whole, buffers: [...whole.buffers, new Uint8Array()] } }), "bad-batch");
  assert.equal(code({ rows: 3, columns: whole }), undefined);
});

test("ranges are cut, folded, compared and gathered", () => {
  const table = Table.of({ t: utf8 }, ["  A b ", null, "", "É A ", "x", "  "].map((t) => ({ t })));
  const ranges = utf8.view(table.array("t")).ranges().trimSpaces();
  const folded = ranges.lowerAscii();
  assert.deepEqual([...utf8.view(folded.toArray({ name: "utf8" }))], ["a b", null, "", "É a", "x", ""]);
  assert.deepEqual([...utf8.view(ranges.toArray({ name: "utf8" }))], ["A b", null, "", "É A", "x", ""]);
  assert.deepEqual(folded.placesOf("x"), [4]);
  assert.deepEqual(folded.placesOf(""), [2, 5]);
  assert.deepEqual(folded.placesOfEach(["", "x", "no such text"]), [[2, 5], [4], []]);
  assert.deepEqual([folded.text(3), folded.text(1)], ["É a", null]);
  const twice = new Ranges(ranges.bytes, Int32Array.of(2, 2, 0), Int32Array.of(5, 3, 0), Validity.all(3));
  assert.deepEqual([...utf8.view(twice.toArray({ name: "large-utf8" }))], ["A b", "A", ""]);
});

test("selections", () => {
  const selection = new Selection(0);
  for (let row = 0; row < 100; row++) selection.push(row * 2);
  assert.deepEqual([selection.length, selection.rows[99]], [100, 198]);
  selection.truncate(2);
  assert.deepEqual([...selection.rows], [0, 2]);
  assert.deepEqual(Selection.from([4, 5, 6, 1, 2, 2]).runs(), { starts: [4, 1, 2], ends: [7, 3, 3], length: 6 });
  assert.deepEqual([...Selection.allBut(6, [0, 3, 3, 5]).rows], [1, 2, 4]);
  assert.ok(Selection.from([0, 1]).isAll(2) && !Selection.from([1, 0]).isAll(2) && !Selection.from([0]).isAll(2));
});

test("validity", () => {
  for (const length of [0, 1, 7, 8, 9, 30]) {
    const nulls = Array.from({ length }, (_, i) => i).filter((i) => i % 3 === 1);
    const validity = Validity.fromNulls(nulls, length);
    const flags = Uint8Array.from({ length }, (_, i) => (i % 3 === 1 ? 0 : 1));
    assert.deepEqual(validity.flags(), flags);
    assert.deepEqual(Validity.fromFlags(flags), validity);
    const other = Validity.fromNulls([...Array(length).keys()].filter((i) => i % 2 === 0), length);
    const both = validity.and(other);
    assert.deepEqual(both.flags(), flags.map((flag, i) => flag & (i % 2)));
    assert.equal(both.nullCount, both.flags().filter((flag) => flag === 0).length);
  }
});
