import { describe, expect, it } from "vitest";
import admin from "propylon/plugins/admin";
import gating from "propylon/plugins/gating";
import history from "propylon/plugins/history";
import metrics from "propylon/plugins/metrics";
import openapi from "propylon/plugins/openapi";
import { fileURLToPath } from "node:url";
import { connectClient } from "../../core/testing/index.ts";
import { startGateway } from "../contract/kit.ts";
import { until } from "../kit/until.ts";
import { parsePage, valuesOf } from "../plugins/metrics/exposition.ts";

const SERVER = fileURLToPath(new URL("../fixtures/process/scripted-server.mjs", import.meta.url));

interface Row {
  readonly outcome: string;
  readonly code: string | null;
  readonly source: string;
}

/** A gateway with a server whose tool `hang` never answers, and what remembers and counts its calls. */
async function start() {
  const plugins = [
    [gating, { state: false }],
    [admin, {}],
    [history, {}],
    [metrics, {}],
    [openapi, {}],
  ] as const;
  const servers = { s: { command: process.execPath, args: [SERVER] } };
  const { url, gateway } = await startGateway({ plugins, config: { servers }, client: false });
  const ask = async (path: string) => fetch(`${url}${path}`);
  return {
    url,
    endpoint: gateway.endpoints[0]!.url,
    rows: async (query = "") =>
      ((await (await ask(`/_meta/history${query}`)).json()) as { entries: Row[] }).entries,
    page: async () => parsePage(await (await ask("/metrics")).text()),
    running: async () =>
      until(async () => {
        const { calls } = (await (await ask("/_meta/calls")).json()) as { calls: unknown[] };
        return calls.length > 0;
      }),
  };
}

describe("a call that its caller cancels", () => {
  it("newcomer 6: is no failure in the history, the metrics and the alert, on MCP and HTTP", async () => {
    const { url, endpoint, rows, page, running } = await start();
    const client = await connectClient(endpoint);
    for (const send of [
      (signal: AbortSignal) =>
        client.callTool({ name: "hang", arguments: {} }, undefined, { signal }),
      (signal: AbortSignal) =>
        fetch(`${url}/s/hang`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
          signal,
        }),
    ]) {
      const abort = new AbortController();
      const known = (await rows()).length;
      const gone = send(abort.signal);
      gone.catch(() => {});
      await running();
      abort.abort();
      await expect(gone).rejects.toThrow(/abort/i);
      await until(async () => (await rows()).length > known);
    }
    await client.close();
    expect((await rows()).map(({ source, outcome, code }) => [source, outcome, code])).toEqual([
      ["http", "cancelled", "cancelled"],
      ["mcp", "cancelled", "cancelled"],
    ]);
    expect(await rows("?outcome=failed")).toEqual([]);
    expect(await rows("?outcome=cancelled")).toHaveLength(2);
    const families = await page();
    expect(valuesOf(families, "tool_calls_total", "server", "tool", "outcome")).toEqual({
      "s hang cancelled": 2,
    });
    expect(valuesOf(families, "tool_errors_total", "code")).toEqual({});
  });
});
