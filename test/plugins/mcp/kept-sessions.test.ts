import { setImmediate } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import type { Principal } from "../../../core/index.ts";
import { createPrincipal } from "../../../core/kit.ts";
import { freePort } from "../../../core/testing/index.ts";
import { SessionLookup } from "../../../plugins/mcp/session/session-lookup.ts";
import { deferred } from "../../kit/deferred.ts";
import { until } from "../../kit/until.ts";
import { type Kept, outliving } from "./kept.ts";
import { FakeServer, openSession, post, serve, type Served, text } from "./kit.ts";

afterEach(() => void vi.useRealTimers());

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };
const RESOURCE = { uri: "x://a", name: "a" };

type Options = Parameters<typeof serve>[1];

/** Gateways that follow each other on one port and one store. */
class Rig {
  readonly kept: Kept;
  readonly #port: number;
  served!: Served;

  private constructor(kept: Kept, port: number) {
    this.kept = kept;
    this.#port = port;
  }

  static async start(options: Options & { server?: FakeServer; kept?: Kept } = {}): Promise<Rig> {
    const { server, kept = outliving(), ...others } = options;
    const rig = new Rig(kept, await freePort());
    await rig.start(server, others);
    onTestFinished(() => rig.served.close());
    return rig;
  }

  get url(): URL {
    return this.served.url;
  }

  async restart(server?: FakeServer, options?: Options): Promise<void> {
    await this.served.close();
    await this.start(server, options);
  }

  async kill(): Promise<void> {
    await this.served.kill();
    await this.start();
  }

  async start(server: FakeServer = echo(), options: Options = {}): Promise<void> {
    this.served = await serve([server], {
      ...options,
      store: this.kept.open(),
      port: this.#port,
    });
    // Connections to the one before are found to be broken.
    await until(() => fetch(this.url, { method: "OPTIONS" }).then(Boolean, () => false));
  }

  /** A session opened by hand: its headers. */
  open(headers?: Record<string, string>): Promise<Record<string, string>> {
    return openSession(this.url, {}, headers);
  }

  async ping(headers: Record<string, string>): Promise<number> {
    const { status } = await post(this.url, PING, headers);
    return status;
  }

  async end(headers: Record<string, string>): Promise<number> {
    const { status } = await fetch(this.url, { method: "DELETE", headers });
    return status;
  }
}

function echo(): FakeServer {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true },
    logging: {},
  };
  return new FakeServer("s", { capabilities, resources: [RESOURCE] }).tool("echo", () =>
    text("here"),
  );
}

/** An official client whose stream comes back at once. */
async function connect({ url, served }: Rig): Promise<Client> {
  const before = served.requests();
  const client = new Client({ name: "kept", version: "1" });
  const reconnectionOptions = {
    initialReconnectionDelay: 10,
    maxReconnectionDelay: 50,
    reconnectionDelayGrowFactor: 1,
    maxRetries: 500,
  };
  await client.connect(new StreamableHTTPClientTransport(url, { reconnectionOptions }));
  onTestFinished(() => client.close());
  // It opens its stream behind the handshake; one that never was open does not come back.
  await until(() => served.requests() === before + 3);
  return client;
}

const call = (client: Client): Promise<unknown> =>
  client.callTool({ name: "echo", arguments: {} }).then(({ content }) => content);

/** How often a client's stream was opened so far. */
const streamOf = (rig: Rig) => () =>
  [...rig.kept.asked].filter((line) => line.startsWith("get")).length;

it("an official client goes on after a restart, and the store is asked for its session once", async () => {
  const rig = await Rig.start();
  const client = await connect(rig);
  expect(await call(client)).toMatchObject([{ text: "here" }]);
  expect(rig.kept.asked.filter((line) => !line.startsWith("put"))).toEqual([]);
  for (let restart = 0; restart < 3; restart++) {
    rig.kept.asked.length = 0;
    await rig.restart();
    for (let count = 0; count < 20; count++)
      expect(await call(client)).toMatchObject([{ text: "here" }]);
    expect(rig.kept.asked.filter((line) => line.startsWith("get")).length).toBe(1);
    expect(rig.served.endpoint.sessionCount).toBe(1);
    expect(rig.served.host.events.map(([name]) => name)).toEqual(["session:open"]);
  }
  await (client.transport as StreamableHTTPClientTransport).terminateSession();
  expect(await rig.kept.keys()).toEqual([]);
});

it("many requests that name one session at the same time open it once", async () => {
  const rig = await Rig.start();
  const headers = await rig.open();
  await rig.restart();
  const answers = await Promise.all(Array.from({ length: 50 }, () => rig.ping(headers)));
  expect(new Set(answers)).toEqual(new Set([200]));
  expect(rig.served.endpoint.sessionCount).toBe(1);
  expect(rig.kept.asked.filter((line) => line.startsWith("get")).length).toBe(1);
});

it("a client that goes away while its session is looked for leaves nothing open", async () => {
  const rig = await Rig.start();
  const headers = await rig.open();
  await rig.restart();
  let go!: () => void;
  rig.kept.hold = new Promise((resolve) => (go = resolve));
  const asked = rig.kept.asked.length;
  const abort = new AbortController();
  const stream = { ...headers, accept: "text/event-stream" };
  const opened = fetch(rig.url, { headers: stream, signal: abort.signal }).catch(() => {});
  await until(() => rig.kept.asked.length > asked);
  const open = rig.served.sockets();
  abort.abort();
  await opened;
  await until(() => rig.served.sockets() < open);
  go();
  expect(await rig.ping(headers)).toBe(200);
  expect(rig.served.host.leases.evict(() => true, "over")).toBe(0);
});

it("a deleted session does not come back", async () => {
  const rig = await Rig.start();
  const [one, two] = [await rig.open(), await rig.open()];
  expect(await rig.end(one)).toBe(200);
  expect(await rig.ping(one)).toBe(404);
  await rig.restart();
  expect(await rig.ping(one)).toBe(404);
  // Neither does one that this process has never used.
  expect(await rig.end(two)).toBe(200);
  expect(await rig.ping(two)).toBe(404);
  await rig.restart();
  expect(await rig.ping(two)).toBe(404);
  expect(await rig.kept.keys()).toEqual([]);
});

it("a deleted session does not come back by a write that was under way", async () => {
  const rig = await Rig.start();
  const headers = await rig.open();
  let go!: () => void;
  rig.kept.hold = new Promise((resolve) => (go = resolve));
  const level = (id: number) => ({
    jsonrpc: "2.0",
    id,
    method: "logging/setLevel",
    params: { level: "error" },
  });
  const before = rig.kept.asked.length;
  const first = post(rig.url, level(1), headers);
  await until(() => rig.kept.asked.length > before);
  const ended = rig.end(headers);
  const second = post(rig.url, level(2), headers);
  await until(() => rig.served.requests() === 5);
  go();
  expect(await ended).toBe(200);
  await Promise.all([first, second]);
  expect(await rig.kept.keys()).toEqual([]);
  await rig.restart();
  expect(await rig.ping(headers)).toBe(404);
});

it("T4: a session of another principal, or of another endpoint, is none", async () => {
  const rig = await Rig.start();
  const headers = await rig.open({ "x-user": "ada" });
  await rig.restart();
  expect(await rig.ping({ ...headers, "x-user": "mallory" })).toBe(404);
  expect(await rig.end({ ...headers, "x-user": "mallory" })).toBe(404);
  expect(rig.served.endpoint.sessionCount).toBe(0);
  await rig.restart(undefined, { name: "other" });
  expect(await rig.ping(headers)).toBe(404);
  await rig.restart();
  expect(await rig.ping(headers)).toBe(200);
});

it("the id of a session is not in the store", async () => {
  const rig = await Rig.start();
  const headers = await rig.open();
  const [key] = await rig.kept.keys();
  const id = headers["mcp-session-id"]!;
  expect(key).not.toContain(id);
  expect(await rig.kept.read(key!)).not.toContain(id);
});

it("an id that no session can have, or a broken record, is 404", async () => {
  const rig = await Rig.start();
  const headers = await rig.open();
  await rig.restart();
  rig.kept.asked.length = 0;
  expect(await rig.ping({ ...headers, "mcp-session-id": "../etc/passwd" })).toBe(404);
  expect(rig.kept.asked).toEqual([]);
  const [key] = await rig.kept.keys();
  const broken = (await rig.kept.read(key!)).replace('"logLevel":-1', '"logLevel":99');
  await rig.kept.write(key!, broken);
  expect(await rig.ping(headers)).toBe(404);
  // It is left alone.
  expect(await rig.kept.read(key!)).toBe(broken);
});

it("a session ends with its idle limit, which is written anew now and then and not with each request", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  const limits = { sessionIdle: "8m" };
  const rig = await Rig.start({ limits });
  const headers = await rig.open();
  rig.kept.asked.length = 0;
  const minutes = async (count: number): Promise<void> => {
    for (let minute = 0; minute < count; minute++) {
      for (let request = 0; request < 5; request++) expect(await rig.ping(headers)).toBe(200);
      vi.advanceTimersByTime(60_000);
    }
  };
  await minutes(24);
  const writes = rig.kept.asked.filter((line) => line.startsWith("put")).length;
  expect(writes).toBeGreaterThanOrEqual(6);
  expect(writes).toBeLessThanOrEqual(12);
  await rig.restart(undefined, { limits });
  vi.setSystemTime(Date.now() + 7 * 60_000);
  expect(await rig.ping(headers)).toBe(200);
  await until(async () => (await rig.kept.keys()).length === 1);
  await rig.restart(undefined, { limits });
  vi.setSystemTime(Date.now() + 13 * 60_000);
  expect(await rig.ping(headers)).toBe(404);
});

it("sessions that made way, or were unused too long, do not come back", async () => {
  const rig = await Rig.start({ limits: { sessions: 2 } });
  const [one, two, three] = [await rig.open(), await rig.open(), await rig.open()];
  expect(await rig.ping(one)).toBe(404);
  await until(async () => (await rig.kept.keys()).length === 2);
  await rig.restart(undefined, { limits: { sessions: 2 } });
  expect([await rig.ping(one), await rig.ping(two), await rig.ping(three)]).toEqual([
    404, 200, 200,
  ]);
  await rig.restart(undefined, { limits: { sessionIdle: "50ms" } });
  expect(await rig.ping(three)).toBe(200);
  // What is kept of the other one may go first.
  await until(() => rig.served.endpoint.sessionCount === 0);
  await until(async () => (await rig.kept.keys()).length < 2);
  expect(await rig.ping(three)).toBe(404);
});

it("many sessions that end together leave turns to others while they are removed", async () => {
  const rig = await Rig.start();
  for (let opened = 0; opened < 100; opened++) await rig.open({ "x-user": "ada" });
  const other = await rig.open();
  expect(rig.served.endpoint.revoke(({ id }) => id === "ada")).toBe(100);
  await setImmediate();
  expect((await rig.kept.keys()).length).toBeGreaterThan(50);
  await until(async () => (await rig.kept.keys()).length === 1);
  expect(await rig.ping(other)).toBe(200);
});

it("while the store is away open sessions go on, and nobody is told that a session is gone", async () => {
  const rig = await Rig.start();
  const [known, unknown] = [await rig.open(), await rig.open()];
  await rig.restart();
  expect(await rig.ping(known)).toBe(200);
  rig.kept.away = true;
  const tool = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "echo" } };
  expect(await (await post(rig.url, tool, known)).json()).toMatchObject({ id: 2, result: {} });
  const refused = await post(rig.url, PING, unknown);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(await refused.json()).toMatchObject({ id: 1, error: { data: { code: "unavailable" } } });
  const params = { protocolVersion: "2025-11-25", capabilities: {} };
  const initialize = { jsonrpc: "2.0", id: 3, method: "initialize", params };
  const opened = await post(rig.url, initialize);
  expect([opened.status, opened.headers.get("mcp-session-id")]).toEqual([503, null]);
  expect(await opened.json()).toMatchObject({ id: 3, error: { data: { code: "unavailable" } } });
  const level = { jsonrpc: "2.0", id: 4, method: "logging/setLevel", params: { level: "debug" } };
  expect(await (await post(rig.url, level, known)).json()).toMatchObject({
    error: { data: { code: "unavailable" } },
  });
  expect(rig.served.servers[0]!.levels.at(-1)).toBeUndefined();
  expect(await rig.end(known)).toBe(503);
  expect(await rig.ping(known)).toBe(200);
  rig.kept.away = false;
  expect(await until(async () => (await rig.ping(unknown)) === 200)).toBe(true);
  expect(await rig.end(known)).toBe(200);
});

it("what ended while the store was away is gone from it once it is back", async () => {
  const rig = await Rig.start({ limits: { sessionIdle: "50ms" } });
  const headers = await rig.open();
  rig.kept.away = true;
  await until(() => rig.served.endpoint.sessionCount === 0);
  expect(await rig.ping(headers)).toBe(404);
  rig.kept.away = false;
  await until(async () => (await rig.kept.keys()).length === 0);
  expect(await rig.ping(headers)).toBe(404);
});

it("subscriptions and the log level go on", async () => {
  const rig = await Rig.start();
  const client = await connect(rig);
  const heard: unknown[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    heard.push(params.uri);
  });
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    heard.push(params.data);
  });
  await client.subscribeResource({ uri: RESOURCE.uri });
  await client.setLoggingLevel("warning");
  const server = echo();
  await rig.restart(server);
  await until(() => rig.served.host.events.length > 0);
  expect(server.subscribed).toEqual([`+${RESOURCE.uri}`]);
  expect(server.levels.at(-1)).toBe("warning");
  server.emit({ type: "updated", params: { uri: RESOURCE.uri } });
  server.emit({ type: "log", params: { level: "info", data: "quiet" } });
  server.emit({ type: "log", params: { level: "error", data: "loud" } });
  await until(() => heard.length >= 2);
  expect(heard).toEqual([RESOURCE.uri, "loud"]);
  await client.unsubscribeResource({ uri: RESOURCE.uri });
  const next = echo();
  await rig.restart(next);
  await call(client);
  expect(next.subscribed).toEqual([]);
  expect(next.levels.at(-1)).toBe("warning");
});

it("a resource that no server has after the restart is watched as soon as one has it", async () => {
  const rig = await Rig.start();
  const client = await connect(rig);
  await client.subscribeResource({ uri: RESOURCE.uri });
  const bare = new FakeServer("s").tool("echo", () => text("here"));
  await rig.restart(bare);
  await call(client);
  expect(bare.subscribed).toEqual([]);
  bare.catalogue = { ...echo().catalogue, hash: "later" };
  bare.emit({ type: "changed", lists: ["resources"] });
  await until(() => bare.subscribed.length > 0);
  expect(bare.subscribed).toEqual([`+${RESOURCE.uri}`]);
});

it("a list that changed while the gateway was down is told once", async () => {
  const rig = await Rig.start();
  const client = await connect(rig);
  let told = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void told++);
  const more = (): FakeServer => echo().tool("more", () => text("more"));
  const [key] = await rig.kept.keys();
  const before = await rig.kept.read(key!);
  await rig.restart(more());
  await until(() => told === 1);
  await until(async () => (await rig.kept.read(key!)) !== before);
  const opened = streamOf(rig);
  for (let restart = 0; restart < 3; restart++) {
    const count = opened();
    await rig.restart(more());
    await until(() => opened() > count);
    // On the same stream, so behind what would have been told.
    const server = rig.served.servers[0]!;
    await client.setLoggingLevel("info");
    const heard = new Promise<void>((resolve) => {
      client.setNotificationHandler(LoggingMessageNotificationSchema, () => resolve());
    });
    const said = setInterval(
      () => server.emit({ type: "log", params: { level: "error", data: "x" } }),
      5,
    );
    await heard;
    clearInterval(said);
    expect(told).toBe(1);
  }
  await rig.restart(echo());
  await until(() => told === 2);
});

it("a call that ran at the restart is answered with an error where its client reads on", async () => {
  const { promise: begun, resolve: running } = deferred();
  const server = echo().tool("long", (held) => {
    held.progress?.({ progress: 1 });
    running();
    return new Promise(() => {});
  });
  const rig = await Rig.start({ server });
  const client = await connect(rig);
  const failed = client
    .callTool({ name: "long", arguments: {} }, undefined, { onprogress: () => {} })
    .catch((error: unknown) => error);
  await begun;
  await until(() => rig.served.host.calls.length === 1);
  await rig.kill();
  const error = await failed;
  expect(error).toMatchObject({ code: -32000, data: { code: "unavailable" } });
  expect(String(error)).toContain("started again while this call ran");
  expect(await call(client)).toMatchObject([{ text: "here" }]);
});

it("event ids of before the restart mean nothing of what came after it", async () => {
  const server = echo().tool("steps", (held) => {
    held.progress?.({ progress: 1 });
    return text("secret");
  });
  const rig = await Rig.start({ server });
  const headers = { ...(await rig.open()), accept: "text/event-stream" };
  const seven = Buffer.from("7").toString("base64url");
  const read = async (id: string): Promise<[number, string]> => {
    const abort = new AbortController();
    const answer = await fetch(rig.url, {
      headers: { ...headers, "last-event-id": id },
      signal: abort.signal,
    });
    const body = id.endsWith(`-${seven}.1`) ? await answer.text() : "";
    abort.abort();
    return [answer.status, body];
  };
  await rig.restart(server);
  const params = { name: "steps", arguments: {}, _meta: { progressToken: 1 } };
  const steps = { jsonrpc: "2.0", id: 7, method: "tools/call", params };
  expect(await (await post(rig.url, steps, headers)).text()).toContain("secret");
  const [status, body] = await read(`0-${seven}.1`);
  expect(status).toBe(200);
  expect(body).toContain('"id":7');
  // Its client has been told, and has no more to come.
  expect((await read(/^id: (.*)$/m.exec(body)![1]!))[0]).toBe(405);
  expect(body).not.toContain("secret");
  // Without the id of its request there is nobody to answer: a stream, as without the header.
  expect((await read("0.1"))[0]).toBe(200);
  const unreadable = `0-${Buffer.from("{}").toString("base64url")}.1`;
  await until(async () => (await read(unreadable))[0] === 200);
  expect((await read("zzzzzzzzzz.1"))[0]).toBe(400);
  expect((await read("nonsense"))[0]).toBe(400);
});

it("what a session keeps is bounded", async () => {
  const server = echo();
  server.catalogue = {
    ...server.catalogue,
    resources: [RESOURCE, ...["b", "c"].map((c) => ({ uri: `x://${c.repeat(40_000)}`, name: c }))],
  };
  const rig = await Rig.start({ server });
  const headers = await rig.open();
  const [, first, second] = server.catalogue.resources.map(({ uri }) => uri);
  const subscribe = async (uri: string): Promise<unknown> => {
    const message = { jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri } };
    return (await post(rig.url, message, headers)).json();
  };
  expect(await subscribe(first!)).toMatchObject({ result: {} });
  expect(await subscribe(second!)).toMatchObject({ error: { data: { code: "too_large" } } });
  await until(() => server.subscribed.length === 3);
  expect(server.subscribed).toEqual([`+${first}`, `+${second}`, `-${second}`]);
});

it("a store that keeps nothing is never asked", async () => {
  const kept = outliving({ durable: false, shared: false });
  const rig = await Rig.start({ kept });
  const headers = await rig.open();
  expect(await rig.ping(headers)).toBe(200);
  expect(await rig.ping({ ...headers, "mcp-session-id": crypto.randomUUID() })).toBe(404);
  expect(await rig.end(headers)).toBe(200);
  await rig.restart();
  expect(await rig.ping(headers)).toBe(404);
  expect(kept.asked).toEqual([]);
});

it("two gateways of one store: what ended at one does not come back at the other, and what is unused there goes on here", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  const kept = outliving({ durable: true, shared: true });
  const limits = { sessionIdle: "8m" };
  const one = await Rig.start({ kept, limits });
  const other = await Rig.start({ kept, limits });
  const minutes = async (count: number, work: () => Promise<void>): Promise<void> => {
    for (let minute = 0; minute < count; minute++) {
      await work();
      vi.advanceTimersByTime(60_000);
    }
  };
  const headers = await one.open();
  await minutes(10, async () => expect(await other.ping(headers)).toBe(200));
  await until(() => one.served.endpoint.sessionCount === 0);
  await minutes(10, async () => expect(await other.ping(headers)).toBe(200));
  expect(await one.ping(headers)).toBe(200);
  expect(await other.end(headers)).toBe(200);
  // It has it still, until it writes.
  for (let minute = 0; minute < 4; minute++) {
    await one.ping(headers);
    vi.advanceTimersByTime(60_000);
  }
  await until(() => one.served.endpoint.sessionCount === 0);
  expect(await kept.keys()).toEqual([]);
  expect([await one.ping(headers), await other.ping(headers)]).toEqual([404, 404]);
});

it("T5: look-ups under way are bounded, for one principal and for all", async () => {
  const who = (id: string): Principal =>
    createPrincipal({ id, kind: "anonymous", roles: new Set(["caller"]) });
  let looked = 0;
  const lookup = new SessionLookup(() => {
    looked++;
    return new Promise(() => {});
  });
  const [mallory, ada] = [who("mallory"), who("ada")];
  const refused: unknown[] = [];
  const look = (principal: Principal): void =>
    void lookup
      .look(crypto.randomUUID(), principal)!
      .catch((error: unknown) => refused.push(error));
  for (let count = 0; count < 1_500; count++) look(mallory);
  await until(() => refused.length === 500);
  expect(refused[0]).toMatchObject({ code: "unavailable", headers: { "retry-after": "1" } });
  look(ada);
  expect(looked).toBe(1_001);
  for (let count = 0; count < 10_000; count++) look(who(`u${count}`));
  expect(looked).toBe(4_000);
});
