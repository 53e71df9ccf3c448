import { columns, int64, utf8 } from "gristmill";

export const transform = columns((setup, plan) => {
  setup.requireStage("normalize");
  const records = plan.output("records");
  plan.forward(records, "id");
  const name = plan.read("name", utf8);
  const amount = plan.read("amount", int64);
  const text = plan.compute(records, "name", utf8);
  const next = plan.computeRequired(records, "amount", int64);
  return (batch, outputs) => {
    const folded = batch.column(name).ranges().trimSpaces().lowerAscii();
    const amounts = batch.column(amount);
    const values = amounts.numbers();
    for (let row = 0; row < batch.rows; row++) {
      if (Number.isNaN(values[row]!)) outputs.reject(row, "null", "null", "amount");
      else values[row]! *= 3;
    }
    outputs.set(text, folded);
    outputs.set(next, values);
    outputs.selectAccepted(records);
  };
});
