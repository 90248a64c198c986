import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { definePlugin, type AnyPlugin, toGatewayError } from "propylon";
import { findTarget } from "propylon/cli";
import { expect, it } from "vitest";
import { z } from "zod";
import { check } from "../../../core/gateway/check/check.ts";
import { issuesOf } from "../../../core/config/issue.ts";
import { loadConfig } from "../../../core/file/load.ts";
import { makeFolder } from "../../kit/folder.ts";

const limits = definePlugin({
  name: "limits",
  config: z.strictObject({
    rate: z.number().positive().optional(),
    share: z.number().lt(1).optional(),
    names: z.array(z.string()).min(1).optional(),
    key: z.string(),
    store: z
      .union([
        z.strictObject({ memory: z.number() }),
        z.strictObject({ folder: z.string(), sync: z.boolean().default(true) }),
        z.strictObject({ kind: z.literal("nats"), url: z.url(), bucket: z.string() }),
      ])
      .optional(),
    sink: z
      .discriminatedUnion("to", [
        z.strictObject({ to: z.literal("file"), path: z.string() }),
        z.strictObject({ to: z.literal("http"), url: z.url() }),
      ])
      .optional(),
  }),
  setup() {},
});

const plain = (name: string): AnyPlugin => definePlugin({ name, setup() {} });

async function told(options: string): Promise<readonly string[]> {
  const folder = makeFolder();
  const file = join(folder, "gateway.yaml");
  await writeFile(file, `plugins:\n  limits: ${options}\n`);
  const loaded = await loadConfig(file, { environment: {} });
  const error = await check(loaded.config, {
    names: [],
    resolve: (key) => (key === "limits" ? limits : plain(key)),
  }).then(
    () => expect.unreachable("the options were accepted"),
    (thrown: unknown) => toGatewayError(thrown),
  );
  return issuesOf(error).map(({ message, hint }) => `${message} ${hint}`);
}

it("a bound that is not part of its range is told so", async () => {
  const [rate, share, names] = await told("{ rate: 0, share: 1, names: [], key: k }");
  expect(rate).toMatch(/^plugins\.limits\.rate must be more than 0\./);
  expect(share).toMatch(/^plugins\.limits\.share must be less than 1\./);
  expect(names).toMatch(/^plugins\.limits\.names must have at least 1 entry\./);
});

it.each([
  ["store: { folder: 5 }", "plugins.limits.store.folder must be a text."],
  [
    "store: { folder: x, snyc: 1 }",
    'Unknown key "snyc" in plugins.limits.store. Did you mean "sync"?',
  ],
  ["store: { memory: much }", "plugins.limits.store.memory must be a number."],
  ["store: { kind: nats, url: 'http://n' }", "plugins.limits.store.bucket is missing."],
  [
    "store: { memory: 1, folder: x }",
    "plugins.limits.store must have one of memory, folder, kind.",
  ],
  ["sink: { to: file }", "plugins.limits.sink.path is missing."],
  ["sink: { to: fiel }", 'plugins.limits.sink.to must be one of file, http. Did you mean "file"?'],
])("the branch of a union that was meant is explained: %s", async (option, sentence) => {
  expect(await told(`{ key: k, ${option} }`)).toEqual([expect.stringContaining(sentence)]);
});

it("a missing option of a plugin points to the plugin's page, not to one without it", async () => {
  const [missing] = await told("{}");
  expect(missing).toBe(
    "plugins.limits.key is missing. See the page of the plugin limits for what can stand here.",
  );
});

it.each(["127.0.0.1:8080", "localhost:8080/mcp", "[::1]:8080", "gateway.internal:80"])(
  "propylon tools %s says that http:// is missing",
  async (target) => {
    await expect(findTarget({ target })).rejects.toMatchObject({
      code: "invalid",
      message: `${target} is neither a URL nor a config.`,
      hint: `Write http://${target} for a gateway there.`,
    });
  },
);

it("19: a number and a truth where a text is wanted are to be put in quotes, and are not repeated", async () => {
  const folder = makeFolder();
  const file = join(folder, "gateway.yaml");
  await writeFile(
    file,
    "servers: { s: { command: node, args: [-p, 40817], env: { PIN: 40817, DEBUG: true } } }\n",
  );
  const error = await loadConfig(file).catch((thrown: unknown) => thrown);
  const issues = issuesOf(toGatewayError(error));
  expect(issues.map(({ hint }) => hint)).toEqual([
    "Put it in quotes. Without them it is a number.",
    "Put it in quotes. Without them it is a number.",
    "Put it in quotes. Without them it is true or false.",
  ]);
  expect(JSON.stringify(issues)).not.toContain("40817");
});
