import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../core/testing/index.ts";
import a2aClient from "../../plugins/a2a-client/index.ts";
import rest from "../../plugins/rest/index.ts";
import { RuntimeClient } from "../../plugins/sidecar/runtime/runtime.ts";
import { until } from "../kit/until.ts";

/** Most bytes that every face takes here. */
const MAX_RESULT = 100_000;

/** Does one piece of work over HTTP; rejects when it failed. */
type Work = (signal?: AbortSignal) => Promise<unknown>;
/** Makes the work of a face with whoever answers at this origin. */
type Face = (origin: string) => Promise<Work>;

const CARD = {
  name: "agent",
  description: "",
  version: "1",
  skills: [{ id: "talk", name: "Talk", description: "Talks.", tags: [] }],
  defaultInputModes: ["text"],
  defaultOutputModes: ["text"],
};
const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "An API", version: "1" },
  paths: { "/": { post: { operationId: "talk", responses: {} } } },
};

/** Whatever is read before the work: a card, by what the URL ends with, or a document. */
const DESCRIPTIONS: Readonly<Record<string, unknown>> = {
  "/plain/.well-known/agent-card.json": { ...CARD, capabilities: { streaming: false } },
  "/events/.well-known/agent-card.json": { ...CARD, capabilities: { streaming: true } },
  "/standard/.well-known/agent-card.json": {
    ...CARD,
    capabilities: { streaming: false },
    supportedInterfaces: [{ url: "/", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  },
  "/standard-events/.well-known/agent-card.json": {
    ...CARD,
    capabilities: { streaming: true },
    supportedInterfaces: [{ url: "/", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
  },
  "/events/health": {},
  "/plain/health": {},
  "/openapi.json": DOCUMENT,
};

/** A server of a gateway, by its one tool. */
const throughGateway =
  (entry: (origin: string) => { readonly type: string }): Face =>
  async (origin) => {
    const { gateway } = await setupGateway({
      plugins: [a2aClient, rest],
      config: { servers: { other: { maxResult: MAX_RESULT, ...entry(origin) } } },
    });
    await until(() => gateway.servers.get("other")?.status.state === "ready");
    return async (signal) => {
      const args = { message: "hello" };
      const answer = await gateway.call({
        server: "other",
        name: "talk",
        args: entry(origin).type === "a2a" ? args : {},
        ...(signal && { signal }),
      });
      const { isError, content } = answer.result as { isError?: boolean; content: unknown };
      if (answer.error || isError) throw new Error(JSON.stringify(answer.error ?? content));
      return answer.result;
    };
  };

const agentAt = (path: string): Face =>
  throughGateway((origin) => ({ type: "a2a", url: `${origin}${path}` }));

/** A runtime as the sidecar asks it. */
const runtimeAt =
  (path: string): Face =>
  async (origin) => {
    const url = `${origin}${path}`;
    const settings = { url, isPlaced: true, headers: {}, maxResult: MAX_RESULT, startup: 10_000 };
    const client = new RuntimeClient(settings as never, "agent", () => {});
    onTestFinished(() => client.close());
    const never = new AbortController().signal;
    await client.start(never);
    const message = { messageId: "m", role: "user" as const, parts: [{ text: "hello" }] };
    return (signal = never) =>
      client.send({ message }, { id: "t", headers: {}, signal, tell: () => {} });
  };

const FACES: Readonly<Record<string, Face>> = {
  "a runtime behind the sidecar": runtimeAt("/plain"),
  "a runtime behind the sidecar that streams": runtimeAt("/events"),
  "an agent of contract v1": agentAt("/plain"),
  "an agent of contract v1 that streams": agentAt("/events"),
  "an agent of A2A 1.0 over JSON-RPC": agentAt("/standard"),
  "an agent of A2A 1.0 that streams over HTTP+JSON": agentAt("/standard-events"),
  "an API": throughGateway((origin) => ({ type: "openapi", spec: `${origin}/openapi.json` })),
};

/** Answers every request for work so, and tells when its connection is closed. */
async function startOther(answer: (res: ServerResponse, accept: string) => void) {
  let asked = 0;
  let closed = 0;
  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    const { url = "", method } = req;
    if (method !== "POST")
      return void res
        .writeHead(url in DESCRIPTIONS ? 200 : 404)
        .end(JSON.stringify(DESCRIPTIONS[url]));
    asked++;
    res.on("close", () => void closed++);
    req.resume().on("end", () => answer(res, req.headers.accept ?? ""));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, asked: () => asked, closed: () => closed };
}

/** The type that was asked for first. */
const typeOf = (accept: string): string =>
  accept.includes("event-stream") ? "text/event-stream" : "application/json";

const endOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => JSON.stringify(error) + String(error),
  );

describe.each(Object.entries(FACES))("what is sent to %s", (_, face) => {
  it.each([301, 302, 303, 307, 308])("is not sent on to where a %i leads", async (status) => {
    const elsewhere = await startOther((res) => res.end("{}"));
    const other = await startOther((res) =>
      res.writeHead(status, { location: `${elsewhere.origin}/` }).end(),
    );
    const work = await face(other.origin);
    expect(await endOf(work())).not.toBe("done");
    expect(elsewhere.asked()).toBe(0);
    expect(other.asked()).toBe(1);
  });

  it("is given up at an answer above the bound, whose connection is closed", async () => {
    const other = await startOther((res, accept) => {
      res.writeHead(200, { "content-type": typeOf(accept) });
      // Without an end: what is counted when it is whole would be waited for.
      res.write(`data: "${"x".repeat(2 * MAX_RESULT)}`);
    });
    const work = await face(other.origin);
    expect(await endOf(work())).toContain("result_too_large");
    await until(() => other.closed() === 1);
  });

  it("is given up at an error above the bound that says it is events", async () => {
    const other = await startOther((res) => {
      res.writeHead(400, { "content-type": "text/event-stream" });
      for (let sent = 0; sent <= MAX_RESULT; sent += 1_000)
        res.write(`data: ${"x".repeat(993)}\n\n`);
    });
    const work = await face(other.origin);
    expect(await endOf(work())).not.toBe("done");
    await until(() => other.closed() === 1);
  });

  it("ends with its caller, and closes the connection, before and amid an answer", async () => {
    const silent = await startOther(() => {});
    const stalled = await startOther((res, accept) => {
      res.writeHead(200, { "content-type": typeOf(accept) }).write("data: ");
    });
    const left = [silent, stalled].map(async (other) => {
      const work = await face(other.origin);
      const caller = new AbortController();
      const ended = endOf(work(caller.signal));
      await until(() => other.asked() === 1);
      caller.abort(new Error("gone"));
      expect(await ended).not.toBe("done");
      await until(() => other.closed() === 1);
    });
    await Promise.all(left);
  });

  it.each([200, 200_000])("gets nothing out of an answer that nests %i deep", async (depth) => {
    const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    const json = `{"id":"t","deep":${deep},"status":{"state":"completed"}}`;
    const other = await startOther((res, accept) => {
      const type = typeOf(accept);
      res.writeHead(200, { "content-type": type });
      res.end(type === "application/json" ? json : `data: ${json}\n\n`);
    });
    const work = await face(other.origin);
    const result = await work().catch((error: unknown) => ({ error }));
    expect(result).not.toHaveProperty("structuredContent");
    expect(other.asked()).toBe(1);
  });
});
