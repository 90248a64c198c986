import { join } from "node:path";
import { definePlugin, type GatewayConfigInput } from "propylon";
import { setupGateway, type PluginEntry, type TestGateway } from "propylon/testing";
import { expect } from "vitest";
import { z } from "zod";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import openapi from "../../../plugins/openapi/index.ts";

/** The reference server "everything" as a child process. */
export const EVERYTHING = { command: "node_modules/.bin/mcp-server-everything", args: ["stdio"] };

const bin = (name: string): string => `node_modules/.bin/${name}`;

/** A gateway in front of {@link realServers}, all of them connected. */
export async function startReal(): Promise<TestGateway & { readonly names: readonly string[] }> {
  const servers = await realServers();
  const started = await startOpenapi({}, [], { servers });
  const states = () => [...started.gateway.servers.values()].map(({ status }) => status.state);
  await until(() => states().every((state) => state === "ready"));
  return { ...started, names: Object.keys(servers) };
}

/** Eight servers: seven from npm, as their packages run, and one whose schemas refer to themselves. */
async function realServers() {
  const folder = makeFolder();
  return {
    everything: EVERYTHING,
    filesystem: { command: bin("mcp-server-filesystem"), args: [folder] },
    memory: {
      command: bin("mcp-server-memory"),
      env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
    },
    thinking: { command: bin("mcp-server-sequential-thinking") },
    budget: { command: bin("mcp-budget-allocator-server"), args: ["--stdio"] },
    monitor: { command: bin("mcp-system-monitor-server"), args: ["--stdio"] },
    cohorts: { command: bin("mcp-cohort-heatmap-server"), args: ["--stdio"] },
    recursive: {
      command: process.execPath,
      args: ["test/fixtures/process/recursive-server.mjs"],
    },
  };
}

/** A plugin whose tools take their time, so that a test decides when they end. */
export function createSlow(): {
  plugin: PluginEntry;
  /** Calls that have begun, with why they were aborted. */
  readonly calls: { reason?: unknown; finish(): void; report(progress: number): void }[];
} {
  const calls: { reason?: unknown; finish(): void; report(progress: number): void }[] = [];
  const plugin = definePlugin({
    name: "slow",
    setup(gateway) {
      gateway.tool("wait", {
        description: "Waits until the test lets it go.",
        input: z.object({ text: z.string().default("done") }),
        run: ({ text }, call) =>
          new Promise((resolve, reject) => {
            const entry = {
              finish: () => resolve(text),
              report: (progress: number) => call.progress?.({ progress, total: 10 }),
            };
            calls.push(entry);
            call.signal.addEventListener("abort", () => {
              Object.assign(entry, { reason: call.signal.reason as unknown });
              reject(new Error("aborted"));
            });
          }),
      });
      gateway.tool("fail", {
        description: "Fails.",
        run: () => ({ isError: true, content: [{ type: "text", text: "the disk is full" }] }),
      });
      gateway.tool("strict", {
        description: "Wants a number.",
        input: z.object({ amount: z.number() }),
        run: ({ amount }) => String(amount * 2),
      });
    },
  });
  return { plugin, calls };
}

/** A gateway with the plugin and no MCP client. */
export function startOpenapi(
  options: Record<string, unknown> = {},
  plugins: readonly PluginEntry[] = [],
  config: GatewayConfigInput = {},
): Promise<TestGateway> {
  return setupGateway({ client: false, plugins: [[openapi, options], ...plugins], config });
}

/** A JSON answer. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // eslint-disable-next-line typescript/no-explicit-any -- bodies of all shapes
  readonly body: any;
}

/** Sends a POST with a JSON body. */
export async function post(
  url: string,
  body: unknown = {},
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** A GET that answers JSON. */
export async function get(url: string, headers: Record<string, string> = {}): Promise<Reply> {
  const response = await fetch(url, { headers });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** The error envelope with a code (M012). */
export function refusal(code: string): unknown {
  return { ok: false, error: expect.objectContaining({ code, message: expect.any(String) }) };
}

/** Waits until there are that many. */
export async function waitForCount(list: readonly unknown[], count: number): Promise<void> {
  await expect.poll(() => list.length).toBeGreaterThanOrEqual(count);
}
