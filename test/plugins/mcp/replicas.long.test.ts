import { setImmediate } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import pino from "pino";
import type { Call } from "propylon";
import type { ServerEvent } from "propylon/kit";
import type { StoreDriver } from "propylon/store";
import { describe, expect, it, onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { EndpointContext } from "../../../plugins/mcp/view/context.ts";
import { Session } from "../../../plugins/mcp/session/session.ts";
import { RemoteSessions } from "../../../plugins/mcp/replicas/remote-sessions.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { storesOf } from "../../fixtures/stores.ts";
import { until } from "../../kit/until.ts";
import { openDriver as openNats, useServer as startNats } from "../nats/kit.ts";
import { freshSchema, openDriver as openPostgres, startServer } from "../postgres/kit.ts";
import { FakeServer, openSession, post, postModern, serve, type Served, text } from "./kit.ts";
import { StreamReader } from "./stream-reader.ts";

const RESOURCE = { uri: "x://a", name: "a" };
const OTHER = { uri: "x://b", name: "b" };
/** How often a stream moves to another gateway; 1,000 times in the campaign. */
const MOVES = Number(process.env["STREAM_MOVES"] ?? 12);
/** Exchanges of a test; many more in a campaign. */
const ROUNDS = Number(process.env["REPLICA_ROUNDS"] ?? 15);

/** A gateway of a fleet. */
interface Replica extends Served {
  readonly id: string;
  readonly server: FakeServer;
  /** Calls of `wait` that run here, by their argument `name`. */
  readonly running: Map<string, Call>;
  /** Lets calls of `wait` end. */
  readonly go: Map<string, () => void>;
  /** Ends it as a kill does: nothing is said to clients, nor to the store. */
  die(): Promise<void>;
}

async function startReplica(driver: StoreDriver): Promise<Replica> {
  const store = new GatewayStore(driver, pino({ level: "silent" }));
  await store.join();
  const running = new Map<string, Call>();
  const go = new Map<string, () => void>();
  const server = createServer(running, go);
  const served = await serve([server], { store: store.scope("mcp") });
  let isDead = false;
  const die = async (): Promise<void> => {
    if (isDead) return;
    isDead = true;
    await driver.close();
    await served.kill();
  };
  onTestFinished(async () => {
    if (isDead) return;
    await served.close();
    await store.close();
  });
  return { ...served, id: store.connection.replica, server, running, go, die };
}

function createServer(running: Map<string, Call>, go: Map<string, () => void>): FakeServer {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true },
    logging: {},
  };
  return new FakeServer("s", { capabilities, resources: [RESOURCE, OTHER] })
    .tool("echo", ({ args }) => text(String(args!["name"])))
    .tool("ask", async ({ args, peer }) => {
      const message = String(args!["name"]);
      const requestedSchema = { type: "object", properties: { said: { type: "string" } } };
      const answer = await peer.ask("elicitation/create", { message, requestedSchema });
      return text(JSON.stringify(answer));
    })
    .tool("wait", async (call) => {
      const name = String(call.args!["name"]);
      call.progress?.({ progress: 1, message: "begun" });
      running.set(name, call);
      await new Promise<void>((resolve) => {
        go.set(name, resolve);
        call.signal.addEventListener("abort", () => resolve());
      });
      call.progress?.({ progress: 2, message: "över" });
      return text(`${name} ist über`);
    });
}

const STORES = storesOf(
  [
    "NATS",
    async () => {
      const { url } = await startNats();
      return () => openNats(url);
    },
  ],
  [
    "PostgreSQL",
    async () => {
      const { url } = await startServer();
      const schema = freshSchema();
      return () => openPostgres(url, schema);
    },
  ],
);

/** The next of a list, and none twice in a row. */
function* inTurn<T>(all: readonly T[]): Generator<T, never> {
  for (let at = 0; ; at += 1 + Math.floor(Math.random() * (all.length - 1)))
    yield all[at % all.length]!;
}

/** An official client, each request of which goes to another gateway than the one before. */
async function connect(replicas: readonly Replica[]): Promise<Client> {
  const next = inTurn(replicas);
  const client = new Client(
    { name: "roaming", version: "1" },
    { capabilities: { elicitation: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: "accept",
    content: { said: params.message },
  }));
  const reconnectionOptions = {
    initialReconnectionDelay: 10,
    maxReconnectionDelay: 50,
    reconnectionDelayGrowFactor: 1,
    maxRetries: 500,
  };
  const transport = new StreamableHTTPClientTransport(replicas[0]!.url, {
    reconnectionOptions,
    fetch: (_url, init) => fetch(next.next().value.url, init),
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

const idOf = (client: Client): string =>
  (client.transport as StreamableHTTPClientTransport).sessionId!;

const textOf = (result: object): string =>
  (result as { content: { text: string }[] }).content[0]!.text;

/** A call by hand at one gateway, broken off at its first event: that event's id. */
async function breakOff(
  replica: Replica,
  headers: Record<string, string>,
  name: string,
): Promise<string> {
  const abort = new AbortController();
  const params = { name: "wait", arguments: { name }, _meta: { progressToken: name } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: name, method: "tools/call", params });
  const response = await fetch(replica.url, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body,
    signal: abort.signal,
  });
  let got = "";
  for await (const chunk of response.body!) {
    got += Buffer.from(chunk as Uint8Array).toString();
    if (got.includes("begun")) break;
  }
  abort.abort();
  return /^id: (.*)$/m.exec(got)![1]!;
}

const resume = (
  replica: Replica,
  headers: Record<string, string>,
  eventId: string,
): Promise<Response> =>
  fetch(replica.url, {
    headers: { ...headers, accept: "text/event-stream", "last-event-id": eventId },
  });

/** Three gateways whose servers hear the same, each by itself and in any order. */
async function startThree(open: () => Promise<StoreDriver>) {
  const replicas: Replica[] = [];
  for (let each = 0; each < 3; each++) replicas.push(await startReplica(await open()));
  const tell = async (event: ServerEvent): Promise<void> => {
    const order = replicas.toSorted(() => Math.random() - 0.5);
    for (const { server } of order) {
      server.emit(event);
      if (Math.random() < 0.5) await setImmediate();
    }
  };
  const update = (uri: string, step: number): Promise<void> =>
    tell({ type: "updated", params: { uri, step } });
  /** A tool changes its description, and nothing else does. */
  const relist = (step: number): Promise<void> => {
    for (const { server } of replicas) {
      const [first, ...rest] = server.catalogue.tools;
      const tools = [{ ...first!, description: `As of ${step}.` }, ...rest];
      server.catalogue = { ...server.catalogue, tools };
    }
    return tell({ type: "changed", lists: ["tools"] });
  };
  return { replicas, update, relist };
}

describe.each(STORES)("gateways of one %s", (_name, start) => {
  it(
    `the stream of a session moves ${MOVES} times: its client is told everything once, and nobody else`,
    { timeout: PATIENCE * (90_000 + MOVES * 500) },
    async () => {
      const { replicas, update, relist } = await startThree(await start());
      const headers = await openSession(replicas[0]!.url);
      const others = await openSession(replicas[0]!.url);
      const listen = (at: number, own: typeof headers, id?: string): Promise<StreamReader> => {
        const more = { accept: "text/event-stream", ...(id && { "last-event-id": id }) };
        return new StreamReader(id).open(replicas[at]!.url, { headers: { ...own, ...more } });
      };
      const subscribe = async (own: typeof headers, { uri }: typeof RESOURCE): Promise<void> => {
        const body = { jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri } };
        expect(await (await post(replicas[1]!.url, body, own)).json()).toMatchObject({
          result: {},
        });
      };
      await subscribe(headers, RESOURCE);
      await subscribe(others, OTHER);
      let reader = await listen(0, headers);
      const stays = await listen(1, others);
      await until(() => reader.lastId && stays.lastId);
      const readers = [reader];
      const move = async (at: number): Promise<void> => {
        const { lastId } = reader;
        reader.close();
        reader = await listen(at, headers, lastId);
        readers.push(reader);
      };
      const steps = (): number[] => readers.flatMap((each) => each.stepsOf(RESOURCE.uri));
      const lists = (): number =>
        readers.reduce((sum, each) => sum + each.count("notifications/tools/list_changed"), 0);
      for (let step = 0; step < MOVES; step++) {
        const isList = step % 4 > 1;
        // Lists that change twice before anybody is told are one change.
        const told = lists();
        await (isList ? relist(step) : update(RESOURCE.uri, step));
        await update(OTHER.uri, step);
        const at = (step * 7 + 1) % 3;
        const isTold = async (): Promise<boolean> => {
          // As clients do whose stream ends.
          if (reader.isOver) await move(at);
          return isList ? lists() > told : steps().includes(step);
        };
        // Half of the moves are made while the event is on its way.
        if (step % 2 === 0) await until(isTold);
        await move(at);
        await until(isTold, 20_000);
      }
      const updates = Array.from({ length: MOVES }, (_, step) => step).filter((at) => at % 4 < 2);
      expect(steps()).toEqual(updates);
      expect(lists()).toBe(MOVES - updates.length);
      const all = updates.length + lists();
      expect(readers.reduce((sum, { messages }) => sum + messages.length, 0)).toBe(all);
      expect(stays.stepsOf(OTHER.uri)).toEqual(Array.from({ length: MOVES }, (_, step) => step));
      expect(stays.stepsOf(RESOURCE.uri)).toEqual([]);

      // When nothing happens the gateway that the client came to tells by itself, and another one says what may be missing when it dies.
      const last = reader.lastId!;
      const home = replicas.find(({ id }) => !last.startsWith(id))!;
      await move(replicas.indexOf(home));
      await until(() => reader.lastId?.startsWith(home.id), 20_000);
      await update(RESOURCE.uri, MOVES);
      await until(() => steps().includes(MOVES));
      expect(steps()).toEqual([...updates, MOVES]);
      await home.die();
      const at = replicas.findIndex((each) => each !== home);
      const late = await listen(at, headers, reader.lastId);
      await until(() => late.messages.length > 0, 20_000);
      expect(late.messages).toEqual([
        {
          jsonrpc: "2.0",
          method: "notifications/resources/updated",
          params: { uri: RESOURCE.uri },
        },
      ]);
      replicas[at]!.server.emit({
        type: "updated",
        params: { uri: RESOURCE.uri, step: MOVES + 1 },
      });
      await until(() => late.stepsOf(RESOURCE.uri).length > 0);
      expect(late.messages).toHaveLength(2);
    },
  );

  it(
    `a subscription is made anew ${MOVES} times at any of them: what it shows it shows once, and under its own name`,
    { timeout: PATIENCE * (60_000 + MOVES * 500) },
    async () => {
      const { replicas, update, relist } = await startThree(await start());
      const listen = async (at: number, id: number): Promise<StreamReader> => {
        const notifications = { toolsListChanged: true, resourceSubscriptions: [RESOURCE.uri] };
        const { url } = replicas[at]!;
        const response = await postModern(url, id, "subscriptions/listen", { notifications });
        const reader = new StreamReader().read(response);
        await until(() => reader.count("notifications/subscriptions/acknowledged") === 1);
        return reader;
      };
      let reader = await listen(0, 0);
      const readers = [reader];
      const countOf = (step: number): number =>
        readers.flatMap((each) => each.stepsOf(RESOURCE.uri)).filter((at) => at === step).length;
      const lists = (): number =>
        readers.reduce((sum, each) => sum + each.count("notifications/tools/list_changed"), 0);
      for (let step = 0; step < MOVES; step++) {
        const before = lists();
        const isList = step % 4 > 1;
        await (isList ? relist(step) : update(RESOURCE.uri, step));
        const told = (): number => (isList ? lists() - before : countOf(step));
        if (step % 2 === 0) await until(() => told() > 0);
        reader.close();
        reader = await listen((step * 7 + 1) % 3, step + 1);
        readers.push(reader);
        // A new subscription says so first; what came before it is of the one that ended.
        expect(countOf(step)).toBeLessThanOrEqual(1);
      }
      for (const [id, { messages }] of readers.entries()) {
        // The one step whose list changed while it was open, and that of before where its gateway had yet to notice.
        const changes = messages.filter(({ method }) => method?.endsWith("list_changed"));
        expect(changes.length).toBeLessThanOrEqual(2);
        const names = messages.map(({ params }) => params?._meta);
        const subscription = { "io.modelcontextprotocol/subscriptionId": id };
        expect(names).toEqual(messages.map(() => expect.objectContaining(subscription)));
      }
    },
  );

  it.each([2, 3])(
    "%i of them serve one client: calls, answers to questions, progress and the end",
    async (count) => {
      const open = await start();
      const replicas: Replica[] = [];
      for (let each = 0; each < count; each++) replicas.push(await startReplica(await open()));
      const client = await connect(replicas);
      for (let round = 0; round < ROUNDS; round++) {
        const name = `n${round}`;
        const echo = await client.callTool({ name: "echo", arguments: { name } });
        expect(textOf(echo)).toBe(name);
        // The answer is a request of its own, so it comes to another gateway than the call.
        const answer = await client.callTool({ name: "ask", arguments: { name } });
        expect(JSON.parse(textOf(answer))).toEqual({ action: "accept", content: { said: name } });
      }
      expect(replicas.map(({ endpoint }) => endpoint.sessionCount)).toEqual(replicas.map(() => 1));
      const headers = { "mcp-session-id": idOf(client) };
      await (client.transport as StreamableHTTPClientTransport).terminateSession();
      await until(() => replicas.every(({ endpoint }) => endpoint.sessionCount === 0));
      for (const { url } of replicas)
        expect((await post(url, { jsonrpc: "2.0", id: 1, method: "ping" }, headers)).status).toBe(
          404,
        );
    },
  );

  it("a call is cancelled from any of them, by its own client only", async () => {
    const open = await start();
    const [one, two] = [await startReplica(await open()), await startReplica(await open())];
    const [mine, other] = [await openSession(one.url), await openSession(two.url)];
    const call = (headers: Record<string, string>, name: string): Promise<Response> => {
      const params = { name: "wait", arguments: { name } };
      return post(one.url, { jsonrpc: "2.0", id: 7, method: "tools/call", params }, headers);
    };
    const cancel = (headers: Record<string, string>): Promise<Response> => {
      const message = { method: "notifications/cancelled", params: { requestId: 7 } };
      return post(two.url, { jsonrpc: "2.0", ...message }, headers);
    };
    // Two clients give their requests the same id.
    const calls = [call(mine, "mine"), call(other, "other")];
    await until(() => one.running.size === 2);
    const [myCall, otherCall] = [one.running.get("mine")!, one.running.get("other")!];
    expect((await cancel({ ...mine, "x-user": "mallory" })).status).toBe(404);
    expect((await cancel(mine)).status).toBe(202);
    await until(() => myCall.signal.aborted);
    expect(otherCall.signal.aborted).toBe(false);
    expect((await cancel(other)).status).toBe(202);
    await until(() => otherCall.signal.aborted);
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([202, 202]);
    const forged = { jsonrpc: "2.0", id: `${one.id}_${one.id}`, result: {} };
    expect((await post(two.url, forged, mine)).status).toBe(202);
  });

  it("subscriptions, log level and changed lists are those of the session, wherever it has its stream", async () => {
    const open = await start();
    const [one, two] = [await startReplica(await open()), await startReplica(await open())];
    const headers = await openSession(one.url);
    const stream = await fetch(one.url, { headers: { ...headers, accept: "text/event-stream" } });
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let told = "";
    void (async () => {
      for (;;) {
        const { value, done } = await reader.read().catch(() => ({ value: "", done: true }));
        if (done) return;
        told += value;
      }
    })();
    const ask = async (replica: Replica, method: string, params: object): Promise<void> => {
      const response = await post(replica.url, { jsonrpc: "2.0", id: 1, method, params }, headers);
      expect(await response.json()).toMatchObject({ result: {} });
    };
    await ask(two, "resources/subscribe", { uri: RESOURCE.uri });
    await until(() => one.server.subscribed.length > 0);
    expect(one.server.subscribed).toEqual([`+${RESOURCE.uri}`]);
    await ask(two, "logging/setLevel", { level: "warning" });
    await until(() => one.server.levels.at(-1) === "warning");
    one.server.emit({ type: "updated", params: { uri: RESOURCE.uri } });
    await until(() => told.includes(RESOURCE.uri));
    // Both gateways learn of the new list; the one with the stream tells it, and the other need not.
    for (const { server } of [one, two]) {
      server.tool("more", () => text("more"));
      server.emit({ type: "changed", lists: ["tools"] });
    }
    await until(() => told.includes("tools/list_changed"));
    await ask(one, "resources/unsubscribe", { uri: RESOURCE.uri });
    await until(() => two.server.subscribed.at(-1) === `-${RESOURCE.uri}`);
    expect(two.server.levels.at(-1)).toBe("warning");
    expect(told.match(/list_changed/g)).toHaveLength(1);
  });

  it("the stream of a call is read on at any of them, and one that was lost with its gateway is told", async () => {
    const open = await start();
    const [one, two] = [await startReplica(await open()), await startReplica(await open())];
    const headers = await openSession(one.url);
    const eventId = await breakOff(one, headers, "live");
    const live = await resume(two, headers, eventId);
    expect(live.status).toBe(200);
    one.go.get("live")!();
    const rest = await live.text();
    expect(rest).toContain("över");
    expect(rest).toContain("live ist über");
    // It is over, and still kept.
    const again = await (await resume(two, headers, eventId)).text();
    expect(again).toContain("live ist über");
    for (const replica of [one, two]) {
      const over = await resume(
        replica,
        headers,
        again
          .match(/^id: (.*)$/gm)!
          .at(-1)!
          .slice(4),
      );
      expect([over.status, over.headers.get("allow")]).toEqual([405, "POST, DELETE"]);
    }
    const mallory = { ...headers, "x-user": "mallory" };
    expect((await resume(two, mallory, eventId)).status).toBe(404);
    expect((await resume(two, headers, eventId.replace(/-[\w]+\.1$/, "-Ing.1"))).status).toBe(400);
    const lost = await breakOff(one, headers, "lost");
    const reading = await resume(two, headers, lost);
    await one.die();
    const told = await reading.text();
    expect(told).toContain("The replica that ran this call is gone.");
    const twice = await (await resume(two, headers, lost)).text();
    expect(twice).toContain('"id":"lost"');
    expect(twice).toContain('"code":"unavailable"');
    expect((await resume(two, headers, /^id: (.*)$/m.exec(twice)![1]!)).status).toBe(405);
  });
});

it("streams that come from other gateways are bounded, of one principal and in all, and those refused are told", async () => {
  const served = await serve([]);
  onTestFinished(() => served.close());
  const { host } = served;
  const sessions = { find: () => undefined, save: async () => {}, saveLater: () => {} };
  const peers = new RemoteSessions(new EndpointContext("mcp", host), sessions);
  onTestFinished(() => peers.close());
  const elsewhere = { replica: "gone", eventId: undefined };
  const follow = async (principal: string): Promise<string> => {
    const session = new Session(principal, "2025-11-25", {});
    const parts = peers.follow(session, elsewhere, new AbortController().signal);
    return parts[Symbol.asyncIterator]()
      .next()
      .then(
        () => "told",
        (error: { readonly code: string }) => error.code,
      );
  };
  const codes = await Promise.all(
    ["a", "b", "c"].flatMap((principal) => Array.from({ length: 151 }, () => follow(principal))),
  );
  // 150 of each of the first two are looked for; there is no such gateway.
  const refused = codes.flatMap((code, at) => (code === "unavailable" ? [at] : []));
  expect(refused).toEqual([150, 301, ...Array.from({ length: 151 }, (_, at) => 302 + at)]);
  const told = host.events.filter(([name]) => name === "stream:refused");
  expect(told).toEqual([
    ["stream:refused", "mcp", "principal"],
    ...Array.from({ length: 152 }, () => ["stream:refused", "mcp", "total"]),
  ]);
  // Their places are free again.
  expect(await follow("a")).toBe("not_found");
});
