// Why a call or a row cannot be done.

import type { RawFailure } from "./contract.ts";

/**
 * The whole call cannot be done: a wrong configuration, a missing column. Throw it; never for a bad row.
 *
 * `code` is a short, stable word for machines, such as `bad-config`. `message` is for people and says what to change;
 * never a row's values.
 */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Why one row is not accepted. A row transform throws it; on the columnar path it is `outputs.reject`.
 *
 * The runner keeps it as a dead letter, so it never says a value. `field` is the column at fault.
 */
export class Reject extends Error {
  override readonly name = "Reject";
  readonly code: string;
  readonly field: string | null;

  constructor(code: string, message: string, field: string | null = null) {
    super(message);
    this.code = code;
    this.field = field;
  }
}

/** What the contract takes for whatever was thrown. */
export function toRawFailure(thrown: unknown): RawFailure {
  if (thrown instanceof Failure) return { code: thrown.code, message: thrown.message };
  if (thrown instanceof Reject) {
    return { code: "exception", message: "a Reject was thrown where no row is at hand: call outputs.reject" };
  }
  return { code: "exception", message: describe(thrown) };
}

/** Functions without a name, and those through which every call comes. */
const UNTELLING = new Set(["<anonymous>", "guarded", "plan", "process"]);

/**
 * An exception in one line: what was thrown, where from. Without the message of a SyntaxError, which quotes what it
 * could not parse, and without what is no Error: either could hold a row's values.
 */
export function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "something that is no Error was thrown";
  const message = thrown instanceof SyntaxError || thrown.message === "" ? "" : `: ${thrown.message}`;
  const functions = (thrown.stack ?? "").split("\n").map((line) => /^\s*at (\S+) \(/.exec(line)?.[1]);
  const places = functions.filter((name) => name !== undefined && !UNTELLING.has(name)).slice(0, 3);
  return `${thrown.name}${message}${places.length > 0 ? ` (in ${places.join(" < ")})` : ""}`;
}
