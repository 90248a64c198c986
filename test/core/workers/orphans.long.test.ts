import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { GatewayProcess, usePlace } from "../../e2e/gateway-process.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { descendantsOf, isAlive, processOf } from "../../fixtures/processes.ts";
import { until } from "../../kit/until.ts";

const place = usePlace();
/** 30 in a campaign. */
const KILLS = Number(process.env["PRIMARY_KILLS"] ?? 2);
const CALLERS = 12;
/** Within this a worker is gone after its primary, in milliseconds: twice what a service manager waits before it starts the next. */
const GONE_MS = 3_000;

const PLUGIN = `
import { definePlugin } from "propylon";
import { z } from "zod";
export default definePlugin({
  name: "echo",
  setup(gateway) {
    gateway.tool("echo", { description: "Says it.", input: z.object({ text: z.string() }), run: ({ text }) => text });
  },
});
`;

/** A call over a connection of its own; resolves whatever becomes of it. */
function call(url: string, id: number): Promise<boolean> {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: {
      name: "echo",
      arguments: { text: `word ${id}` },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      },
    },
  });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "echo",
  };
  return new Promise((resolve) => {
    const asked = request(
      `${url}/mcp`,
      { method: "POST", headers, agent: false, timeout: 5_000 },
      (reply) => {
        let text = "";
        reply.setEncoding("utf8").on("data", (piece: string) => (text += piece));
        reply.on("error", () => resolve(false));
        reply.on("close", () => resolve(text.includes(`word ${id}`)));
      },
    );
    asked.on("error", () => resolve(false));
    asked.on("timeout", () => asked.destroy());
    asked.end(body);
  });
}

it(
  "fleet 1: a worker never outlives its primary, however busy the channel between them is",
  { timeout: PATIENCE * (30_000 + KILLS * 30_000) },
  async () => {
    await writeFile(join(place.folder, "echo.mjs"), PLUGIN);
    const gateway = await GatewayProcess.create(place, (port) => ({
      listeners: { main: { port } },
      workers: 2,
      store: "sqlite:./orphans.db",
      log: { level: "info", format: "json" },
      plugins: { "./echo.mjs": {} },
    }));
    const workers: number[] = [];
    onTestFinished(() => {
      for (const pid of workers.filter(isAlive)) process.kill(pid, "SIGKILL");
    });
    for (let kill = 0; kill < KILLS; kill++) {
      gateway.start();
      await gateway.line("gateway ready");
      let done = 0;
      let isOver = false;
      const busy = Array.from({ length: CALLERS }, async (_, caller) => {
        for (let id = caller; !isOver; id += CALLERS) if (await call(gateway.url, id)) done++;
      });
      await until(() => done > 300, 30_000);
      workers.splice(0, workers.length, ...workersOf());
      expect(workers).toHaveLength(2);
      await gateway.kill();
      const killed = performance.now();
      while (workers.some(isAlive) && performance.now() - killed < GONE_MS)
        await new Promise((resolve) => setTimeout(resolve, 20));
      isOver = true;
      expect([kill, workers.filter(isAlive)]).toEqual([kill, []]);
      await Promise.all(busy);
      gateway.lines.splice(0);
    }
  },
);

/** Processes that run the config of this test, but for the first of them. */
function workersOf(): number[] {
  const own = descendantsOf(process.pid).filter((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(place.folder),
  );
  return own.filter((pid) => own.includes(processOf(pid)!.parent));
}
