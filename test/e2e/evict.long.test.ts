import { request } from "node:http";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { createKey } from "../../plugins/keys/key.ts";
import { definePlugin, type GatewayConfigInput, type Identity } from "../../core/index.ts";
import { Authenticators, digestOf } from "propylon/kit";
import { setupGateway, type PluginEntry } from "../../core/testing/index.ts";
import a2a from "../../plugins/a2a/index.ts";
import events from "../../plugins/events/index.ts";
import openapi from "../../plugins/openapi/index.ts";
import ratelimit from "../../plugins/ratelimit/index.ts";

const KEYS = { gone: createKey("caller"), stays: createKey("caller") };
const hashOf = (name: keyof typeof KEYS) =>
  ({ role: "caller", hash: `sha256:${digestOf(KEYS[name])}` }) as const;
const BOTH: GatewayConfigInput["auth"] = { keys: { gone: hashOf("gone"), stays: hashOf("stays") } };
const REASON = "no longer valid";

/** A tool that runs until it is cancelled; tells when it begins and why it ends. */
function slowTool() {
  const begun = vi.fn<() => void>();
  const plugin = definePlugin({
    name: "slow",
    setup: (gateway) =>
      gateway.tool("slow", {
        description: "Never ends.",
        run: (_args, { signal }) =>
          new Promise((_resolve, reject) => {
            begun();
            signal.addEventListener("abort", () => reject(signal.reason as Error));
          }),
      }),
  });
  return { plugin, begun };
}

const PLUGINS = (slow: PluginEntry): PluginEntry[] => [
  slow,
  events,
  openapi,
  [
    a2a,
    {
      listener: "main",
      path: "/a2a",
      skills: [{ id: "s", description: "Slow.", tags: [], tool: { server: "slow", name: "slow" } }],
    },
  ],
];

async function start(auth = BOTH, more: readonly PluginEntry[] = []) {
  const { plugin, begun } = slowTool();
  const { gateway, url } = await setupGateway({
    plugins: [...PLUGINS(plugin), ...more],
    config: { auth },
    client: false,
  });
  const drop = (): Promise<unknown> =>
    gateway.apply({ ...gateway.written, auth: { keys: { stays: hashOf("stays") } } });
  return { gateway, url, begun, drop, endpoint: gateway.endpoints[0]!.url };
}

interface Opened {
  /** All that came, once it ended. */
  readonly text: Promise<string>;
  readonly isOpen: () => boolean;
}

/** Reads a response to its end; resolves once its first bytes, or its head, are there. */
async function open(url: string, bearer: string, init: RequestInit = {}): Promise<Opened> {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const headers = { authorization: `Bearer ${bearer}`, ...(init.headers as object) };
  const response = await fetch(url, { ...init, headers, signal: abort.signal });
  expect(response.status).toBe(200);
  let isOpen = true;
  const text = response.text().finally(() => (isOpen = false));
  text.catch(() => {});
  return { text, isOpen: () => isOpen };
}

const JSON_HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};
const post = (url: string, bearer: string, body: object, headers = {}): Promise<Opened> =>
  open(url, bearer, {
    method: "POST",
    headers: { ...JSON_HEADERS, ...headers },
    body: JSON.stringify(body),
  });

async function initialize(url: string, bearer: string): Promise<Record<string, string>> {
  const response = await fetch(url, {
    method: "POST",
    headers: { ...JSON_HEADERS, authorization: `Bearer ${bearer}` },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "test", version: "1" },
      },
    }),
  });
  await response.text();
  return { "mcp-session-id": response.headers.get("mcp-session-id")! };
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const modernHeaders = (method: string, name?: string): Record<string, string> => ({
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": method,
  ...(name !== undefined && { "mcp-name": name }),
});

type Opener = (at: { url: string; endpoint: string }, bearer: string) => Promise<Opened>;
const A2A_MESSAGE = { message: { messageId: "m", role: "ROLE_USER", parts: [{ data: {} }] } };
const A2A_VERSION = { "a2a-version": "1.0" };
const A2A_STREAMS: Readonly<Record<string, Opener>> = {
  "JSON-RPC": ({ url }, bearer) =>
    post(
      `${url}/a2a`,
      bearer,
      { jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: A2A_MESSAGE },
      A2A_VERSION,
    ),
  "HTTP+JSON": ({ url }, bearer) =>
    post(`${url}/a2a/message:stream`, bearer, A2A_MESSAGE, A2A_VERSION),
};
const STREAMS: Readonly<Record<string, Opener>> = {
  "the GET stream of a session": async ({ endpoint }, bearer) =>
    open(endpoint, bearer, {
      headers: { accept: "text/event-stream", ...(await initialize(endpoint, bearer)) },
    }),
  "subscriptions/listen": ({ endpoint }, bearer) =>
    post(
      endpoint,
      bearer,
      {
        jsonrpc: "2.0",
        id: 1,
        method: "subscriptions/listen",
        params: { notifications: { toolsListChanged: true }, _meta: META },
      },
      modernHeaders("subscriptions/listen"),
    ),
  "the event stream": ({ url }, bearer) => open(`${url}/_meta/events`, bearer),
  "the event stream as a WebSocket": async ({ url }, bearer) => {
    const socket = new WebSocket(`${url.replace("http", "ws")}/_meta/events`, {
      headers: { authorization: `Bearer ${bearer}` },
    });
    onTestFinished(() => socket.terminate());
    const text = new Promise<string>((resolve) =>
      socket.on("close", (code, reason) => resolve(`${code} ${reason.toString()}`)),
    );
    await new Promise((resolve) => socket.once("message", resolve));
    return { text, isOpen: () => socket.readyState === socket.OPEN };
  },
  "a stream of A2A": (at, bearer) => A2A_STREAMS["JSON-RPC"]!(at, bearer),
};
const CALLS: Readonly<Record<string, Opener>> = {
  "a call of a session": async ({ endpoint }, bearer) =>
    post(
      endpoint,
      bearer,
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "slow", arguments: {} } },
      { ...(await initialize(endpoint, bearer)) },
    ),
  "a modern call": ({ endpoint }, bearer) =>
    post(
      endpoint,
      bearer,
      {
        jsonrpc: "2.0",
        id: 2,
        method: "tools/call",
        params: { name: "slow", arguments: {}, _meta: META },
      },
      modernHeaders("tools/call", "slow"),
    ),
  "a tool's stream over HTTP": ({ url }, bearer) =>
    post(`${url}/slow/slow`, bearer, {}, { accept: "text/event-stream" }),
};

/** One call at a time; the next one waits as long as the test runs. */
const QUEUE: PluginEntry = [
  ratelimit,
  { concurrency: { one: { per: [], maxRunning: 1, queueTimeout: "1h" } } },
];

/** Makes a call that nobody waits for; the end of the test cuts it off. */
function begin(call: string, at: { url: string; endpoint: string }, bearer: string): void {
  CALLS[call]!(at, bearer).catch(() => {});
}

describe("a key that a reload takes away", () => {
  it.each(Object.entries(STREAMS))(
    "ends %s, with a reason, and nobody else's",
    async (_what, opener) => {
      const at = await start();
      const [gone, stays] = [await opener(at, KEYS.gone), await opener(at, KEYS.stays)];
      await at.drop();
      expect(await gone.text).toContain(REASON);
      expect(stays.isOpen()).toBe(true);
    },
  );

  it.each(Object.entries(CALLS))("ends %s, with the reason", async (_what, opener) => {
    const at = await start();
    const opened = opener(at, KEYS.gone);
    await expect.poll(() => at.begun.mock.calls.length).toBe(1);
    await at.drop();
    expect(await (await opened).text).toContain(REASON);
    expect(at.gateway.inFlight).toBe(0);
  });

  it.each(Object.entries(CALLS))(
    "ends %s that waits in the queue of a limit, and it never begins",
    async (_what, opener) => {
      const at = await start(BOTH, [QUEUE]);
      const running = CALLS["a modern call"]!(at, KEYS.stays);
      await expect.poll(() => at.begun.mock.calls.length).toBe(1);
      const waiting = opener(at, KEYS.gone);
      await expect.poll(() => at.gateway.inFlight).toBe(2);
      await at.drop();
      expect(await (await waiting).text).toContain(REASON);
      // The place becomes free, and nobody waits for it any more.
      expect(at.gateway.evict(() => true, "Maintenance.").calls).toBe(1);
      expect(await (await running).text).toContain("Maintenance.");
      expect(at.begun).toHaveBeenCalledOnce();
    },
  );

  it.each(["JSON-RPC", "HTTP+JSON"])(
    "ends a stream of A2A over %s with an error of that binding",
    async (binding) => {
      const at = await start();
      const opened = await A2A_STREAMS[binding]!(at, KEYS.gone);
      await expect.poll(() => at.begun.mock.calls.length).toBe(1);
      await at.drop();
      const last = (await opened.text).trim().split("\n\n").at(-1)!;
      const data = JSON.parse(/^data: (.*)$/m.exec(last)![1]!) as Record<string, unknown>;
      expect(data["error"]).toMatchObject({ message: expect.stringContaining(REASON) });
      expect(data).toMatchObject(binding === "JSON-RPC" ? { jsonrpc: "2.0", id: 1 } : {});
    },
  );

  it("ends its sessions, and a request whose body was still on its way begins nothing", async () => {
    const at = await start();
    const session = await initialize(at.endpoint, KEYS.gone);
    const late = request(at.endpoint, {
      method: "POST",
      agent: false,
      headers: {
        ...JSON_HEADERS,
        ...session,
        authorization: `Bearer ${KEYS.gone}`,
        expect: "100-continue",
      },
    });
    onTestFinished(() => void late.destroy());
    const status = new Promise<number | undefined>((resolve, reject) => {
      late.on("response", (response) => resolve(response.resume().statusCode));
      late.on("error", reject);
    });
    late.flushHeaders();
    // The gateway answers the head, so the credential was checked, and the body is awaited.
    await new Promise((resolve) => late.once("continue", resolve));
    await at.drop();
    late.end(
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{}}}',
    );
    expect(await status).toBe(401);
    expect(at.begun).not.toHaveBeenCalled();
  });
});

describe("gateway.evict", () => {
  it("ends what matches, says how much, and keeps nobody out", async () => {
    const at = await start();
    await STREAMS["the GET stream of a session"]!(at, KEYS.gone);
    await STREAMS["subscriptions/listen"]!(at, KEYS.gone);
    begin("a modern call", at, KEYS.gone);
    begin("a modern call", at, KEYS.stays);
    await expect.poll(() => at.begun.mock.calls.length).toBe(2);
    const isGone = ({ ref }: { ref: string }): boolean => ref === "key:gone";
    const ended = at.gateway.evict(isGone, "Maintenance.");
    expect(ended).toEqual({ sessions: 1, streams: 2, calls: 1 });
    const again = await STREAMS["subscriptions/listen"]!(at, KEYS.gone);
    expect(again.isOpen()).toBe(true);
  });

  it("lets calls in flight finish where it is told to", async () => {
    const at = await start();
    begin("a call of a session", at, KEYS.gone);
    await expect.poll(() => at.begun.mock.calls.length).toBe(1);
    const ended = at.gateway.evict(() => true, "Maintenance.", { inFlight: "finish" });
    expect(ended).toEqual({ sessions: 1, streams: 0, calls: 0 });
    expect(at.gateway.inFlight).toBe(1);
  });
});

describe("a credential that expires", () => {
  /** Knows everyone who says when their token ends, in milliseconds since 1970. */
  const people = definePlugin({
    name: "people",
    setup: (gateway) =>
      gateway.add(Authenticators, {
        name: "people",
        authenticate: ({ headers }): Identity | undefined => {
          const token = String(headers["authorization"]).slice("Bearer ".length);
          if (!/^\d+$/.test(token)) return undefined;
          return { id: "ada", kind: "user", roles: new Set(["caller"]), expiresAt: Number(token) };
        },
        challenge: () => "Bearer",
        admits: () => true,
      }),
  });

  it.each(Object.entries(STREAMS))("ends %s, with a reason", async (_what, opener) => {
    const at = await start(BOTH, [people]);
    const until = Date.now() + 3_000;
    const [short, long] = [await opener(at, String(until)), await opener(at, String(until * 2))];
    expect(await short.text).toContain("expired");
    expect(Date.now()).toBeGreaterThanOrEqual(until);
    expect(long.isOpen()).toBe(true);
  });

  it("does not end a call that it began", async () => {
    const at = await start(BOTH, [people]);
    const until = Date.now() + 3_000;
    begin("a modern call", at, String(until));
    const stream = await STREAMS["the event stream"]!(at, String(until));
    await expect.poll(() => at.begun.mock.calls.length).toBe(1);
    await stream.text;
    expect(at.gateway.inFlight).toBe(1);
  });
});
