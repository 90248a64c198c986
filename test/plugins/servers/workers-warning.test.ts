import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { GatewayProcess, usePlace } from "../../e2e/gateway-process.ts";
import { propylon } from "../../core/cli/propylon.ts";

const place = usePlace();
const COUNTER = fileURLToPath(new URL("../../fixtures/upstreams/counter.mjs", import.meta.url));

const counter = (more: object = {}): object => ({
  command: process.execPath,
  args: [COUNTER, join(place.folder, "counter.log")],
  ...more,
});

const warningOf = (names: string): object => ({
  message: `Each worker starts a child of its own for ${names}: calls of one session may reach different children.`,
  hint: "Write placement: one for a server that remembers something between calls, and placement: each for any other.",
});

/** What `propylon check` warns of. */
async function warningsOf(config: object): Promise<unknown[]> {
  const file = join(place.folder, "checked.json");
  await writeFile(file, JSON.stringify(config));
  const { stdout } = await propylon(["check", file, "--json"], { cwd: place.folder });
  return (JSON.parse(stdout) as { warnings: unknown[] }).warnings;
}

it("mcp-25: propylon check warns of a stdio server with workers whose placement is not written", async () => {
  const decided = {
    shared: counter({ placement: "one" }),
    meant: counter({ placement: "each" }),
    away: { url: "http://127.0.0.1:9/mcp" },
  };
  expect(await warningsOf({ workers: 2, servers: decided })).toEqual([]);
  expect(await warningsOf({ servers: { counter: counter() } })).toEqual([]);
  expect(
    await warningsOf({ workers: 2, servers: { ...decided, counter: counter() } }),
  ).toMatchObject([warningOf("server counter")]);
  const two = { first: counter(), second: counter({ connection: "session" }) };
  expect(await warningsOf({ workers: "auto", servers: two })).toMatchObject([
    warningOf("servers first, second"),
  ]);
});

it("mcp-25: the start warns too", async () => {
  const gateway = await GatewayProcess.create(place, (port) => ({
    listeners: { main: { port } },
    workers: 2,
    log: { level: "info", format: "json" },
    servers: { counter: counter() },
  }));
  await gateway.begin();
  const line = await gateway.line("gateway ready");
  const { message } = warningOf("server counter") as { message: string };
  expect(line).toContain(message);
});
