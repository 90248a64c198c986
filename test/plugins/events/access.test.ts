import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { digestOf } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createKey } from "../../../plugins/keys/key.ts";
import { fakeUpstream, setupGateway } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import events from "../../../plugins/events/index.ts";
import type { EventMessage } from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import { PATH, TRANSPORTS } from "./readers.ts";

const ROLES = ["viewer", "caller", "operator", "admin", "service"] as const;
const KEYS = Object.fromEntries(ROLES.map((role) => [role, createKey(role)]));

const auth = {
  keys: Object.fromEntries(
    ROLES.map((role) => [role, { role, hash: `sha256:${digestOf(KEYS[role]!)}` as const }]),
  ),
};

/** Status of an attempt, and the kinds that `hello` names. */
interface Attempt {
  readonly status: number;
  readonly kinds: readonly string[];
}

const authorization = (who: string): Record<string, string> =>
  who === "nobody" ? {} : { authorization: `Bearer ${KEYS[who] ?? "wrong"}` };

async function bySse(url: string, who: string, query: string): Promise<Attempt> {
  const answer = await fetch(`${url}${PATH}?${query}`, { headers: authorization(who) });
  if (!answer.ok) {
    expect(await answer.json()).toMatchObject({ ok: false, error: { code: expect.any(String) } });
    return { status: answer.status, kinds: [] };
  }
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  await reader.cancel();
  const hello = JSON.parse(/^data: (.*)$/m.exec(value!)![1]!) as { kinds: string[] };
  return { status: 200, kinds: hello.kinds };
}

async function bySocket(url: string, who: string, query: string): Promise<Attempt> {
  const socket = new WebSocket(`${url.replace("http", "ws")}${PATH}?${query}`, {
    headers: authorization(who),
  });
  const refused = once(socket, "unexpected-response").then(([, answer]) => {
    (answer as IncomingMessage).destroy();
    return { status: (answer as IncomingMessage).statusCode!, kinds: [] };
  });
  // Once the connection is there, a refusal is a close code.
  const closed = once(socket, "close").then(([code]) => ({ status: code as number, kinds: [] }));
  const greeted = once(socket, "message").then(([text]) => {
    const { data } = JSON.parse(String(text)) as Extract<EventMessage, { event: "hello" }>;
    return { status: 200, kinds: data.kinds };
  });
  socket.on("error", () => {});
  const attempt = await Promise.race([refused, closed, greeted]);
  socket.terminate();
  return attempt;
}

describe.each([
  ["server-sent events", bySse, 403],
  ["WebSocket", bySocket, 1008],
] as const)("who may read %s", (_name, attempt, denied) => {
  let url: string;
  let lenient: string;
  let dark: string;

  const start = async (more: object): Promise<string> =>
    (await setupGateway({ plugins: [events], config: { ...more }, client: false })).url;

  it("M122: viewers and above, operators more, nobody without a key", async () => {
    url = await start({ auth });
    const statuses = await Promise.all(
      ["nobody", "wrong", ...ROLES].map(async (who) => (await attempt(url, who, "")).status),
    );
    expect(statuses).toEqual([401, 401, 200, 200, 200, 200, 403]);
    expect((await attempt(url, "viewer", "")).kinds).not.toContain("mutation");
    expect((await attempt(url, "operator", "")).kinds).toContain("mutation");
    for (const kind of ["mutation", "log"]) {
      expect((await attempt(url, "caller", `kinds=${kind}`)).status).toBe(denied);
      expect((await attempt(url, "admin", `kinds=${kind}`)).kinds).toEqual([kind]);
    }
    expect((await attempt(url, "viewer", "kinds=progress")).kinds).toEqual(["progress"]);
  });

  it("M069: with strict off everyone reads as a viewer", async () => {
    lenient = await start({ auth: { ...auth, strict: false } });
    expect((await attempt(lenient, "nobody", "")).kinds).not.toContain("mutation");
    expect((await attempt(lenient, "nobody", "kinds=log")).status).toBe(denied);
  });

  it("M159: without a management there is no channel", async () => {
    dark = await start({ management: { enabled: false } });
    expect((await attempt(dark, "nobody", "")).status).toBe(404);
  });

  it("a token in the URL opens nothing", async () => {
    const strict = await start({ auth });
    expect((await attempt(strict, "nobody", `access_token=${KEYS["admin"]}`)).status).toBe(401);
  });

  it.each(["kinds=everything", "kinds=", "kinds=log&level=loud"])("refuses ?%s", async (query) => {
    const open = await start({});
    expect([422, 1008]).toContain((await attempt(open, "nobody", query)).status);
  });
});

it.each(TRANSPORTS)(
  "M122: over %s the calls of others are shown to operators alone",
  async (_name, read) => {
    const shop = await fakeUpstream({ price: () => "3 EUR" });
    const config = {
      auth,
      listeners: { main: { port: 0 } },
      servers: { shop: { url: shop.url } },
      plugins: { events: {}, gating: {}, admin: {} },
    };
    const plugins = [events, gating, admin];
    const { gateway, url } = await setupGateway({ plugins, config, client: false });
    await expect.poll(() => gateway.servers.get("shop")?.status.state).toBe("ready");
    const readers = await Promise.all(
      ["viewer", "caller", "operator"].map((who) =>
        read(url, { query: "kinds=progress,call_end,reload_done", headers: authorization(who) }),
      ),
    );
    for (const who of ["admin", "caller"]) {
      const answer = await fetch(`${url}/_meta/calls`, {
        method: "POST",
        headers: { "content-type": "application/json", ...authorization(who) },
        body: JSON.stringify({ server: "shop", tool: "price" }),
      });
      expect(answer.status).toBe(200);
    }
    // Everybody sees the reload: what is not there before it was not shown.
    await gateway.apply(config);
    await Promise.all(readers.map((reader) => reader.find("reload_done")));
    expect(readers.map((reader) => reader.kinds().length)).toEqual([1, 4, 7]);
    const [, own, all] = readers.map(({ events: told }) =>
      told.flatMap(({ event, data }) =>
        event === "progress" || event === "call_end" ? [data.call] : [],
      ),
    );
    expect(own).toEqual(all!.slice(3));
    expect(new Set(all).size).toBe(2);
  },
);
