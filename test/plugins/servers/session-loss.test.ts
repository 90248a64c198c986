import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { callText, makeUpstream, reached } from "./support/calls.ts";
import { rpc, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();

type Refuse = (res: ServerResponse, id: string) => void;

/** A legacy server that knows one session, and refuses all others as told. */
async function serveSession(refuse: Refuse, ping = "30s") {
  const state = { session: "s1", ran: 0, initialized: 0 };
  const server = use(
    await serveHttp((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.method === "initialize") {
        state.initialized++;
        res.setHeader("mcp-session-id", state.session);
        return rpc(res, body.id, {
          protocolVersion: "2025-06-18",
          capabilities: {},
          serverInfo: { name: "x", version: "1" },
        });
      }
      if (req.headers["mcp-session-id"] !== state.session) return refuse(res, body.id);
      if (body.id === undefined) return void res.writeHead(202).end();
      if (body.method === "ping") return rpc(res, body.id, {});
      const error = { code: -32001, message: "Session not found" };
      if (body.params["name"] === "browse") return rpc(res, body.id, undefined, error);
      state.ran++;
      rpc(res, body.id, { content: [{ type: "text", text: "ran" }] });
    }),
  );
  const upstream = use(makeUpstream({ url: server.url, protocol: "legacy", ping }));
  upstream.start();
  await reached(upstream, "ready");
  return { state, upstream };
}

const send =
  (status: number, message: (id: string) => object): Refuse =>
  (res, id) =>
    void res
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(message(id)));
const fault = (code: number, message: string, id?: string): object => ({
  jsonrpc: "2.0",
  id: id ?? null,
  error: { code, message },
});

const REFUSALS: Record<string, Refuse> = {
  "200 with the id of the request": send(200, (id) => fault(-32001, "Session not found", id)),
  "200 with no id": send(200, () => fault(-32001, "Session not found")),
  "200 on an event stream": (res, id) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.end(`data: ${JSON.stringify(fault(-32000, "Session expired", id))}\n\n`);
  },
  "410 with words": send(410, () => fault(-32001, "Session not found")),
  "410 alone": (res) => void res.writeHead(410).end(),
  "401 alone": (res) => void res.writeHead(401).end(),
  "401 with words": send(401, () => fault(-32001, "Invalid session")),
  "403 with words": send(403, () => fault(-32001, "Session has been terminated")),
  "400 of the Python SDK": send(400, () => fault(-32600, "Bad Request: No valid session ID")),
  "500 with words": send(500, () => fault(-32000, "Unknown session")),
};

it.each(Object.entries(REFUSALS))(
  "mcp-17: a session whose loss is told by %s is opened anew, and each call runs once",
  async (_how, refuse) => {
    const { state, upstream } = await serveSession(refuse);
    state.session = "s2";
    const texts = await Promise.all(Array.from({ length: 10 }, () => callText(upstream, "t")));
    expect(texts).toEqual(texts.map(() => "ran"));
    expect({ ...state }).toEqual({ session: "s2", ran: 10, initialized: 2 });
  },
);

it("mcp-17: pings find the loss where nobody calls", async () => {
  const { state, upstream } = await serveSession(
    REFUSALS["200 with the id of the request"]!,
    "60ms",
  );
  state.session = "s2";
  await reached(upstream, "connecting");
  expect(upstream.status.reason).toBe('Connecting again: Server "test" has forgotten its session.');
  await reached(upstream, "ready");
  expect(await callText(upstream, "t")).toBe("ran");
});

it("mcp-17: a server's words about a session of its own cost nobody the connection", async () => {
  const { state, upstream } = await serveSession(() => undefined);
  await expect(callText(upstream, "browse")).rejects.toThrow("-32001: Session not found");
  expect(await callText(upstream, "t")).toBe("ran");
  expect(state.initialized).toBe(1);
});

it("mcp-17: one that forgets every session gets each call twice and no more, and its words arrive", async () => {
  let calls = 0;
  const server = use(
    await serveHttp((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.method === "tools/call") calls++;
      if (body.id === undefined) return void res.writeHead(202).end();
      if (body.method !== "initialize")
        return rpc(res, body.id, undefined, { code: -32001, message: "Session not found" });
      res.setHeader("mcp-session-id", "gone");
      rpc(res, body.id, { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: {} });
    }),
  );
  const upstream = use(makeUpstream({ url: server.url, protocol: "legacy" }));
  upstream.start();
  await reached(upstream, "ready");
  await expect(callText(upstream, "t")).rejects.toThrow("Session not found");
  expect(calls).toBe(2);
});
