import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Gateway } from "propylon";
import { setupGateway, type GatewaySetup, type TestGateway } from "propylon/testing";
import { until } from "../../kit/until.ts";

/** A gateway as it is configured, with the official client, once these servers are there. */
export async function startField(
  config: GatewaySetup["config"],
  { plugins = [], ready = Object.keys(config?.servers ?? {}) }: FieldOptions = {},
): Promise<TestGateway> {
  const started = await setupGateway({ plugins, config: config! });
  for (const name of ready) await serverIsReady(started.gateway, name);
  return started;
}

interface FieldOptions {
  readonly plugins?: GatewaySetup["plugins"];
  /** Default: all that are configured. */
  readonly ready?: readonly string[];
}

export async function serverIsReady({ info }: Gateway, name: string): Promise<void> {
  await until(() => info.servers.get(name)?.status.state === "ready");
}

/** The first text of a call's result. */
export async function callText(client: Client, name: string, args: object = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: { ...args } });
  return (content as { text: string }[])[0]!.text;
}

/** Names of the tools that a client is told, in order. */
export async function toolNames(client: Client): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}
