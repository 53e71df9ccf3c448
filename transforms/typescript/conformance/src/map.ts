// Stage map: orders, last first, and their items.

import {
  int32, int64, list, Operation, Ranges, Selection, utf8, Validity, type Plan, type Process, type Setup,
} from "gristmill";
import { need } from "./input.ts";

export function planMap(setup: Setup, plan: Plan): Process {
  need(setup, "id", int64);
  need(setup, "code", utf8);
  const name = plan.lookup("codes", "code", "name");
  const orders = plan.output("orders");
  plan.forward(orders, "id");
  plan.forwardOperation(orders, "operation");
  plan.forwardLookup(orders, "name", name);
  const tagCount = plan.compute(orders, "tag_count", int32);
  const items = plan.output("items");
  plan.forward(items, "id");
  const position = plan.computeRequired(items, "position", int32);
  const tag = plan.compute(items, "tag", utf8);
  plan.forward(items, "quantity");
  const readTags = plan.read("tags", list(utf8));
  const readQuantity = plan.read("quantity", int32);
  const readOperation = plan.readOperation();

  return (batch, outputs) => {
    const { rows } = batch;
    const tags = batch.column(readTags);
    const { offsets } = tags;
    const counts = new Int32Array(rows);
    const lastFirst = new Uint32Array(rows);
    for (let row = rows - 1, place = 0; row >= 0; row--, place++) {
      lastFirst[place] = row;
      counts[place] = offsets[row + 1]! - offsets[row]!;
    }
    const hasTags = tags.validity.flags();
    outputs.set(tagCount, counts, hasTags.slice().reverse());
    outputs.select(orders, Selection.from(lastFirst));

    const quantities = batch.column(readQuantity);
    const hasQuantity = quantities.validity.flags();
    const operations = batch.column(readOperation).values;
    const folded = tags.items.ranges().trimSpaces().lowerAscii();
    const isTag = folded.validity.flags();
    const length = folded.length;
    // Of each item: input row, place, operation, text.
    const selected = new Uint32Array(length);
    const positions = new Int32Array(length);
    const ofItem = new Uint8Array(length);
    const starts = new Int32Array(length);
    const ends = new Int32Array(length);
    const valid = new Uint8Array(length);
    let count = 0;
    for (let row = 0; row < rows; row++) {
      const quantity = hasQuantity[row] === 1 ? quantities.values[row] : undefined;
      if (quantity !== undefined && quantity < 0) {
        outputs.reject(row, "negative", "the quantity is negative", "quantity");
        continue;
      }
      if (hasTags[row] === 0) continue;
      const deleted = operations[row] === Operation.delete || quantity === 0;
      const first = offsets[row]!;
      for (let item = first, end = offsets[row + 1]!; item < end; item++) {
        selected[count] = row;
        positions[count] = item - first;
        ofItem[count] = deleted ? Operation.delete : item === first ? Operation.insert : Operation.update;
        starts[count] = folded.starts[item]!;
        ends[count] = folded.ends[item]!;
        valid[count] = isTag[item]!;
        count++;
      }
    }
    const validity = Validity.fromFlags(valid.subarray(0, count));
    outputs.set(position, positions.subarray(0, count));
    outputs.set(tag, new Ranges(folded.bytes, starts.subarray(0, count), ends.subarray(0, count), validity));
    outputs.select(items, Selection.from(selected.subarray(0, count)));
    outputs.operations(items, ofItem.subarray(0, count));
  };
}
