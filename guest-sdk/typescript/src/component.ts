// The contract's two functions for any transform.
//
// A component exports what these make, and the test harness calls it: tests run the code that the runner runs.

import { Batch } from "./batch.ts";
import type { Contract, RawBatch, RawSetup } from "./contract.ts";
import { toRawFailure } from "./failure.ts";
import { Outputs } from "./outputs.ts";
import { Plan } from "./plan.ts";
import { Setup } from "./setup.ts";

/** Transforms one batch. */
export type Process = (batch: Batch, outputs: Outputs) => void;

/**
 * A transform on whole columns: plans once, then works batch by batch. Export it as `transform`.
 *
 * 1. The plan MUST depend on the setup alone. The runner plans again for every batch, in a fresh instance, and refuses
 *    a component whose plans differ.
 * 2. Processing MUST set every computed column of the plan, with one value for each output row.
 * 3. A row that cannot be transformed is a reject (`outputs.reject`), never an exception. In stages normalize and
 *    migrate it MUST also be left out of the selection, as `outputs.selectAccepted` does.
 * 4. Rejects, failures and exceptions MUST NOT say what a row holds: they are kept and shown to operators.
 *
 * An exception ends the call with the failure `exception`, which says what was thrown and where. The runner retries the
 * batch, then isolates the rows at fault as dead letters.
 */
export function columns(define: (setup: Setup, plan: Plan) => Process): Contract {
  const prepare = (raw: RawSetup) => {
    const setup = new Setup(raw);
    const plan = new Plan(setup);
    return { plan, process: define(setup, plan) };
  };
  return {
    plan: (setup) => guarded(() => prepare(setup).plan.toRaw()),
    process: (setup: RawSetup, raw: RawBatch) =>
      guarded(() => {
        const { plan, process } = prepare(setup);
        const batch = new Batch(raw, plan.reads);
        const outputs = new Outputs(plan.outputs, batch.rows);
        process(batch, outputs);
        return outputs.finish();
      }),
  };
}

/** Whatever is thrown leaves as a failure: anything else would be a trap without a word. */
function guarded<R>(call: () => R): R {
  try {
    return call();
  } catch (thrown) {
    throw toRawFailure(thrown);
  }
}
