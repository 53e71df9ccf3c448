// What a transform knows before it sees rows.

import type { RawSetup, Stage } from "./contract.ts";
import { Failure } from "./failure.ts";
import { fromTrees, type Field } from "./types.ts";

/** A dictionary that the task pins. */
export interface Dictionary {
  readonly name: string;
  /** The column that look-ups match. */
  readonly key: string;
  readonly fields: readonly Field[];
}

/** A key of a configuration: `Number`, `String` or `Boolean` where it must be there, else its default. */
export type ConfigShape = Record<string, NumberConstructor | StringConstructor | BooleanConstructor | number | string | boolean>;

export type ConfigOf<S extends ConfigShape> = {
  [K in keyof S]: S[K] extends NumberConstructor | number
    ? number
    : S[K] extends StringConstructor | string
      ? string
      : boolean;
};

/** The stage, its configuration, the input's columns and the task's dictionaries. */
export class Setup {
  readonly stage: Stage;
  /** The configuration as one JSON object. */
  readonly configJson: string;
  readonly input: readonly Field[];
  readonly dictionaries: readonly Dictionary[];

  constructor(raw: RawSetup) {
    this.stage = raw.stage;
    this.configJson = raw.config;
    this.input = whole("the input", fromTrees(raw.input));
    this.dictionaries = raw.dictionaries.map(({ name, key, fields }) => ({
      name,
      key,
      fields: whole(`dictionary \`${name}\``, fromTrees(fields)),
    }));
  }

  /** Refuses, with the failure `wrong-stage`, every stage that the transform does not serve. */
  requireStage(...stages: Stage[]): void {
    if (stages.includes(this.stage)) return;
    throw new Failure("wrong-stage", `this transform serves ${stages.join(", ")}, not ${this.stage}`);
  }

  /**
   * Reads the configuration: `setup.config({ max_amount: Number, currency: "EUR" })` has a number that must be there
   * and a text that may be left out. Fails with `bad-config` where a key is missing, unknown or of another type.
   */
  config<S extends ConfigShape>(shape: S): ConfigOf<S> {
    const given = this.configObject();
    const config: Record<string, unknown> = {};
    for (const key of Object.keys(given)) {
      if (!Object.hasOwn(shape, key)) {
        const known = Object.keys(shape).join(", ") || "none at all";
        throw new Failure("bad-config", `the configuration has no key \`${key}\`; there are ${known}`);
      }
    }
    for (const [key, expected] of Object.entries(shape)) {
      const type = typeof (typeof expected === "function" ? expected() : expected);
      if (typeof given[key] === type) config[key] = given[key];
      else if (Object.hasOwn(given, key)) throw new Failure("bad-config", `\`${key}\` must be a ${type}`);
      else if (typeof expected === "function") throw new Failure("bad-config", `\`${key}\` is missing: a ${type}`);
      else config[key] = expected;
    }
    return config as ConfigOf<S>;
  }

  /** The configuration as it is, for more than single values. Fails with `bad-config` where it is no object. */
  configObject(): Record<string, unknown> {
    let parsed: unknown;
    try {
      parsed = JSON.parse(this.configJson);
    } catch {
      throw new Failure("bad-config", "the configuration is not JSON");
    }
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
      throw new Failure("bad-config", "the configuration is not a JSON object");
    }
    return parsed as Record<string, unknown>;
  }

  /** The input column of this name. */
  inputField(name: string): Field | undefined {
    return this.input.find((field) => field.name === name);
  }

  /** The dictionary of this name, or the failure `missing-dictionary`. */
  dictionary(name: string): Dictionary {
    const dictionary = this.dictionaries.find((dictionary) => dictionary.name === name);
    if (dictionary !== undefined) return dictionary;
    const hint = "add it under transforms.dictionaries";
    throw new Failure("missing-dictionary", `the pipeline has no dictionary \`${name}\`: ${hint}`);
  }
}

function whole(of: string, fields: readonly Field[] | undefined): readonly Field[] {
  if (fields === undefined) throw new Failure("bad-setup", `the fields of ${of} are not whole`);
  return fields;
}
