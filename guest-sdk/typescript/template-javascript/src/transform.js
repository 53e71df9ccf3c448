// Orders as a shop exports them, to typed records.

import { columns, int64, utf8 } from "gristmill";

export const transform = columns((setup, plan) => {
  // What is read, computed and passed on. `order_id` is forwarded: its values never enter the component.
  setup.requireStage("{{stage}}");
  const records = plan.output("records");
  plan.forward(records, "order_id");
  const price = plan.read("price", utf8);
  const customer = plan.read("customer", utf8);
  const name = plan.compute(records, "customer", utf8);
  const cents = plan.computeRequired(records, "cents", int64);

  // One batch. Columns have a value for each input row; those of rejected rows are left out at the end.
  return (batch, outputs) => {
    const prices = batch.column(price);
    const values = new Float64Array(batch.rows);
    for (let row = 0; row < batch.rows; row++) {
      const value = toCents(prices.get(row));
      if (value === undefined) outputs.reject(row, "bad-price", "not a price in dollars and cents", "price");
      else values[row] = value;
    }
    outputs.set(name, batch.column(customer).ranges().trimSpaces());
    outputs.set(cents, values);
    outputs.selectAccepted(records);
  };
});

/**
 * `$12.50` as 1250.
 *
 * @param {string | null} price
 * @returns {number | undefined}
 */
function toCents(price) {
  const match = /^\$(\d{1,13})\.(\d\d)$/.exec(price ?? "");
  return match === null ? undefined : Number(match[1]) * 100 + Number(match[2]);
}
