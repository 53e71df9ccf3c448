import assert from "node:assert/strict";
import test from "node:test";
import { int64, utf8 } from "gristmill";
import { run, Table } from "gristmill/testing";
import { transform } from "../src/transform.js";

test("prices become cents, and bad ones are rejected", () => {
  const orders = "order_id,customer,price\n1, Ada ,$19.90\n2,Grace,free\n";
  const input = Table.fromCsv(orders, { order_id: int64, customer: utf8, price: utf8 });
  const result = run(transform, { stage: "{{stage}}", input });
  assert.deepEqual(result.output("records").toRows(), [{ order_id: 1, customer: "Ada", cents: 1990 }]);
  assert.deepEqual(result.rejectCodes(), [[1, "bad-price", "price"]]);
});
