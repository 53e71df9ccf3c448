// Runs a transform on literal rows, without WASM: the runner's part in memory, with the runner's checks.

export { ContractError, run, Run, type Given } from "./run.ts";
export { Table, type Kinds } from "./table.ts";
