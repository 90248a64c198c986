import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connectClient, setupGateway } from "../../core/testing/index.ts";
import sqlite from "../../plugins/sqlite/index.ts";
import { makeFolder } from "../kit/folder.ts";
import { until } from "../kit/until.ts";

/** A stdio server with the tool "send", which answers once a file is there. */
function speaker(who: string, gate: string): { command: string; args: string[] } {
  const script = `
    const { existsSync } = require("node:fs");
    const answer = (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const result = method === "initialize"
        ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }
        : method === "tools/list" ? { tools: [{ name: "send", inputSchema: { type: "object" } }] }
        : { content: [{ type: "text", text: "sent by ${who}" }] };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    };
    const wait = (line) => existsSync(${JSON.stringify(gate)}) ? answer(line) : setTimeout(wait, 20, line);
    require("node:readline").createInterface({ input: process.stdin }).on("line", wait);`;
  return { command: process.execPath, args: ["-e", script] };
}

it("mcp-01: while one of two servers starts, and after a restart, its tool is nobody else's", async () => {
  const folder = makeFolder();
  const [open, closed] = [join(folder, "open"), join(folder, "closed")];
  writeFileSync(open, "");
  const start = async (gate: string) => {
    const { gateway } = await setupGateway({
      plugins: [sqlite],
      config: {
        store: `sqlite:${join(folder, "gateway.db")}`,
        servers: { trusted: speaker("trusted", gate), other: speaker("other", open) },
        endpoints: { mcp: {}, r: { path: "/r", tools: ["send"] } },
      },
      client: false,
    });
    const { info } = gateway;
    await until(() => info.servers.get("other")?.status.state === "ready");
    const [all, selected] = await Promise.all(
      gateway.endpoints.map(({ url }) => connectClient(url)),
    );
    const names = async () => (await all!.listTools()).tools.map(({ name }) => name);
    const chosen = async () => (await selected!.listTools()).tools.map(({ name }) => name);
    return { gateway, all: all!, names, chosen };
  };
  const first = await start(closed);
  expect(await first.names()).toEqual(["other__send"]);
  expect(await first.chosen()).toEqual([]);
  writeFileSync(closed, "");
  await until(async () => (await first.names()).length === 2);
  expect(await first.names()).toEqual(["trusted__send", "other__send"]);
  expect(await first.chosen()).toEqual([]);
  await first.gateway.close();
  rmSync(closed);
  const second = await start(closed);
  expect(await second.names()).toEqual(["other__send"]);
  const sent = await second.all.callTool({ name: "other__send" });
  expect(sent.content).toEqual([{ type: "text", text: "sent by other" }]);
});
