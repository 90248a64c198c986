import { request } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import events from "../../../plugins/events/index.ts";
import { populate, startIssuer } from "../../plugins/team-auth/gateway-kit.ts";
import { ADMIN, KOTTOS } from "../../plugins/team-auth/kit.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

/** In hundredths of what the campaign opens. */
const SHARE = Number(process.env["EVICTION_SHARE"] ?? 5) / 100;
/** The campaign has the machine to itself; other tests run beside this one. */
const LIMIT_MS = SHARE === 1 ? 250 : 5_000;
const OTHER = "a3f10000-0000-4000-8000-0000000000ff";

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Something that is open. */
interface Opened {
  /** When it ended, by `performance.now()`, and what was read until then. */
  readonly ended: Promise<{ readonly at: number; readonly text: string }>;
  isOpen: boolean;
}

interface Place {
  readonly url: string;
  readonly endpoint: string;
}

/** Over a connection of its own; resolves when its head is there. */
function open(
  url: string,
  bearer: string,
  init: { headers?: object; body?: object } = {},
): Promise<Opened> {
  const method = init.body ? "POST" : "GET";
  const headers = {
    authorization: `Bearer ${bearer}`,
    accept: init.body ? "application/json, text/event-stream" : "text/event-stream",
    "content-type": "application/json",
    ...init.headers,
  };
  return new Promise((resolve, reject) => {
    const req = request(url, { method, headers, agent: false });
    onTestFinished(() => void req.destroy());
    req.on("error", reject);
    req.on("response", (res) => {
      if (res.statusCode !== 200) return reject(new Error(`status ${res.statusCode}`));
      let text = "";
      const opened: Opened = {
        isOpen: true,
        ended: new Promise((end) => {
          res.on("data", (chunk: Buffer) => (text += chunk.toString()));
          res.on("error", () => {});
          res.on("close", () => {
            opened.isOpen = false;
            end({ at: performance.now(), text });
          });
        }),
      };
      resolve(opened);
    });
    req.end(init.body && JSON.stringify(init.body));
  });
}

async function openSession({ endpoint }: Place, bearer: string): Promise<Opened> {
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const reply = await fetch(endpoint, {
    method: "POST",
    headers: {
      authorization: `Bearer ${bearer}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  await reply.text();
  const session = reply.headers.get("mcp-session-id")!;
  return open(endpoint, bearer, { headers: { "mcp-session-id": session } });
}

const send = (place: Place, bearer: string, method: string, params: object, name?: string) =>
  open(place.endpoint, bearer, {
    headers: {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": name }),
    },
    body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: MODERN } },
  });

const listen = (place: Place, bearer: string): Promise<Opened> =>
  send(place, bearer, "subscriptions/listen", { notifications: { toolsListChanged: true } });

async function openSocket({ url }: Place, bearer: string): Promise<Opened> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/_meta/events`, {
    headers: { authorization: `Bearer ${bearer}` },
  });
  onTestFinished(() => socket.terminate());
  const opened: Opened = {
    isOpen: true,
    ended: new Promise((end) =>
      socket.on("close", (_code, reason) => {
        opened.isOpen = false;
        end({ at: performance.now(), text: reason.toString() });
      }),
    ),
  };
  await new Promise((resolve, reject) => socket.once("message", resolve).once("error", reject));
  return opened;
}

async function many(count: number, make: () => Promise<Opened>): Promise<Opened[]> {
  const all: Opened[] = [];
  for (let left = Math.ceil(count * SHARE); left > 0; left--) all.push(await make());
  return all;
}

/** Calls a tool that runs until it is cancelled. */
async function wait({ endpoint }: Place, bearer: string): Promise<{ at: number; text: string }> {
  const params = { name: "wait", arguments: {}, _meta: MODERN };
  const reply = await fetch(endpoint, {
    method: "POST",
    headers: {
      authorization: `Bearer ${bearer}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": params.name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return { at: performance.now(), text: await reply.text() };
}

it(
  "T110, T116: rotating a team ends all that it has open at once, and nothing of others",
  { timeout: PATIENCE * 300_000 },
  async () => {
    const { issuer, url, gateway } = await startIssuer({}, {}, [events]);
    const { jwt, opaque } = await populate(issuer);
    const { directory } = issuer;
    const other = (await directory.teams.create(ADMIN, { id: OTHER, name: "Other" })).value.jwt!;
    const place = { url, endpoint: gateway.endpoints[0]!.url };
    const kept = [
      ...(await many(250, () => listen(place, other))),
      ...(await many(250, () => openSession(place, opaque))),
    ];
    const ending = {
      "GET stream": await many(200, () => openSession(place, jwt)),
      "listen stream": await many(200, () => listen(place, jwt)),
      WebSocket: await many(50, () => openSocket(place, jwt)),
    };
    const calls = Array.from({ length: Math.ceil(50 * SHARE) }, () => ({
      ended: wait(place, jwt),
    }));
    await expect.poll(() => gateway.inFlight, { timeout: 10_000 }).toBe(calls.length);
    const changed = await directory.teams.rotate(ADMIN, KOTTOS);
    const answered = performance.now();
    const figures: string[] = [];
    const late: string[] = [];
    const texts: string[] = [];
    for (const [name, opened] of Object.entries({ ...ending, call: calls })) {
      const ends = await Promise.all(opened.map(({ ended }) => ended));
      const last = Math.max(...ends.map(({ at }) => at - answered));
      figures.push(`${ends.length} ${name}s: ${last.toFixed(0)} ms`);
      if (last >= LIMIT_MS) late.push(name);
      texts.push(...ends.map(({ text }) => text));
    }
    process.stdout.write(`${figures.join(", ")}; ${JSON.stringify(changed.ended)}\n`);
    expect(late).toEqual([]);
    // Assertions take time that the gateway, in this process, would lack while it ends the rest.
    for (const text of texts) expect(text).toContain("The credential was revoked.");
    expect(kept.filter(({ isOpen }) => !isOpen)).toEqual([]);
    expect(changed.ended.calls).toBe(calls.length);
    expect(changed.ended.streams).toBeGreaterThanOrEqual(Object.values(ending).flat().length);
  },
);
