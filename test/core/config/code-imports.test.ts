import { join } from "node:path";
import { expect, it } from "vitest";
import { importCode, loadCode } from "../../../core/config/code.ts";
import { makeFolder } from "../../kit/folder.ts";

const load = async (files: Readonly<Record<string, string>>) =>
  importCode(join(makeFolder(files), "main.ts"));

it.each([
  [
    "of another module of propylon",
    `import { definePlugin } from "propylon";\nimport { z } from "zod";\nimport { amendCall } from "propylon";\nexport default [definePlugin, z, () => amendCall];`,
    {
      message: '"propylon" has no export "amendCall".',
      hint: 'Import it from "propylon/kit".',
      place: { file: "main.ts", line: 3, column: 10 },
    },
  ],
  [
    "that is misspelled, and called while the module is loaded",
    `import {\n  type Call,\n  defnePlugin as define,\n} from "propylon";\nexport default define({} as Call);`,
    {
      message: '"propylon" has no export "defnePlugin".',
      hint: 'Did you mean "definePlugin"?',
      place: { file: "main.ts", line: 3, column: 3 },
    },
  ],
  [
    "of a file beside it",
    `import { helpr } from "./other.ts";\nexport default () => helpr;`,
    { message: '"./other.ts" has no export "helpr".', hint: 'Did you mean "helper"?' },
  ],
])("newcomer 8: refuses a name %s", async (_, text, told) => {
  await expect(
    load({ "main.ts": text, "other.ts": "export const helper = 1;" }),
  ).rejects.toMatchObject({ code: "invalid", ...told });
});

it.each([
  [
    "types alone",
    `import { Call, type Nothing } from "propylon";\nexport default (call: Call) => call;`,
  ],
  [
    "two files that import each other",
    `import { back } from "./other.ts";\nexport const here = 1;\nexport default () => back();`,
  ],
  ["texts that look like code", `import { z } from "zod";\nexport default [z, "_zod.nothing"];`],
  ["a package that is CommonJS", `import { Counter } from "prom-client";\nexport default Counter;`],
  ["a module of Node", `import { join } from "node:path";\nexport default join;`],
])("leaves %s alone", async (_, text) => {
  const other = `import { here } from "./main.ts";\nexport const back = () => here;`;
  const { exports } = await load({ "main.ts": text, "other.ts": other });
  expect(exports["default"]).toBeDefined();
});

it("a config that is code names the place, too", async () => {
  const text = `import { defineConfig } from "propylon";\nexport default defineConfig({});`;
  const folder = makeFolder({ "gateway.config.ts": text });
  const { issues } = await loadCode(join(folder, "gateway.config.ts"), "gateway.config.ts");
  expect(issues).toMatchObject([
    {
      message: '"propylon" has no export "defineConfig".',
      place: { file: "gateway.config.ts", line: 1, column: 10 },
    },
  ]);
});

it.each(["", "/kit", "/store", "/process", "/internal", "/panels"])(
  "propylon%s is that of the gateway that runs",
  async (path) => {
    const door = `propylon${path}`;
    const text = `import * as door from "${door}";\nexport default { ...door };`;
    const { exports } = await load({ "main.ts": text });
    expect(exports["default"]).toEqual({ ...((await import(door)) as object) });
    expect(Object.keys(exports["default"] as object).length).toBeGreaterThan(0);
  },
);
