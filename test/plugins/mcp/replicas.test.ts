import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import pino from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Call } from "../../../core/call/call.ts";
import type { StoreDriver } from "../../../core/store/driver.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { until } from "../../fixtures/until.ts";
import { openDriver as openNats, useServer as startNats } from "../nats/kit.ts";
import { freshSchema, openDriver as openPostgres, startServer } from "../postgres/kit.ts";
import { FakeServer, openSession, post, serve, type Served, text } from "./kit.ts";

const RESOURCE = { uri: "x://a", name: "a" };
/** Exchanges of a test; many more in a campaign. */
const ROUNDS = Number(process.env["REPLICA_ROUNDS"] ?? 40);

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
  return new FakeServer("s", { capabilities, resources: [RESOURCE] })
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

const STORES = [
  [
    "PostgreSQL",
    async () => {
      const { url } = await startServer();
      const schema = freshSchema();
      return () => openPostgres(url, schema);
    },
  ],
  [
    "NATS",
    async () => {
      const { url } = await startNats();
      return () => openNats(url);
    },
  ],
] as const;

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

describe.each(STORES)("gateways of one %s", (_name, start) => {
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
    expect(await (await resume(two, headers, eventId)).text()).toContain("live ist über");
    const mallory = { ...headers, "x-user": "mallory" };
    expect((await resume(two, mallory, eventId)).status).toBe(404);
    expect((await resume(two, headers, eventId.replace(/-[\w]+\.1$/, "-Ing.1"))).status).toBe(400);
    const lost = await breakOff(one, headers, "lost");
    const reading = await resume(two, headers, lost);
    await one.die();
    const told = await reading.text();
    expect(told).toContain("The gateway that ran this call is gone.");
    const again = await (await resume(two, headers, lost)).text();
    expect(again).toContain('"id":"lost"');
    expect(again).toContain('"code":"unavailable"');
  });
});
