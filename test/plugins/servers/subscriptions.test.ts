import type { ServerResponse } from "node:http";
import type { ServerEvent } from "propylon/kit";
import { expect, it } from "vitest";
import { makeUpstream, nextEvent, reached } from "./support/calls.ts";
import { rpc, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();

/** One `subscriptions/listen` as a modern server sees it. */
interface Listen {
  readonly uris: readonly string[];
  acknowledge(): void;
  update(uri: string): void;
}

/** A modern server that only knows streams, each of which does what the test says. */
async function serveStreams() {
  const listens: Listen[] = [];
  let arrived = (): void => {};
  const server = use(
    await serveHttp((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.method === "server/discover")
        return rpc(res, body.id, {
          supportedVersions: ["2026-07-28"],
          capabilities: { resources: { subscribe: true } },
          resultType: "complete",
        });
      if (body.method !== "subscriptions/listen")
        return rpc(res, body.id, { resources: [], resourceTemplates: [], resultType: "complete" });
      listens.push(toListen(res, body));
      arrived();
    }),
  );
  const upstream = use(makeUpstream({ url: server.url, protocol: "modern" }));
  upstream.start();
  await reached(upstream, "ready");
  const updates: string[] = [];
  upstream.on((event: ServerEvent) => {
    if (event.type === "updated") updates.push(String(event.params["uri"]));
  });
  const stream = async (count: number): Promise<Listen> => {
    while (listens.length < count) await new Promise<void>((resolve) => (arrived = resolve));
    return listens[count - 1]!;
  };
  return { upstream, updates, stream, listens };
}

function toListen(
  res: ServerResponse,
  { id, params }: { id: string; params: Record<string, unknown> },
): Listen {
  res.writeHead(200, { "content-type": "text/event-stream" });
  const _meta = { "io.modelcontextprotocol/subscriptionId": id };
  const say = (method: string, rest: object = {}): void =>
    void res.write(
      `data: ${JSON.stringify({ jsonrpc: "2.0", method, params: { ...rest, _meta } })}\n\n`,
    );
  const { resourceSubscriptions = [] } = params["notifications"] as {
    resourceSubscriptions?: string[];
  };
  return {
    uris: resourceSubscriptions,
    acknowledge: () => say("notifications/subscriptions/acknowledged"),
    update: (uri) => say("notifications/resources/updated", { uri }),
  };
}

it("an update that two streams bring while the set is widened arrives once, a later one again", async () => {
  const { upstream, updates, stream } = await serveStreams();
  const first = upstream.subscribe("x://a");
  const old = await stream(1);
  old.acknowledge();
  await first;
  const second = upstream.subscribe("x://b");
  const wide = await stream(2);
  expect(wide.uris).toEqual(["x://a", "x://b"]);
  old.update("x://a");
  wide.update("x://a");
  wide.update("x://b");
  wide.acknowledge();
  await second;
  const told = nextEvent(upstream, "updated", ({ params }) => params["uri"] === "x://b");
  await told;
  expect(updates).toEqual(["x://a", "x://b"]);
  wide.update("x://a");
  await nextEvent(upstream, "updated");
  expect(updates).toEqual(["x://a", "x://b", "x://a"]);
});

it("who asks for a resource that is being asked for waits for the same answer", async () => {
  const { upstream, stream, listens } = await serveStreams();
  const order: string[] = [];
  const both = [
    upstream.subscribe("x://a").then(() => order.push("first")),
    upstream.subscribe("x://a").then(() => order.push("second")),
  ];
  const only = await stream(1);
  order.push("asked");
  only.acknowledge();
  await Promise.all(both);
  expect(order).toEqual(["asked", "first", "second"]);
  expect(listens).toHaveLength(1);
  // Counted twice, so it is still watched after one is gone.
  await upstream.unsubscribe("x://a");
  expect(listens).toHaveLength(1);
});

it("who waited for an answer that is a refusal is refused too, and nothing stays counted", async () => {
  let refusals = 0;
  const server = use(
    await serveHttp((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.method === "initialize")
        return rpc(res, body.id, {
          protocolVersion: "2025-11-25",
          capabilities: { resources: { subscribe: true } },
          serverInfo: { name: "x", version: "1" },
        });
      if (body.method === "resources/subscribe") {
        refusals++;
        return rpc(res, body.id, undefined, { code: -32002, message: "no such resource" });
      }
      if (body.id === undefined) return void res.writeHead(202).end();
      rpc(res, body.id, { resources: [], resourceTemplates: [] });
    }),
  );
  const upstream = use(makeUpstream({ url: server.url, protocol: "legacy" }));
  upstream.start();
  await reached(upstream, "ready");
  const both = await Promise.allSettled([upstream.subscribe("x://a"), upstream.subscribe("x://a")]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(refusals).toBe(1);
  await expect(upstream.subscribe("x://a")).rejects.toThrow("no such resource");
  expect(refusals).toBe(2);
});
