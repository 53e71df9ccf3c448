// Stage normalize: of the output's columns those whose inputs are there.
//
// Each column is made for all rows at once, also for those that are rejected: the SDK leaves these out at the end.

import {
  ArrayData, binary, boolean, date32, decimal128, Failure, float64, formatDecimal, int32, int64, int8, list, Ranges,
  struct, time64, timestamp, uint8, utf8,
  type Batch, type DataType, type Output, type Outputs, type Plan, type Process, type Setup,
} from "gristmill";
import { has, need } from "./input.ts";

const DECIMAL = decimal128(38, 10);
const DECIMAL_END = 10n ** 38n;
const DECIMAL_START = -DECIMAL_END;
const MICROS_PER_DAY = 86_400_000_000;
const WIDE_DAY = BigInt(MICROS_PER_DAY);
const LAST = 2n ** 63n - 1n;
/** The high word of the largest numbers of 64 bits; inverted, that of the smallest. */
const HIGHEST = 0x7fffffff;
const MICROS = { accepts: (type: DataType) => type.name === "timestamp" && type.unit === "microsecond" };

/** Computes some of the columns of a batch, and refuses rows. */
type Part = (batch: Batch, outputs: Outputs, refused: Refused) => void;

interface Rule {
  readonly code: string;
  readonly field: string;
  readonly message: string;
}

/** In the order in which they apply to a row. */
const RULES: readonly Rule[] = [
  { code: "refused", field: "text", message: "the text asks to be refused" },
  { code: "overflow", field: "amount", message: "the total has more than 38 digits" },
  { code: "overflow", field: "count", message: "the next count does not fit int64" },
];
const [ASKED, WIDE_TOTAL, WIDE_COUNT] = [0, 1, 2];

/** The rows that are refused. */
class Refused {
  /** The rule for each row, counted from 1; 0: it is accepted. */
  readonly #rules: Uint8Array;

  constructor(rows: number) {
    this.#rules = new Uint8Array(rows);
  }

  /** The first rule that holds for a row counts. */
  add(row: number, rule: number): void {
    if (this.#rules[row] === 0) this.#rules[row] = rule + 1;
  }

  /** Rejects them, in the order of the rows. */
  reject(outputs: Outputs): void {
    const rules = this.#rules;
    for (let row = 0, rows = rules.length; row < rows; row++) {
      if (rules[row] === 0) continue;
      const { code, message, field } = RULES[rules[row]! - 1]!;
      outputs.reject(row, code, message, field);
    }
  }
}

export function planNormalize(setup: Setup, plan: Plan): Process {
  const { step = 1 } = setup.configObject();
  if (typeof step !== "number" || !Number.isInteger(step) || step < -1000 || step > 1000) {
    throw new Failure("bad-config", "step must be a whole number from -1000 to 1000");
  }
  need(setup, "id", int64);
  const records = plan.output("records");
  plan.forward(records, "id");
  const parts: Part[] = [];
  if (has(setup, "code", utf8)) parts.push(weights(plan, records));
  if (has(setup, "text", utf8)) parts.push(texts(plan, records));
  const both = [has(setup, "amount", DECIMAL), has(setup, "fee", DECIMAL)];
  if (both[0] && both[1]) parts.push(decimals(plan, records));
  if (has(setup, "at", MICROS)) parts.push(times(plan, records));
  if (has(setup, "count", int64)) parts.push(counts(plan, records, BigInt(step)));
  if (has(setup, "ratio", float64)) parts.push(ratios(plan, records));
  if (has(setup, "data", binary)) parts.push(reversals(plan, records));
  if (has(setup, "numbers", list(int64))) parts.push(sums(plan, records));
  if (has(setup, "place", PLACE)) parts.push(cities(plan, records));
  if (has(setup, "visits", VISITS)) parts.push(visits(plan, records));

  return (batch, outputs) => {
    const refused = new Refused(batch.rows);
    for (const part of parts) part(batch, outputs, refused);
    refused.reject(outputs);
    if (outputs.rejected > 0) outputs.message(`${outputs.rejected} of ${batch.rows} rows rejected`);
    outputs.selectAccepted(records);
  };
}

function weights(plan: Plan, records: Output): Part {
  plan.forwardLookup(records, "name", plan.lookup("codes", "code", "name"));
  const read = plan.readLookup(plan.lookup("codes", "code", "weight"), int64);
  const weight = plan.computeRequired(records, "weight", int64);
  return (batch, outputs) => {
    const column = batch.column(read);
    const values = column.values.slice();
    const flags = column.validity.flags();
    for (let row = flags.indexOf(0); row >= 0; row = flags.indexOf(0, row + 1)) values[row] = -1n;
    outputs.set(weight, values);
  };
}

const MIB = 1 << 20;

/** What rows that ask for it keep of the instance's memory. */
const hoarded: Uint8Array[] = [];

function texts(plan: Plan, records: Output): Part {
  const read = plan.read("text", utf8);
  const text = plan.compute(records, "text", utf8);
  const state = plan.computeRequired(records, "text_state", uint8);
  return (batch, outputs, refused) => {
    const folded = batch.column(read).ranges().trimSpaces().lowerAscii();
    const { starts, ends } = folded;
    const [raises, leaves, hoards, rejects] = folded.placesOfEach(["raise", "leave", "hoard", "reject"]);
    if (raises!.length > 0) throw new Error("asked to raise");
    // There is no process that could end.
    if (leaves!.length > 0) throw new Error("asked to leave");
    hoards!.forEach(() => hoarded.push(new Uint8Array(MIB).fill(1)));
    for (const row of rejects!) refused.add(row, ASKED);
    const states = new Uint8Array(batch.rows).fill(2);
    for (let row = 0, { length } = states; row < length; row++) if (starts[row] === ends[row]) states[row] = 1;
    const flags = folded.validity.flags();
    for (let row = flags.indexOf(0); row >= 0; row = flags.indexOf(0, row + 1)) states[row] = 0;
    outputs.set(text, folded);
    outputs.set(state, states);
  };
}

function decimals(plan: Plan, records: Output): Part {
  const readAmount = plan.read("amount", DECIMAL);
  const readFee = plan.read("fee", DECIMAL);
  const total = plan.compute(records, "total", DECIMAL);
  const negated = plan.compute(records, "negated", DECIMAL);
  const order = plan.compute(records, "order", int8);
  const amountText = plan.compute(records, "amount_text", utf8);
  return (batch, outputs, refused) => {
    const { rows } = batch;
    const [amounts, fees] = [batch.column(readAmount), batch.column(readFee)];
    const [totals, negatives] = [total.builder(rows), negated.builder(rows)];
    const orders = new Int8Array(rows);
    const lines = new Array<string | null>(rows).fill(null);
    for (let row = 0; row < rows; row++) {
      const amount = amounts.get(row);
      const fee = fees.get(row);
      if (amount !== null) lines[row] = formatDecimal(amount, 10);
      negatives.push(amount === null ? null : -amount);
      if (amount === null || fee === null) {
        totals.push(null);
        continue;
      }
      const sum = amount + fee;
      totals.push(sum);
      if (amount !== fee) orders[row] = amount < fee ? -1 : 1;
      if (sum >= DECIMAL_END || sum <= DECIMAL_START) {
        refused.add(row, WIDE_TOTAL);
      }
    }
    outputs.set(total, totals);
    outputs.set(negated, negatives);
    outputs.set(order, orders, amounts.validity.and(fees.validity));
    outputs.set(amountText, lines);
  };
}

function times(plan: Plan, records: Output): Part {
  const read = plan.read("at", timestamp);
  const day = plan.compute(records, "day", date32);
  const time = plan.compute(records, "time", time64("microsecond"));
  return (batch, outputs) => {
    const column = batch.column(read);
    const times = column.numbers();
    const days = new Int32Array(times.length);
    for (let row = 0; row < times.length; row++) {
      const at = times[row]!;
      let day = (at / MICROS_PER_DAY) | 0;
      let rest = at - day * MICROS_PER_DAY;
      if (rest < 0) {
        day--;
        rest += MICROS_PER_DAY;
      } else if (rest !== rest && !column.isNull(row)) {
        // More than a number holds exactly.
        const wide = column.values[row]!;
        const wideRest = ((wide % WIDE_DAY) + WIDE_DAY) % WIDE_DAY;
        day = Number((wide - wideRest) / WIDE_DAY);
        rest = Number(wideRest);
      }
      days[row] = day;
      times[row] = rest;
    }
    outputs.set(day, days, column.validity);
    outputs.set(time, times, column.validity);
  };
}

function counts(plan: Plan, records: Output, step: bigint): Part {
  const read = plan.read("count", int64);
  const next = plan.compute(records, "next", int64);
  const mixed = plan.compute(records, "mixed", int64);
  return (batch, outputs, refused) => {
    const column = batch.column(read);
    const { values, words } = column;
    const nexts = new BigInt64Array(values.length);
    const mixes = new BigInt64Array(values.length);
    // Arrays of 64-bit integers keep the low 64 bits of what is written to them.
    const largest = step > 0n ? LAST - step : LAST;
    const smallest = step < 0n ? -LAST - 1n - step : -LAST - 1n;
    for (let row = 0; row < values.length; row++) {
      const count = values[row]!;
      nexts[row] = count + step;
      mixes[row] = count * 31n + 7n;
      // The high words tell most values from those at the ends; numbers compare faster than bigints.
      const high = words[2 * row + 1]!;
      if (high < HIGHEST && high > ~HIGHEST) continue;
      if ((count > largest || count < smallest) && !column.isNull(row)) {
        refused.add(row, WIDE_COUNT);
      }
    }
    outputs.set(next, nexts, column.validity);
    outputs.set(mixed, mixes, column.validity);
  };
}

function ratios(plan: Plan, records: Output): Part {
  const read = plan.read("ratio", float64);
  const half = plan.compute(records, "half", float64);
  const finite = plan.compute(records, "finite", boolean);
  return (batch, outputs) => {
    const column = batch.column(read);
    const halves = column.values.slice();
    const flags = new Uint8Array(halves.length);
    for (let row = 0; row < halves.length; row++) {
      const ratio = halves[row]!;
      halves[row] = ratio * 0.5;
      // The difference of infinities, as of NaNs, is NaN.
      if (ratio - ratio === 0) flags[row] = 1;
    }
    outputs.set(half, halves, column.validity);
    outputs.set(finite, flags, column.validity);
  };
}

function reversals(plan: Plan, records: Output): Part {
  const read = plan.read("data", binary);
  const reversed = plan.compute(records, "reversed", binary);
  return (batch, outputs) => {
    // All bytes reversed at once have each value reversed, the last value first.
    const { bytes, starts, ends, validity } = batch.column(read).ranges();
    const size = bytes.length;
    const firsts = ends.map((end) => size - end);
    const lasts = starts.map((start) => size - start);
    outputs.set(reversed, new Ranges(bytes.slice().reverse(), firsts, lasts, validity));
  };
}

function sums(plan: Plan, records: Output): Part {
  const read = plan.read("numbers", list(int64));
  const sum = plan.compute(records, "sum", int64);
  return (batch, outputs) => {
    const column = batch.column(read);
    const { offsets, items } = column;
    const flags = items.nullCount > 0 ? items.validity.flags() : undefined;
    const values = items.values;
    const sums = new BigInt64Array(batch.rows);
    for (let row = 0, item = 0; row < sums.length; row++) {
      let of = 0n;
      for (const end = offsets[row + 1]!; item < end; item++) {
        if (flags === undefined || flags[item] === 1) of += values[item]!;
      }
      sums[row] = of;
    }
    outputs.set(sum, sums, column.validity);
  };
}

const PLACE = struct({ city: utf8, score: int32 });

function cities(plan: Plan, records: Output): Part {
  const read = plan.read("place", PLACE);
  const city = plan.compute(records, "city", utf8);
  return (batch, outputs) => {
    const places = batch.column(read);
    const { data, validity } = places.members.city;
    outputs.set(city, new ArrayData(data.type, validity.and(places.validity), data.buffers));
  };
}

const VISITS = list(struct({ page: utf8, seconds: int32 }));

function visits(plan: Plan, records: Output): Part {
  const read = plan.read("visits", VISITS);
  const column = plan.compute(records, "visits", VISITS);
  return (batch, outputs) => outputs.set(column, batch.data(read));
}
