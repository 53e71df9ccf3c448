// Invoices as an accounting program exports them: to records with exact decimals, and to the rows of two tables.

import type { Contract } from "gristmill";
import { map } from "./map.ts";
import { normalize } from "./normalize.ts";

/** The component serves two stages; each refuses what is not its own. */
export const transform: Contract = {
  plan: (setup) => (setup.stage === "map" ? map : normalize).plan(setup),
  process: (setup, batch) => (setup.stage === "map" ? map : normalize).process(setup, batch),
};
