import assert from "node:assert/strict";
import test from "node:test";
import { decimal128, list, struct, utf8, type Cell } from "gristmill";
import { run, Table } from "gristmill/testing";
import { parseGerman, round } from "../src/money.ts";
import { transform } from "../src/transform.ts";

const kinds = {
  invoice: utf8, issued: utf8, customer: utf8, currency: utf8, vat: utf8,
  lines: list(struct({ sku: utf8, quantity: utf8, price: utf8 })),
};
const good: Record<string, Cell> = {
  invoice: "R-1", issued: "03.02.2025", customer: " Müller GmbH ", currency: "eur", vat: "19 %",
  lines: [{ sku: "A-100", quantity: "2", price: "1.234,50" }, { sku: "B", quantity: "0,333", price: "9,99" }],
};
const normalized = (rows: Record<string, Cell>[]) =>
  run(transform, { stage: "normalize", input: Table.of(kinds, rows) });

test("texts become dates and decimals", () => {
  assert.deepEqual(normalized([good]).output().toRows(), [
    {
      invoice: "R-1", issued: 20122, customer: "Müller GmbH", currency: "EUR", vat_percent: "19.00", net: "2472.33",
      lines: [
        { sku: "A-100", quantity: "2.000", price: "1234.5000" },
        { sku: "B", quantity: "0.333", price: "9.9900" },
      ],
    },
  ]);
});

test("bad invoices are rejected with the column at fault", () => {
  const line = { sku: "A", quantity: "1", price: "1" };
  const result = normalized([
    { ...good, issued: "31.02.2025" },
    { ...good, issued: "2025-02-03" },
    { ...good, currency: "€" },
    { ...good, vat: "many" },
    { ...good, lines: [] },
    { ...good, lines: null },
    { ...good, lines: [line, { ...line, price: "12.34" }] },
    { ...good, lines: [{ ...line, quantity: "0,0001" }] },
    { ...good, lines: [{ ...line, sku: null }] },
    { ...good, lines: [{ ...line, price: "999999999999999,0" }] },
    { ...good, customer: null },
    good,
  ]);
  assert.deepEqual(result.rejectCodes(), [
    [0, "bad-date", "issued"], [1, "bad-date", "issued"], [2, "bad-currency", "currency"], [3, "bad-vat", "vat"],
    [4, "no-lines", "lines"], [5, "no-lines", "lines"], [6, "bad-line", "lines"], [7, "bad-line", "lines"],
    [8, "bad-line", "lines"], [9, "out-of-range", "lines"], [10, "missing-value", "customer"],
  ]);
  assert.deepEqual(result.selection(), [11]);
});

test("invoices and their lines", () => {
  const input = normalized([
    good,
    { ...good, invoice: "R-2", currency: "usd", vat: "0", lines: [{ sku: "C", quantity: "-1", price: "0,125" }] },
    { ...good, invoice: "R-3", currency: "XXX", lines: [{ sku: "D", quantity: "3", price: "10" }] },
  ]).output();
  const table = Table.fromCsv("currency,eur\nEUR,1\nUSD,0.912345\n", { currency: utf8, eur: decimal128(12, 6) });
  const result = run(transform, { stage: "map", input, dictionaries: { rates: { key: "currency", table } } });
  assert.equal(
    result.output("invoices").toString(),
    "invoice | issued | customer | currency | net | vat | gross | gross_eur\n" +
      "R-1 | 20122 | Müller GmbH | EUR | 2472.33 | 469.74 | 2942.07 | 2942.07\n" +
      "R-2 | 20122 | Müller GmbH | USD | -0.13 | 0.00 | -0.13 | -0.12\n" +
      "R-3 | 20122 | Müller GmbH | XXX | 30.00 | 5.70 | 35.70 | null\n",
  );
  assert.equal(
    result.output("invoice_lines").toString(),
    "invoice | position | sku | quantity | price | amount\n" +
      "R-1 | 1 | A-100 | 2.000 | 1234.5000 | 2469.00\nR-1 | 2 | B | 0.333 | 9.9900 | 3.33\n" +
      "R-2 | 1 | C | -1.000 | 0.1250 | -0.13\nR-3 | 1 | D | 3.000 | 10.0000 | 30.00\n",
  );
});

test("German numbers", () => {
  for (const [text, unscaled] of [["1.234,50", 123450n], ["1234,5", 123450n], ["-0,01", -1n], [" 7 ", 700n]] as const) {
    assert.equal(parseGerman(text, 2), unscaled, text);
  }
  for (const text of ["12.34", "1.2345,0", "1,234", "", ",5", "1,", "1e3"]) assert.equal(parseGerman(text, 2), undefined, text);
});

test("halves are rounded away from zero", () => {
  assert.deepEqual([125n, 124n, -125n, -124n, 0n].map((of) => round(of, 3, 2)), [13n, 12n, -13n, -12n, 0n]);
});
