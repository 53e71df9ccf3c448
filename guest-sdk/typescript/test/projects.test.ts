// The README's examples and the template are projects that pass their own tests and build.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";

// Tests run in the SDK's folder.
const sdk = process.cwd();

/** A project that has the SDK where a new one has it. Returns what the tests printed. */
function tryProject(write: (dir: string) => void): string {
  const dir = mkdtempSync(join(tmpdir(), "gristmill-"));
  try {
    mkdirSync(join(dir, "vendor"));
    symlinkSync(sdk, join(dir, "vendor/gristmill"));
    write(dir);
    const env = { ...process.env };
    // Set by this test's own runner: the one within would report to it.
    delete env["NODE_TEST_CONTEXT"];
    const printed = execFileSync(join(sdk, "test.sh"), [dir], { encoding: "utf8", env });
    const component = (name: string) => {
      execFileSync(join(sdk, "build.sh"), [dir, join(dir, name)], { stdio: ["ignore", "ignore", "pipe"] });
      return readFileSync(join(dir, name));
    };
    const first = component("first.wasm");
    assert.ok(first.equals(component("second.wasm")), "the same source makes the same bytes");
    return printed;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function copyTemplate(template: string, dir: string, names: string[]): void {
  for (const name of names) cpSync(join(sdk, template, name), join(dir, name), { recursive: true });
}

test("the templates", () => {
  const fill = (dir: string, stage: string): void => {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      const path = join(dir, entry.name);
      if (entry.name === "vendor") continue;
      if (entry.isDirectory()) {
        fill(path, stage);
        continue;
      }
      const filled = readFileSync(path, "utf8").replaceAll("{{name}}", "orders").replaceAll("{{version}}", "0.1.0");
      writeFileSync(path, filled.replaceAll("{{stage}}", stage));
    }
  };
  for (const [template, stage] of [["template", "normalize"], ["template-javascript", "map"]] as const) {
    const printed = tryProject((dir) => {
      copyTemplate(template, dir, readdirSync(join(sdk, template)));
      fill(dir, stage);
    });
    assert.match(printed, /pass 1\n/);
  }
});

const blocks = [...readFileSync(join(sdk, "README.md"), "utf8").matchAll(/^```(ts|js) file=(\S+)\n([^]*?)^```$/gm)];

for (const language of ["ts", "js"]) {
  test(`the README's example in ${language}`, () => {
    const files = blocks.filter(([, of]) => of === language);
    assert.equal(files.length, 2);
    const printed = tryProject((dir) => {
      copyTemplate("template", dir, ["package.json", "tsconfig.json", "test/tsconfig.json"]);
      for (const [, , name, text] of files) {
        mkdirSync(dirname(join(dir, name!)), { recursive: true });
        writeFileSync(join(dir, name!), text!);
      }
    });
    assert.match(printed, /pass 1\n/);
  });
}

test("the contract is the repository's", { skip: !readdirSync(join(sdk, "..")).includes("rust") }, () => {
  const [own, of] = [join(sdk, "wit/transform.wit"), join(sdk, "../../wit/transform.wit")];
  assert.equal(readFileSync(own, "utf8"), readFileSync(of, "utf8"));
});

test("the lock file names versions and no place to get them from", () => {
  assert.doesNotMatch(readFileSync(join(sdk, "package-lock.json"), "utf8"), /"resolved"|https?:/);
});
