import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished } from "vitest";
import { setupGateway, type GatewaySetup } from "../../../core/testing/index.ts";
import consolePlugin from "../../../plugins/console/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { makeFolder } from "../../kit/folder.ts";
import type { ScriptedIssuer } from "./scripted-issuer.ts";

/** Options of a console whose agents are asked for their health each second, and have as long for it as a busy machine needs. */
export const QUICK_HEALTH = {
  allowedAddresses: ["127.0.0.1"],
  healthInterval: "1s",
  healthTimeout: `${PATIENCE * 500}ms`,
};

export const SECRET_KEY = "a secret of the console for its tests";

/** An instance as the REST shows it. */
export interface InstanceView {
  readonly id: string;
  readonly name: string;
  readonly registry_url: string | null;
  readonly registry_problem: string | null;
  readonly pallas_team_mnemosyne_status: string | null;
  readonly team_reason: string | null;
  readonly token: "none" | "unseen" | "shown";
  readonly agents: readonly AgentView[];
}

export interface AgentView {
  readonly id: string;
  readonly server_id: string;
  readonly title: string;
  readonly label?: string;
  readonly icon: string | null;
  readonly url: string;
  readonly health: { readonly status: string; readonly message: string | null } | null;
}

/** What a request came back with. */
export interface Reply<T = Record<string, unknown>> {
  readonly status: number;
  readonly body: T;
  readonly headers: Headers;
}

/** A console with a store of its own. */
export interface TestConsole {
  readonly url: string;
  readonly folder: string;
  /** Its log. */
  readonly lines: Record<string, unknown>[];
  readonly ask: <T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
  ) => Promise<Reply<T>>;
  /** Registers an instance without agents. */
  readonly register: (name: string) => Promise<InstanceView>;
  readonly instance: (id: string) => Promise<InstanceView>;
  readonly metric: (name: string) => Promise<number>;
  /** The page of all metrics. */
  readonly page: () => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Options for an issuer that is asked as seldom as can be. */
export function withIssuer(issuer: ScriptedIssuer, more: object = {}): Record<string, unknown> {
  const [username, password] = issuer.account.split(":");
  return {
    issuer: { url: issuer.url, username, password, timeout: "10s" },
    secretKeys: [SECRET_KEY],
    allowedAddresses: ["127.0.0.1"],
    interval: "1h",
    ...more,
  };
}

/** Starts a gateway with a console. */
export async function setupConsole(
  options: Record<string, unknown>,
  {
    folder = makeFolder(),
    config,
    plugins = [sqlite],
    ...setup
  }: GatewaySetup & { readonly folder?: string } = {},
): Promise<TestConsole> {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { level: "debug" },
    { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const { url, gateway } = await setupGateway({
    plugins: [...plugins, [consolePlugin, options]],
    config: { store: `sqlite:${join(folder, "gateway.db")}`, ...config },
    client: false,
    log,
    ...setup,
  });
  const ask = <T>(method: string, path: string, body?: unknown): Promise<Reply<T>> =>
    request<T>(`${url}/api/v1${path}`, method, body);
  return {
    url,
    folder,
    lines,
    ask,
    register: async (name) => {
      const made = await ask<InstanceView>("POST", "/pallas", { name });
      expect(made.status).toBe(201);
      return made.body;
    },
    instance: async (id) => (await ask<InstanceView>("GET", `/pallas/${id}`)).body,
    page: async () => (await gateway.manage()).metrics(),
    metric: async (name) => {
      const page = await (await gateway.manage()).metrics();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(page)?.[1]);
    },
    close: () => gateway.close({ grace: 1_000 }),
  };
}

async function request<T>(url: string, method: string, body?: unknown): Promise<Reply<T>> {
  const response = await fetch(url, {
    method,
    ...(body !== undefined && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: (text === "" ? undefined : JSON.parse(text)) as T,
    headers: response.headers,
  };
}

/** A registry over real HTTP. */
export interface ScriptedRegistry {
  readonly url: string;
  /** What it answers; a function answers by itself. */
  document: unknown;
  readonly paths: string[];
}

/** Starts one that ends with the running test. */
export async function startRegistry(document: unknown): Promise<ScriptedRegistry> {
  const paths: string[] = [];
  const server = createServer((incoming, response) => {
    paths.push(incoming.url ?? "");
    const said = registry.document;
    if (typeof said === "function") return (said as (to: ServerResponse) => void)(response);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(said));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const registry: ScriptedRegistry = { url: `http://127.0.0.1:${port}`, document, paths };
  return registry;
}

/** An entry of a registry. */
export function entryOf(name: string, more: object = {}): object {
  const remotes = [
    { type: "streamable-http", url: `http://127.0.0.1:9/${encodeURIComponent(name)}` },
  ];
  return { server: { name, remotes, ...more }, _meta: {} };
}
