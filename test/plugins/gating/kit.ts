import { z } from "zod";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { definePlugin, type Gateway, type GatewayConfigInput } from "propylon";
import gating, { Gating, type FlagChange, type GatingService } from "propylon/plugins/gating";
import { setupGateway, type PluginEntry, type TestGateway } from "propylon/testing";
import { onTestFinished } from "vitest";
import { serveOld, type Running } from "../servers/support/servers.ts";
import { until } from "../../kit/until.ts";

/** A gateway with gating, and the service as another plugin gets it. */
export interface Gated extends TestGateway {
  readonly service: GatingService;
  /** What the hook told, in order. */
  readonly changes: FlagChange[];
  /** Applies the same config again, with changes. */
  readonly apply: (
    options?: Record<string, unknown>,
    more?: GatewayConfigInput,
  ) => Promise<unknown>;
}

/** Starts a gateway with the plugin under test; memory only unless the options name a file. */
export async function setupGating(
  options: Record<string, unknown> = {},
  config: GatewayConfigInput = {},
  others: readonly PluginEntry[] = [],
): Promise<Gated> {
  const seen: { service?: GatingService } = {};
  const changes: FlagChange[] = [];
  const probe = definePlugin({
    name: "probe",
    inject: { gating: Gating },
    setup: (gateway) => void (seen.service = gateway.services.gating),
  });
  const running = await setupGateway({
    plugins: [[gating, options], probe, ...others],
    config,
    client: false,
  });
  running.gateway.hook("gating:changed", (change) => void changes.push(change));
  const apply = (changed = options, more = config): Promise<unknown> =>
    running.gateway.apply({
      listeners: { main: { port: 0 } },
      ...more,
      plugins: { gating: changed, probe: {} },
    });
  return {
    ...running,
    changes,
    apply,
    get service() {
      return seen.service!;
    },
  };
}

/** A server that calls itself something else than the config does and has one of everything. */
export async function serveEverything(port?: number): Promise<Running> {
  const server = await serveOld(register, port);
  onTestFinished(() => server.close());
  return server;
}

function register(server: McpServer): void {
  const say = (text: string) => ({ content: [{ type: "text" as const, text }] });
  server.registerTool("alpha", { description: "a" }, () => say("alpha"));
  server.registerTool("beta", { description: "b" }, () => say("beta"));
  server.registerResource("note", "note://one", {}, () => ({
    contents: [{ uri: "note://one", text: "one" }],
  }));
  server.registerPrompt(
    "ask",
    { argsSchema: { word: completable(z.string(), () => ["yes", "no"]) } },
    ({ word }) => ({ messages: [{ role: "user", content: { type: "text", text: word } }] }),
  );
}

/** Waits until a server's lists are there. */
export async function whenListed(gateway: Gateway, server: string): Promise<void> {
  await until(() => {
    const found = gateway.servers.get(server);
    return found?.status.state === "ready" && found.catalogue.tools.length > 0;
  });
}
