import { join } from "node:path";
import fc from "fast-check";
import type { GatewayConfig } from "propylon";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { isPlainObject } from "../../../core/kit/json.ts";
import { writeConfig } from "../../../core/config/config.ts";
import { loadConfig } from "../../../core/file/load.ts";
import { rounds } from "../../fixtures/ci.ts";
import { makeFolder } from "../../kit/folder.ts";

const amount = fc.integer({ min: 1, max: 100_000 });
const duration = fc.oneof(
  amount,
  fc.tuple(amount, fc.constantFrom("ms", "s", "m", "h")).map(([count, unit]) => `${count}${unit}`),
);
const size = fc.oneof(amount, fc.constantFrom("64KiB", "5MB", "1GiB"));
const words = fc.oneof(
  fc.string({ maxLength: 12 }).map((text) => text.replaceAll("$", "")),
  fc.constantFrom("$", "$$", "${A}", "${B:-x}", "a: b", "- a", "#", "yes", "1", "null", "é\n\t"),
);
const name = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,8}$/).map((word) => `n-${word}`);
const option = fc.oneof(words, amount, fc.boolean(), fc.array(words), fc.record({ deep: words }));
const backoff = fc.record({ initial: duration, max: duration }, { requiredKeys: [] });
const common = {
  timeout: duration,
  enabled: fc.boolean(),
  tools: fc.record({ include: fc.array(words), exclude: fc.array(words) }, { requiredKeys: [] }),
};
const mcp = {
  ...common,
  connectTimeout: duration,
  ping: duration,
  maxResult: size,
  protocol: fc.constantFrom("auto", "legacy", "modern"),
  backoff,
};
const own = fc.oneof(
  fc.record(
    {
      command: fc.constant("node"),
      args: fc.array(words),
      env: fc.dictionary(name, words),
      ...mcp,
    },
    { requiredKeys: ["command"] },
  ),
  fc.record(
    {
      url: fc.webUrl({ validSchemes: ["http", "https"] }),
      headers: fc.dictionary(name, words),
      ...mcp,
    },
    { requiredKeys: ["url"] },
  ),
  fc.record(
    { type: fc.constant("pets"), spec: words, deep: fc.record({ any: words }), ...common },
    {
      requiredKeys: ["type"],
    },
  ),
);
const pasted = fc.record(
  {
    serverUrl: fc.constant("https://a.example/"),
    disabled: fc.constantFrom(true, false, "${B:-true}"),
    disabledTools: fc.array(words),
    type: fc.constantFrom("http", "streamable_http", "sse"),
  },
  { requiredKeys: ["serverUrl"] },
);
const config = fc.record(
  {
    name: fc.stringMatching(/^[a-z]{1,9}$/),
    "x-anchors": fc.constant({ any: 1 }),
    listeners: fc.constantFrom({ main: { port: 0 } }, { main: {}, more: { port: "${PORT}" } }),
    servers: fc.dictionary(name, own, { maxKeys: 3 }),
    mcpServers: fc.dictionary(
      name.map((each) => `p-${each}`),
      pasted,
      { maxKeys: 3 },
    ),
    agents: fc.dictionary(name, fc.record({ instructions: words }), { maxKeys: 2 }),
    // One is on, which could bring the type of a server.
    plugins: fc
      .dictionary(
        fc.constantFrom("gating", "admin", "some-package"),
        fc.oneof(fc.constantFrom(true, false, null), fc.dictionary(name, option)),
      )
      .map((plugins) => ({ ...plugins, pets: {} })),
    timeouts: fc.record(
      { default: duration, grace: duration, drain: duration },
      { requiredKeys: [] },
    ),
    limits: fc.record(
      { body: size, sessionIdle: duration, depth: fc.constant(8) },
      { requiredKeys: [] },
    ),
    management: fc.record({ readOnly: fc.boolean() }),
    log: fc.record({ level: fc.constantFrom("info", "silent", "${LEVEL}") }),
  },
  { requiredKeys: ["plugins"] },
);

/** A config in force as text: what it has of a variable's marks is meant as it stands. */
function write(inForce: GatewayConfig): string {
  const escaped = (node: unknown): unknown => {
    if (typeof node === "string") return node.replaceAll("$", "$$$$");
    if (Array.isArray(node)) return node.map(escaped);
    if (!isPlainObject(node)) return node;
    return Object.fromEntries(Object.entries(node).map(([key, each]) => [key, escaped(each)]));
  };
  return stringify(escaped(writeConfig(inForce)), { aliasDuplicateObjects: false });
}

/** A campaign makes more. */
const CONFIGS = Number(process.env["IDENTITY_CONFIGS"] ?? rounds(75));

it("text to Config to text to Config is the identity", async () => {
  const folder = makeFolder();
  const environment = { A: "a variable", PORT: "9000", LEVEL: "warn" };
  const read = async (text: string) =>
    (await loadConfig(join(folder, "gateway.yaml"), { text, environment })).config.values;
  await fc.assert(
    fc.asyncProperty(config, async (input) => {
      // Empty is what an empty file is: a problem of its own.
      const first = await read(stringify({ log: {}, ...input }));
      const text = write(first);
      const second = await read(text);
      expect(second).toEqual(first);
      expect(write(second)).toBe(text);
    }),
    { numRuns: CONFIGS },
  );
});
