// Stage map, by columns: an invoice is a row of `invoices`, and each of its lines a row of `invoice_lines`.

import { columns, decimal128, int32, Selection, utf8 } from "gristmill";
import { AMOUNT, PERCENT, PRICE, QUANTITY, RATE, round } from "./money.ts";
import { LINES } from "./normalize.ts";

const MONEY = decimal128(18, AMOUNT);

export const map = columns((setup, plan) => {
  setup.requireStage("map");
  const readNet = plan.read("net", MONEY);
  const readVat = plan.read("vat_percent", decimal128(5, PERCENT));
  const readLines = plan.read("lines", LINES);
  const readRate = plan.readLookup(plan.lookup("rates", "currency", "eur"), decimal128(12, RATE));

  const invoices = plan.output("invoices");
  for (const column of ["invoice", "issued", "customer", "currency", "net"]) plan.forward(invoices, column);
  const vat = plan.computeRequired(invoices, "vat", MONEY);
  const gross = plan.computeRequired(invoices, "gross", MONEY);
  const grossEur = plan.compute(invoices, "gross_eur", MONEY);

  const lines = plan.output("invoice_lines");
  plan.forward(lines, "invoice");
  const position = plan.computeRequired(lines, "position", int32);
  const sku = plan.computeRequired(lines, "sku", utf8);
  const quantity = plan.computeRequired(lines, "quantity", decimal128(12, QUANTITY));
  const price = plan.computeRequired(lines, "price", decimal128(18, PRICE));
  const amount = plan.computeRequired(lines, "amount", MONEY);

  return (batch, outputs) => {
    const [nets, percents, rates] = [batch.column(readNet), batch.column(readVat), batch.column(readRate)];
    const [vats, grosses, inEur] = [vat.builder(batch.rows), gross.builder(batch.rows), grossEur.builder(batch.rows)];
    for (let row = 0; row < batch.rows; row++) {
      const net = nets.get(row) ?? 0n;
      const tax = round(net * (percents.get(row) ?? 0n), AMOUNT + PERCENT + 2, AMOUNT);
      const rate = rates.get(row);
      vats.push(tax);
      grosses.push(net + tax);
      inEur.push(rate === null ? null : round((net + tax) * rate, AMOUNT + RATE, AMOUNT));
    }
    outputs.set(vat, vats);
    outputs.set(gross, grosses);
    outputs.set(grossEur, inEur);

    // The lines of all invoices lie one after the other: a line's columns are those of the items as they are.
    const { offsets, items, length } = batch.column(readLines);
    const { members } = items;
    const selection = new Selection(items.length);
    const positions = position.builder(items.length);
    const amounts = amount.builder(items.length);
    for (let row = 0; row < length; row++) {
      const first = offsets[row]!;
      for (let item = first; item < offsets[row + 1]!; item++) {
        selection.push(row);
        positions.push(item - first + 1);
        amounts.push(round((members.quantity.get(item) ?? 0n) * (members.price.get(item) ?? 0n), QUANTITY + PRICE, AMOUNT));
      }
    }
    outputs.select(lines, selection);
    outputs.set(position, positions);
    outputs.set(amount, amounts);
    outputs.set(sku, members.sku.data);
    outputs.set(quantity, members.quantity.data);
    outputs.set(price, members.price.data);
  };
});
