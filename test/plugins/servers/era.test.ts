import { describe, expect, it } from "vitest";
import type { Upstream } from "../../../plugins/servers/upstream/upstream.ts";
import { callText, makeCall, makePeer, makeUpstream, reached } from "./support/calls.ts";
import { type Handler, rpc, type Running, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();

const LEGACY = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "x", version: "1" },
};
const MODERN = {
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {} },
  resultType: "complete",
};
const TOOLS = {
  tools: [
    {
      name: "t",
      inputSchema: {
        type: "object",
        properties: { region: { type: "string", "x-mcp-header": "Region" } },
      },
    },
    {
      name: "bad",
      inputSchema: { type: "object", properties: { a: { type: "object", "x-mcp-header": "A" } } },
    },
  ],
};

type Answers = Partial<Record<string, Handler>>;

async function serve(answers: Answers): Promise<Running> {
  const server = await serveHttp((req, res, body) => {
    if (req.method !== "POST") return void res.writeHead(405).end();
    const handler = answers[body.method];
    if (handler) return handler(req, res, body);
    if (body.id === undefined) return void res.writeHead(202).end();
    if (body.method === "tools/list") return rpc(res, body.id, TOOLS);
    if (body.method === "tools/call")
      return rpc(res, body.id, { resultType: "complete", content: [{ type: "text", text: "ok" }] });
    rpc(res, body.id, undefined, { code: -32601, message: "Method not found" });
  });
  return use(server);
}

const legacy: Handler = (_req, res, body) => rpc(res, body.id, LEGACY);
const modern: Handler = (_req, res, body) => rpc(res, body.id, MODERN);
const status =
  (code: number): Handler =>
  (_req, res) =>
    void res.writeHead(code).end("no");
const methods = (server: Running): string[] =>
  server.requests
    .map(({ body }) => (body as { method?: string } | undefined)?.method ?? "-")
    .filter((method) => method === "initialize" || method === "server/discover");

async function connect(
  server: Running,
  config: object = {},
  state: "ready" | "backoff" | "failed" = "ready",
): Promise<Upstream> {
  const upstream = use(makeUpstream({ url: server.url, ...config }));
  upstream.start();
  await reached(upstream, state);
  return upstream;
}

describe("era negotiation (decision 0002)", () => {
  it.each<[string, Handler]>([
    [
      "a JSON-RPC error",
      (_req, res, body) => rpc(res, body.id, undefined, { code: -32601, message: "no" }),
    ],
    [
      "HTTP 400 with -32000",
      (_req, res, body) =>
        void res.writeHead(400, { "content-type": "application/json" }).end(
          JSON.stringify({
            jsonrpc: "2.0",
            id: body.id,
            error: { code: -32000, message: "Server not initialized" },
          }),
        ),
    ],
    ["HTTP 404", status(404)],
    ["HTTP 500", status(500)],
    ["a result of another kind", (_req, res, body) => rpc(res, body.id, {})],
    [
      "another revision only",
      (_req, res, body) =>
        rpc(res, body.id, { supportedVersions: ["2030-01-01"], capabilities: {} }),
    ],
  ])("auto falls back to initialize on %s", async (_, discover) => {
    const server = await serve({ "server/discover": discover, initialize: legacy });
    const upstream = await connect(server);
    expect(upstream.status).toMatchObject({ era: "legacy", protocolVersion: "2025-06-18" });
    expect(methods(server)).toEqual(["server/discover", "initialize"]);
  });

  it.each<[string, Handler]>([
    ["HTTP 400", (_req, res) => void res.writeHead(400).end("Bad Request")],
    [
      "HTTP 400 and words",
      (_req, res, body) =>
        void res.writeHead(400, { "content-type": "application/json" }).end(
          JSON.stringify({
            jsonrpc: "2.0",
            id: body.id,
            error: { code: -32000, message: "Bad Request: Unsupported protocol version" },
          }),
        ),
    ],
  ])(
    "rest-10: a server that refuses newer revisions with %s is offered older ones",
    async (_how, refuse) => {
      const server = await serve({
        initialize: (req, res, body) =>
          body.params["protocolVersion"] === "2025-03-26"
            ? rpc(res, body.id, {
                protocolVersion: "2025-03-26",
                capabilities: {},
                serverInfo: { name: "x", version: "1" },
              })
            : refuse(req, res, body),
      });
      const upstream = await connect(server, { protocol: "legacy" });
      expect(upstream.status).toMatchObject({ protocolVersion: "2025-03-26" });
      await upstream.probe(AbortSignal.timeout(10_000));
      expect(
        server.requests
          .map(({ body }) => body as { method?: string; params?: Record<string, unknown> })
          .filter((body) => body?.method === "initialize")
          .map(({ params }) => params!["protocolVersion"]),
      ).toEqual(["2025-11-25", "2025-06-18", "2025-03-26", "2025-03-26"]);
    },
  );

  it("auto falls back when server/discover gets no answer in half of connectTimeout", async () => {
    const server = await serve({ "server/discover": () => undefined, initialize: legacy });
    const upstream = await connect(server, { connectTimeout: "4s" });
    expect(upstream.status.era).toBe("legacy");
  });

  it("a server of both eras that takes its time is a modern one", async () => {
    const server = await serve({
      "server/discover": (...question) => void setTimeout(() => void modern(...question), 3_300),
      initialize: legacy,
    });
    const upstream = await connect(server);
    expect(upstream.status.era).toBe("modern");
    expect(methods(server)).toEqual(["server/discover"]);
  });

  it("a modern server that slept through the first question is asked again", async () => {
    let isAwake = false;
    let isLeft = false;
    const server = await serve({
      "server/discover": (req, res, body) => {
        if (isAwake) return modern(req, res, body);
        isAwake = true;
        res.on("close", () => (isLeft = true));
      },
    });
    const upstream = use(makeUpstream({ url: server.url }));
    // In the first attempt.
    const ended = reached(upstream, "ready", "failed", "backoff");
    upstream.start();
    await ended;
    expect(upstream.status).toMatchObject({ state: "ready", era: "modern" });
    expect(methods(server)).toEqual(["server/discover", "initialize", "server/discover"]);
    // What nobody answers stays open nowhere.
    await expect.poll(() => isLeft).toBe(true);
  });

  it("the era is remembered over reconnects", async () => {
    const server = await serve({ initialize: legacy });
    const upstream = await connect(server);
    await upstream.reconnect();
    expect(methods(server)).toEqual(["server/discover", "initialize", "initialize"]);
  });

  it("a server that became modern is found out by its refusal of initialize", async () => {
    const answers: Answers = { initialize: legacy };
    const server = await serve(answers);
    const upstream = await connect(server);
    answers["initialize"] = (_req, res, body) =>
      void res.writeHead(400, { "content-type": "application/json" }).end(
        JSON.stringify({
          jsonrpc: "2.0",
          id: body.id,
          error: { code: -32022, message: "no", data: { supported: ["2026-07-28"] } },
        }),
      );
    answers["server/discover"] = modern;
    await upstream.reconnect();
    await reached(upstream, "ready");
    expect(upstream.status.era).toBe("modern");
  });

  it("a first refusal that names our version is followed by one more try", async () => {
    let refused = false;
    const server = await serve({
      "server/discover": (req, res, body) => {
        if (refused) return modern(req, res, body);
        refused = true;
        res.writeHead(400, { "content-type": "application/json" }).end(
          JSON.stringify({
            jsonrpc: "2.0",
            id: body.id,
            error: { code: -32022, message: "no", data: { supported: ["2026-07-28"] } },
          }),
        );
      },
    });
    expect((await connect(server)).status.era).toBe("modern");
    expect(methods(server)).toEqual(["server/discover", "server/discover"]);
  });

  it("protocol legacy never sends server/discover, protocol modern never initialize", async () => {
    const old = await serve({ initialize: legacy, "server/discover": modern });
    await connect(old, { protocol: "legacy" });
    expect(methods(old)).toEqual(["initialize"]);
    const fresh = await serve({ initialize: legacy });
    const upstream = await connect(fresh, { protocol: "modern" }, "failed");
    expect(methods(fresh)).toEqual(["server/discover"]);
    expect(upstream.status.reason).toBe(
      'Server "test" does not speak MCP 2026-07-28. Set protocol of this server to auto or legacy.',
    );
    expect(upstream.status.nextRetryAt).toBeDefined();
  });

  it.each([401, 403])(
    "HTTP %d says authentication and is not taken for an old server",
    async (code) => {
      const server = await serve({ "server/discover": status(code), initialize: legacy });
      const upstream = await connect(server, {}, "backoff");
      expect(upstream.status.reason).toMatch(
        code === 401 ? /wants authentication/ : /denies access/,
      );
      expect(methods(server)).toEqual(["server/discover"]);
    },
  );

  it("a revision that is not spoken here is refused", async () => {
    const server = await serve({
      initialize: (_req, res, body) =>
        rpc(res, body.id, { ...LEGACY, protocolVersion: "1999-01-01" }),
    });
    expect((await connect(server, {}, "failed")).status.reason).toContain("speaks MCP 1999-01-01");
  });
});

describe("the modern era over HTTP", () => {
  it("writes the standard headers, the mirrored arguments, and the caller's own capabilities", async () => {
    const server = await serve({ "server/discover": modern });
    const upstream = await connect(server);
    const peer = makePeer({ capabilities: { elicitation: { form: {} } }, logLevel: "warning" });
    const meta = { traceparent: "00-1-2-03", "example.com/x": 1 };
    await upstream.request(
      makeCall(
        "t",
        { region: "Zürich" },
        {
          peer,
          meta,
          progress: () => undefined,
          params: { requestState: "s", inputResponses: { a: 1 } },
        },
      ),
    );
    const { headers, body } = server.requests.at(-1)!;
    expect(headers).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "t",
      "mcp-param-region": `=?base64?${Buffer.from("Zürich").toString("base64")}?=`,
    });
    expect(body).toMatchObject({
      params: {
        name: "t",
        arguments: { region: "Zürich" },
        requestState: "s",
        inputResponses: { a: 1 },
        _meta: {
          ...meta,
          progressToken: expect.any(String),
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "propylon-test", version: "1.0.0" },
          "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
          "io.modelcontextprotocol/logLevel": "warning",
        },
      },
    });
    await upstream.request(
      makeCall("file:///a b", undefined, { method: "resources/read", params: { uri: "ignored" } }),
    );
    expect(server.requests.at(-1)).toMatchObject({
      headers: { "mcp-name": "file:///a b" },
      body: { params: { uri: "file:///a b" } },
    });
  });

  it("leaves out tools with an invalid x-mcp-header, and only those", async () => {
    const upstream = await connect(await serve({ "server/discover": modern }));
    expect(upstream.catalogue.tools.map(({ name }) => name)).toEqual(["t"]);
    const old = await connect(await serve({ initialize: legacy }));
    expect(old.catalogue.tools.map(({ name }) => name)).toEqual(["t", "bad"]);
  });

  it("input_required is an answer like any other", async () => {
    const result = {
      resultType: "input_required",
      inputRequests: { a: { method: "roots/list" } },
      requestState: "x",
    };
    const server = await serve({
      "server/discover": modern,
      "tools/call": (_req, res, body) => rpc(res, body.id, result),
    });
    const upstream = await connect(server);
    expect((await upstream.request(makeCall("t"))).result).toEqual(result);
  });
});

it("T011: nothing but the configured headers and the call itself reaches the server", async () => {
  const server = await serve({ initialize: legacy });
  const upstream = await connect(server, {
    headers: { "X-Own": "1", Accept: "text/html", "Mcp-Session-Id": "evil" },
  });
  expect(await callText(upstream, "t")).toBe("ok");
  const names = Object.keys(server.requests.at(-1)!.headers).toSorted();
  expect(names).toEqual([
    "accept",
    "accept-encoding",
    "content-length",
    "content-type",
    "host",
    "mcp-protocol-version",
    "user-agent",
    "x-own",
  ]);
});
