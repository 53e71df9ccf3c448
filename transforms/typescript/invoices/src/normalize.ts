// Stage normalize, row by row: texts to dates and decimals.

import { date32, decimal128, list, Reject, required, rows, struct, utf8, type Cell } from "gristmill";
import { AMOUNT, parseGerman, PERCENT, PRICE, QUANTITY, round } from "./money.ts";

const RAW_LINES = list(struct({ sku: utf8, quantity: utf8, price: utf8 }));
export const LINES = list(
  required(
    struct({ sku: required(utf8), quantity: required(decimal128(12, QUANTITY)), price: required(decimal128(18, PRICE)) }),
  ),
);

export const normalize = rows((setup, plan) => {
  setup.requireStage("normalize");
  plan.read("issued", utf8);
  plan.read("customer", utf8);
  plan.read("currency", utf8);
  plan.read("vat", utf8);
  plan.read("lines", RAW_LINES);
  const records = plan.output("records");
  plan.forward(records, "invoice");
  plan.computeRequired(records, "issued", date32);
  plan.computeRequired(records, "customer", utf8);
  plan.computeRequired(records, "currency", utf8);
  plan.computeRequired(records, "vat_percent", decimal128(5, PERCENT));
  plan.computeRequired(records, "net", decimal128(18, AMOUNT));
  plan.computeRequired(records, "lines", LINES);

  return (row, out) => {
    const issued = daysOf(row.text("issued"));
    if (issued === undefined) throw new Reject("bad-date", "not a date as DD.MM.YYYY", "issued");
    const currency = row.text("currency").trim().toUpperCase();
    if (!/^[A-Z]{3}$/.test(currency)) throw new Reject("bad-currency", "not a currency code of three letters", "currency");
    const vat = parseGerman(row.text("vat").replace(/\s*%$/, ""), PERCENT);
    if (vat === undefined) throw new Reject("bad-vat", "not a percentage", "vat");
    const lines = ((row.get("lines") ?? []) as (RawLine | null)[]).map(toLine);
    if (lines.length === 0) throw new Reject("no-lines", "the invoice has no lines", "lines");
    const net = lines.reduce((sum, { quantity, price }) => sum + round(quantity * price, QUANTITY + PRICE, AMOUNT), 0n);
    out.add(records, { issued, customer: row.text("customer").trim(), currency, vat_percent: vat, net, lines });
  };
});

type RawLine = { readonly [member in "sku" | "quantity" | "price"]: Cell };

function toLine(line: RawLine | null): { sku: string; quantity: bigint; price: bigint } {
  const { sku, quantity, price } = line ?? { sku: null, quantity: null, price: null };
  if (typeof sku !== "string" || typeof quantity !== "string" || typeof price !== "string") {
    throw new Reject("bad-line", "a line lacks its article, quantity or price", "lines");
  }
  const of = { sku: sku.trim(), quantity: parseGerman(quantity, QUANTITY), price: parseGerman(price, PRICE) };
  if (of.quantity === undefined) throw new Reject("bad-line", "a quantity is no number of three decimals", "lines");
  if (of.price === undefined) throw new Reject("bad-line", "a price is no number of four decimals", "lines");
  return of as { sku: string; quantity: bigint; price: bigint };
}

/** Days since 1970-01-01 of a date as DD.MM.YYYY. */
function daysOf(text: string): number | undefined {
  const match = /^(\d{2})\.(\d{2})\.(\d{4})$/.exec(text.trim());
  if (match === null) return undefined;
  const [day, month, year] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCDate() === day && date.getUTCMonth() === month - 1 ? date.getTime() / 86_400_000 : undefined;
}
