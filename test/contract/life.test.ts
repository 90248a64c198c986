import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createGateway, createLogger, definePlugin } from "propylon";
import { expect, it } from "vitest";
import type { Upstream } from "../../plugins/servers/upstream/upstream.ts";
import { setupGateway } from "../../core/testing/index.ts";
import { messagesIn, OBSERVED_CLIENTS } from "../fixtures/exchanges.ts";
import { deferred } from "../kit/deferred.ts";
import { makeFolder } from "../kit/folder.ts";
import { until } from "../kit/until.ts";
import { startEcho, startGateway, whenReady } from "./kit.ts";

const ARGUMENTS = fileURLToPath(new URL("arguments-server.mjs", import.meta.url));

const openRoute = definePlugin({
  name: "counter",
  setup(gateway) {
    gateway.tool("count", {
      description: "How many servers there are.",
      run: () => String(gateway.info.servers.size),
    });
  },
});

it("M040: a reload mounts what is new, unmounts what is gone, and leaves the rest connected", async () => {
  const [stays, goes, comes] = [await startEcho(), await startEcho(), await startEcho()];
  const before = {
    listeners: { main: { port: 0 } },
    servers: { stays: { url: stays.url }, goes: { url: goes.url } },
  };
  const { gateway, client } = await startGateway({ config: before });
  const kept = gateway.servers.get("stays");
  const report = await gateway.apply({
    ...before,
    servers: { stays: { url: stays.url }, comes: { url: comes.url } },
  });
  expect(report.servers).toMatchObject({
    added: ["comes"],
    removed: ["goes"],
    unchanged: ["stays"],
  });
  expect(gateway.servers.get("stays")).toBe(kept);
  expect(gateway.servers.has("goes")).toBe(false);
  await whenReady(gateway.servers.get("comes")!);
  const result = await gateway.call({ server: "comes", name: "echo", args: { text: "new" } });
  expect(result.result).toMatchObject({ content: [{ text: "new" }] });
  expect(
    (await client.listTools()).tools.map(({ name }) => name).toSorted((a, b) => a.localeCompare(b)),
  ).toEqual(["comes__echo", "stays__echo"]);
});

it("M042: a reconnect makes a server operational again without ending the process", async () => {
  let upstream = await startEcho();
  const { gateway, client } = await startGateway({
    config: { servers: { mine: { url: upstream.url } } },
  });
  const { port } = upstream;
  await upstream.close();
  await expect(
    gateway.call({ server: "mine", name: "echo", args: { text: "x" } }),
  ).rejects.toMatchObject({ code: "upstream_error" });
  upstream = await startEcho(port);
  await (gateway.servers.get("mine") as Upstream).reconnect();
  await whenReady(gateway.servers.get("mine")!);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo"]);
  const result = await client.callTool({ name: "echo", arguments: { text: "back" } });
  expect(result.content).toEqual([{ type: "text", text: "back" }]);
});

it("M051: every plugin and every endpoint sees the same servers, also after a reload", async () => {
  const upstream = await startEcho();
  const { gateway, client } = await startGateway({ plugins: [openRoute] });
  const count = async (): Promise<unknown> =>
    ((await client.callTool({ name: "count" })).content as { text: string }[])[0]!.text;
  expect(await count()).toBe("1");
  await gateway.apply({ ...gateway.written, servers: { mine: { url: upstream.url } } });
  expect(await count()).toBe("2");
});

it("M120, M148: a server's command and arguments reach it as they are; no shell reads them", async () => {
  const folder = makeFolder();
  const trap = join(folder, "trap");
  const args = [
    `; touch ${trap}`,
    `$(touch ${trap})`,
    `\`touch ${trap}\``,
    `| touch ${trap}`,
    "a b",
    "*",
    "$HOME",
  ];
  const { gateway } = await startGateway({
    client: false,
    config: { servers: { mine: { command: process.execPath, args: [ARGUMENTS, ...args] } } },
  });
  const { result } = await gateway.call({ server: "mine", name: "arguments" });
  expect(JSON.parse((result as { content: { text: string }[] }).content[0]!.text)).toEqual(args);
  expect(existsSync(trap)).toBe(false);
});

it("M147: an exposed listener without authentication is refused unless the config says insecure", async () => {
  const listeners = { main: { host: "0.0.0.0", port: 0 } };
  await expect(createGateway({ listeners, log: { level: "silent" } })).rejects.toMatchObject({
    code: "invalid",
    hint: expect.stringContaining("insecure: true"),
  });
  const open = await createGateway({ listeners, insecure: true, log: { level: "silent" } });
  await open.close();
  expect((await createGateway({ log: { level: "silent" } })).config.insecure).toBe(false);
});

it.each(OBSERVED_CLIENTS)(
  "P126: %s gets what a call reports while it runs, as an event stream on the POST of the call",
  async (_, connect) => {
    const { promise: done, resolve: finish } = deferred();
    const slow = definePlugin({
      name: "slow",
      setup(gateway) {
        gateway.tool("work", {
          description: "Reports once.",
          run: async (_args, call) => {
            call.progress?.({ progress: 1, message: "half way" });
            await done;
            return "done";
          },
        });
      },
    });
    const { gateway } = await setupGateway({ plugins: [slow], client: false });
    const { call, exchanges } = await connect(gateway.endpoints[0]!.url);
    const answer = call("work");
    const own = await until(() => exchanges.find(({ body }) => body.includes('"tools/call"')));
    expect(own).toMatchObject({ method: "POST", status: 200, type: "text/event-stream" });
    await until(() => messagesIn(own).length > 0);
    // The tool still runs: nothing is held back until its answer.
    expect(messagesIn(own)).toEqual(["notifications/progress"]);
    finish();
    const { result, reports } = await answer;
    expect(result["content"]).toEqual([{ type: "text", text: "done" }]);
    expect(reports).toEqual([{ progress: 1, message: "half way" }]);
    await until(() => messagesIn(own).length > 1);
    expect(messagesIn(own)).toEqual(["notifications/progress", "result"]);
  },
);

it("P004: a log line is one JSON object whose context is fields of its own", async () => {
  const lines: string[] = [];
  const log = await createLogger(
    { level: "info", format: "json" },
    { write: (line: string) => void lines.push(line) },
  );
  const upstream = await startEcho();
  await startGateway({ client: false, log, config: { servers: { mine: { url: upstream.url } } } });
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(line).toMatch(/^\{[^\n]*\}\n$/);
  const ready = entries.find(({ state }) => state === "ready");
  expect(ready).toMatchObject({
    level: "info",
    server: "mine",
    ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
  });
  expect(String(ready?.["msg"])).not.toMatch(/^\[|^mine/);
});
