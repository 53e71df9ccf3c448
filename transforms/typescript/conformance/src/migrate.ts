// Stage migrate: every column back as it is, computed.

import { any, kindOf, type Plan, type Process, type Setup } from "gristmill";

export function planMigrate(setup: Setup, plan: Plan): Process {
  const records = plan.output("records");
  const handles = setup.input.map(({ name, type, nullable }) => ({
    read: plan.read(name, any),
    column: nullable
      ? plan.compute(records, name, kindOf(type))
      : plan.computeRequired(records, name, kindOf(type)),
  }));
  return (batch, outputs) => {
    for (const { read, column } of handles) outputs.set(column, batch.data(read));
  };
}
