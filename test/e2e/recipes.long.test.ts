import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { PageRun, stepsOf } from "../fixtures/page-run.ts";
import { until } from "../kit/until.ts";
import { startServer } from "../plugins/postgres/kit.ts";
import { GatewayProcess, usePlace } from "./gateway-process.ts";

const RECIPES = readdirSync("docs/recipes").map((name) => `docs/recipes/${name}`);
/** Three machines are three processes here: that recipe has a test of its own, below. */
const ALONE = RECIPES.filter((page) => !page.endsWith("three-machines.md"));

const MOST_WORDS = 350;

describe.each(ALONE)("%s", (page) => {
  it("does what it says, command by command", async () => {
    const steps = stepsOf(readFileSync(page, "utf8"));
    const run = await PageRun.open([8080]);
    onTestFinished(() => run.close());
    // It begins in a folder with Propylon.
    await run.do({ kind: "command", command: "npm install", output: "" });
    for (const step of steps) expect(await run.do(step)).toEqual(step);
    const kinds = steps.map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(["file", "server", "command"]));
  }, 300_000);
});

it.each(RECIPES)("%s is short", (page) => {
  const words = readFileSync(page, "utf8").split(/\s+/).filter(Boolean);
  expect(words.length).toBeLessThanOrEqual(MOST_WORDS);
});

const place = usePlace();
const MEMORY = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-memory/dist/index.js"),
);

it("docs/recipes/three-machines.md: its config runs three times, and a session outlives the gateway that opened it", async () => {
  const page = readFileSync("docs/recipes/three-machines.md", "utf8");
  const [, config] = /```yaml\n(.*?)```/s.exec(page)!;
  const key = "a-key-of-the-recipe-0123456789";
  const { url } = await startServer();
  const text = config!
    .replace("${GATEWAY_KEY}", key)
    .replace("${STORE_URL}", url)
    .replace("0.0.0.0", "127.0.0.1")
    // There is no registry.
    .replace("command: npx", `command: ${process.execPath}`)
    .replace(/args: \[-y, .*?\]/, `args: ["${MEMORY}"]`);
  const machines = await Promise.all(
    [1, 2, 3].map(() =>
      GatewayProcess.create(place, (port) => parse(text.replace("8080", String(port))) as object),
    ),
  );
  await Promise.all(machines.map((machine) => machine.begin("/readyz")));

  const [one, two] = machines;
  let at = one!;
  const client = new Client({ name: "reader", version: "1.0.0" });
  onTestFinished(() => client.close());
  const transport = new StreamableHTTPClientTransport(new URL(`${one!.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
    // The balancer.
    fetch: (to, init) => fetch(String(to).replace(one!.url, at.url), init),
  });
  await client.connect(transport);
  const session = transport.sessionId;
  const search = { name: "search_nodes", arguments: { query: "nobody" } };
  const isServed = (): Promise<boolean> =>
    client.callTool(search).then(
      ({ isError }) => isError !== true,
      () => false,
    );
  await until(isServed, 30_000);
  at = two!;
  await one!.kill();
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("search_nodes");
  // The server that there is once runs at a machine that is left.
  await until(isServed, 60_000);
  expect(transport.sessionId).toBe(session);
  expect(session).toEqual(expect.any(String));
}, 300_000);
