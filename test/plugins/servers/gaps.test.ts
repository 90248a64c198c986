import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { until } from "../../kit/until.ts";
import { makeUpstream, nextEvent, reached } from "./support/calls.ts";
import { rpc, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();
const URI = "mem://count";

/** A legacy server with sessions whose tools and event stream are a test's to change. */
async function serveStreams() {
  const state = {
    tools: ["before"],
    streams: [] as ServerResponse[],
    asked: [] as string[],
    /** What the next streams are refused with. */
    refuse: 0,
    eventId: undefined as string | undefined,
  };
  const server = use(
    await serveHttp((req, res, body) => {
      if (req.method === "DELETE") return void res.writeHead(200).end();
      if (req.method === "GET") {
        if (state.refuse > 0) return void res.writeHead(503).end(String(state.refuse--));
        res.writeHead(200, { "content-type": "text/event-stream" });
        res.write(state.eventId === undefined ? ": open\n\n" : `id: ${state.eventId}\ndata:\n\n`);
        return void state.streams.push(res);
      }
      if (body.id === undefined) return void res.writeHead(202).end();
      state.asked.push(body.method);
      if (body.method === "initialize") {
        res.setHeader("mcp-session-id", "one");
        return rpc(res, body.id, {
          protocolVersion: "2025-11-25",
          capabilities: {
            tools: { listChanged: true },
            resources: { subscribe: true, listChanged: true },
          },
          serverInfo: { name: "x", version: "1" },
        });
      }
      const tools = state.tools.map((name) => ({ name, inputSchema: { type: "object" } }));
      const lists = { tools, resources: [], resourceTemplates: [] };
      rpc(res, body.id, body.method.endsWith("/list") ? lists : {});
    }),
  );
  const upstream = use(makeUpstream({ url: server.url, protocol: "legacy" }));
  upstream.start();
  await reached(upstream, "ready");
  await until(() => state.streams.length === 1);
  return { state, upstream };
}

it.each([
  ["cut", (stream: ServerResponse) => void stream.socket!.destroy()],
  ["ended", (stream: ServerResponse) => void stream.end()],
])(
  "mcp-10: what changed while the event stream was %s is read when it is back",
  async (_how, end) => {
    const { state, upstream } = await serveStreams();
    await upstream.subscribe(URI);
    const changed = nextEvent(upstream, "changed");
    const updated = nextEvent(upstream, "updated");
    state.tools = ["after"];
    end(state.streams[0]!);
    expect((await changed).lists).toEqual(["tools"]);
    expect((await updated).params).toEqual({ uri: URI });
    expect(upstream.catalogue.tools.map(({ name }) => name)).toEqual(["after"]);
    expect(state.streams).toHaveLength(2);
  },
);

it("mcp-10: also where the stream is refused for a while first, and where it has event ids", async () => {
  const { state, upstream } = await serveStreams();
  state.eventId = "7";
  state.refuse = 1;
  const changed = nextEvent(upstream, "changed");
  state.tools = ["after"];
  state.streams[0]!.socket!.destroy();
  expect((await changed).lists).toEqual(["tools"]);
});

it("mcp-10: clients hear of no change where nothing has changed", async () => {
  const { state, upstream } = await serveStreams();
  const told: string[] = [];
  upstream.on(({ type }) => told.push(type));
  state.asked.splice(0);
  state.streams[0]!.socket!.destroy();
  await until(() => state.asked.includes("resources/templates/list"));
  const changed = nextEvent(upstream, "changed");
  state.tools = ["after"];
  const news = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
  state.streams.at(-1)!.write(`data: ${JSON.stringify(news)}\n\n`);
  await changed;
  expect(told).toEqual(["changed"]);
});

it("mcp-11: who watches a resource reads it again when the whole connection was lost", async () => {
  const { state, upstream } = await serveStreams();
  await upstream.subscribe(URI);
  const updated = nextEvent(upstream, "updated");
  void upstream.reconnect();
  expect((await updated).params).toEqual({ uri: URI });
  expect(state.asked.filter((method) => method === "resources/subscribe")).toHaveLength(2);
});

it("mcp-10: a server that ends its stream all the time is not asked for its lists all the time", async () => {
  const { state } = await serveStreams();
  state.asked.splice(0);
  for (let gap = 0; gap < 3; gap++) {
    state.streams.at(-1)!.end("retry: 10\n\n");
    await until(() => state.streams.length === gap + 2);
  }
  await until(() => state.asked.includes("tools/list"));
  expect(state.asked.filter((method) => method === "tools/list")).toHaveLength(1);
});
