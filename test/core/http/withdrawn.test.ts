import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { definePlugin, type GatewayConfigInput, type Identity } from "../../../core/index.ts";
import { Authenticators, digestOf, readJson } from "../../../core/kit.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { deferred } from "../../kit/deferred.ts";
import { modernMeta } from "../../plugins/mcp/kit.ts";
import { z } from "zod";

const KEYS = { gone: "a-key-that-is-taken-away", stays: "a-key-that-stays-in-place" };
const hashOf = (key: string) => ({ role: "admin" as const, hash: `sha256:${digestOf(key)}` });
const STAYS = { keys: { stays: hashOf(KEYS.stays) } };
const AUTH = { keys: { gone: hashOf(KEYS.gone), ...STAYS.keys } };
const GONE = "The credential is no longer valid.";
const BEARER = { authorization: "Bearer slow" };
const ADA: Identity = { id: "ada", kind: "user", roles: new Set(["admin"]) };

/** A gateway whose plugin `directory` checks tokens for as long as the test likes, with something behind every kind of route. */
async function start(servers: NonNullable<GatewayConfigInput["servers"]> = {}) {
  const { promise: asked, resolve: ask } = deferred();
  const { promise: checked, resolve: know } = deferred<Identity>();
  const acted = vi.fn<(what: string) => void>();
  const directory = definePlugin({
    name: "directory",
    setup: (gateway) =>
      gateway.add(Authenticators, {
        name: "directory",
        authenticate({ headers }) {
          if (headers["authorization"] !== BEARER.authorization) return undefined;
          ask();
          return checked;
        },
      }),
  });
  const faces = definePlugin({
    name: "faces",
    setup(gateway) {
      const access = "admin";
      gateway.route("GET", "/stream", { access, mutates: false }, () => {
        acted("stream");
        const body = new ReadableStream({
          start: (stream) => stream.enqueue(Buffer.from(":\n\n")),
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      });
      gateway.route("POST", "/change", { access, mutates: true }, async (event) => {
        const read = await readJson(event, z.strictObject({ name: z.string() }));
        acted("change");
        return read;
      });
      gateway.route("DELETE", "/change", { access, mutates: true }, () => acted("delete"));
      gateway.route("GET", "/socket", { access, mutates: false, websocket: true }, () =>
        acted("socket"),
      );
      gateway.tool("act", {
        description: "Acts.",
        run: () => {
          acted("call");
          return "";
        },
      });
    },
  });
  const { gateway, url } = await setupGateway({
    plugins: [directory, faces],
    config: { auth: AUTH, servers },
    client: false,
  });
  const { directory: _, ...plugins } = gateway.written.plugins!;
  return {
    url,
    acted,
    asked,
    know: () => know(ADA),
    reload: () => gateway.apply({ ...gateway.written, plugins, auth: STAYS }),
    gateway,
  };
}

const JSON_HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};
const message = (method: string, params: object): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const INITIALIZE = message("initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "c", version: "1" },
});

it.each([
  ["an event stream", "GET", "/stream", undefined],
  ["a change", "POST", "/change", '{"name":"x"}'],
  ["a change without a body", "DELETE", "/change", undefined],
  ["a session", "POST", "/mcp", INITIALIZE],
  ["a stream of a session", "GET", "/mcp", undefined],
  ["a call", "POST", "/mcp", message("tools/call", { name: "act", arguments: {} })],
] as const)(
  "a token whose check outlasts it begins nothing: %s",
  async (_what, method, path, body) => {
    const { url, asked, know, reload, acted } = await start();
    const headers = { ...BEARER, ...JSON_HEADERS };
    const answer = fetch(`${url}${path}`, { method, headers, ...(body && { body }) });
    await asked;
    await reload();
    know();
    const { status, headers: got } = await answer;
    await (await answer).body?.cancel();
    expect(status).toBe(401);
    expect(got.get("mcp-session-id")).toBeNull();
    expect(acted).not.toHaveBeenCalled();
  },
);

it("a token whose check outlasts it opens no WebSocket", async () => {
  const { url, asked, know, reload, acted } = await start();
  const socket = new WebSocket(`${url.replace("http", "ws")}/socket`, { headers: BEARER });
  onTestFinished(() => socket.terminate());
  socket.on("error", () => {});
  const refused = once(socket, "unexpected-response");
  await asked;
  await reload();
  know();
  const [, { statusCode }] = (await refused) as [unknown, IncomingMessage];
  expect(statusCode).toBe(401);
  expect(acted).not.toHaveBeenCalled();
});

it("a token whose check outlasts it is told nothing of the endpoints", async () => {
  const { url, asked, know, reload } = await start();
  const answer = fetch(`${url}/`, { headers: BEARER });
  await asked;
  await reload();
  know();
  expect(await (await answer).json()).not.toHaveProperty("endpoints");
});

it("a token whose check ends before it goes gets in", async () => {
  const { url, know } = await start();
  know();
  const headers = { ...BEARER, ...JSON_HEADERS };
  const answer = await fetch(`${url}/change`, { method: "POST", headers, body: '{"name":"x"}' });
  expect([answer.status, await answer.json()]).toEqual([200, { name: "x" }]);
});

it.each(["content-length", "transfer-encoding"])(
  "a key that goes while its body is on the way changes nothing (%s)",
  async (header) => {
    const { url, reload, acted, gateway } = await start();
    const ended: object[] = [];
    gateway.hook("mutation", (mutation) => void ended.push(mutation));
    const body = '{"name":"x"}';
    const answerOf = async (key: string, between: () => Promise<unknown>) => {
      const req = request(`${url}/change`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          [header]: header === "content-length" ? body.length : "chunked",
        },
      });
      const answer = once(req, "response");
      await new Promise((resolve) => req.write(body.slice(0, 5), resolve));
      await between();
      req.end(body.slice(5));
      const [res] = (await answer) as [IncomingMessage];
      return { status: res.statusCode, text: Buffer.concat(await res.toArray()).toString() };
    };
    const arrived = async (): Promise<void> => {
      // A second request is known after the first.
      await fetch(`${url}/change`, { method: "POST" });
    };
    const refused = await answerOf(KEYS.gone, async () => {
      await arrived();
      await reload();
    });
    expect(refused).toEqual({ status: 401, text: expect.stringContaining(GONE) as string });
    expect(acted).not.toHaveBeenCalled();
    expect(ended).toContainEqual(
      expect.objectContaining({ who: "key:gone", status: 401 }) as object,
    );
    expect(await answerOf(KEYS.stays, arrived)).toEqual({ status: 200, text: body });
  },
);

const HANGS = { command: process.execPath, args: ["-e", "setInterval(() => {}, 1_000)"] };

it("a key that goes while its session waits for servers opens none", async () => {
  const { url, reload, gateway } = await start({ hangs: HANGS });
  const opened = vi.fn<() => void>();
  gateway.hook("session:open", opened);
  const headers = { authorization: `Bearer ${KEYS.gone}`, ...JSON_HEADERS };
  const answer = fetch(`${url}/mcp`, { method: "POST", headers, body: INITIALIZE });
  // A second request is known after the first.
  await fetch(`${url}/change`, { method: "POST" });
  await reload();
  const { status, body } = await answer;
  await body?.cancel();
  expect(status).toBe(401);
  expect(opened).not.toHaveBeenCalled();
});

it.each(["tools/list", "server/discover"])(
  "a key that goes while %s waits for servers is told nothing",
  async (method) => {
    const { url, reload } = await start({ hangs: HANGS });
    const headers = {
      authorization: `Bearer ${KEYS.gone}`,
      ...JSON_HEADERS,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
    };
    const answer = fetch(`${url}/mcp`, {
      method: "POST",
      headers,
      body: message(method, { _meta: modernMeta() }),
    });
    // A second request is known after the first.
    await fetch(`${url}/change`, { method: "POST" });
    await reload();
    expect((await answer).status).toBe(401);
    expect(await (await answer).text()).toContain(GONE);
  },
);

it("a key that goes while the list of its session waits for servers is told nothing", async () => {
  const { url, reload, gateway } = await start();
  const headers = { authorization: `Bearer ${KEYS.gone}`, ...JSON_HEADERS };
  const opened = await fetch(`${url}/mcp`, { method: "POST", headers, body: INITIALIZE });
  await opened.body?.cancel();
  await gateway.apply({ ...gateway.written, servers: { hangs: HANGS } });
  const session = { ...headers, "mcp-session-id": opened.headers.get("mcp-session-id")! };
  const body = message("tools/list", {});
  const answer = fetch(`${url}/mcp`, { method: "POST", headers: session, body });
  await fetch(`${url}/change`, { method: "POST" });
  await reload();
  const text = await (await answer).text();
  expect(text).toContain(GONE);
  expect(text).not.toContain("inputSchema");
});
