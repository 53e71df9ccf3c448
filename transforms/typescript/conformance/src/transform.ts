// The conformance transform, as tests/conformance/README.md specifies it.

import { columns, type Contract } from "gristmill";
import { planMap } from "./map.ts";
import { planMigrate } from "./migrate.ts";
import { planNormalize } from "./normalize.ts";

export const transform: Contract = columns((setup, plan) => {
  switch (setup.stage) {
    case "normalize":
      return planNormalize(setup, plan);
    case "migrate":
      return planMigrate(setup, plan);
    case "map":
      return planMap(setup, plan);
  }
});
