import fc from "fast-check";
import { Answer, GatewayError } from "propylon";
import { afterEach, describe, expect, it } from "vitest";
import { PATIENCE, rounds } from "../../fixtures/ci.ts";
import { FakeServer, openSession, post, postModern, serve, text, type Served } from "./kit.ts";

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

const CALL = {
  jsonrpc: "2.0",
  id: "x",
  method: "tools/call",
  params: { name: "echo", arguments: {} },
};

describe("what is refused at the door", () => {
  it.each([
    ["no content type", { "content-type": "text/plain" }, "{}", 415],
    ["JSON look-alike", { "content-type": "application/jsonp" }, "{}", 415],
    ["compressed", { "content-encoding": "gzip" }, "{}", 415],
    ["nothing acceptable", { accept: "text/html" }, "{}", 406],
    ["not JSON", {}, "{", 400],
    ["empty", {}, "", 400],
    ["no JSON-RPC", {}, "{}", 400],
    ["too deep", {}, `${"[".repeat(5_000)}${"]".repeat(5_000)}`, 400],
    ["too large", {}, JSON.stringify("x".repeat(200_000)), 413],
  ])("%s", async (_what, headers, body, status) => {
    served = await serve([], { limits: { body: "100KiB" } });
    const response = await post(served.url, body, headers);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { code: expect.any(Number) },
    });
  });

  it("other methods are 405 and say which are allowed", async () => {
    served = await serve([]);
    const response = await fetch(served.url, { method: "PUT", body: "x" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, POST, DELETE"]);
    const modern = await fetch(served.url, {
      headers: { accept: "text/event-stream", "mcp-protocol-version": "2026-07-28" },
    });
    expect([modern.status, modern.headers.get("allow")]).toEqual([405, "POST"]);
  });

  it("a browser gets a page that explains itself", async () => {
    served = await serve([]);
    const response = await fetch(served.url, { headers: { accept: "text/html,*/*" } });
    expect(response.headers.get("content-type")).toContain("text/html");
    expect(await response.text()).toContain("MCP endpoint");
  });

  it("a client without Accept header is served", async () => {
    served = await serve([new FakeServer("one").tool("echo", () => text("hi"))]);
    const headers = await openSession(served.url);
    expect((await post(served.url, CALL, { ...headers, accept: "*/*" })).status).toBe(200);
  });

  it("a draining gateway refuses new requests with 503, in both eras", async () => {
    served = await serve([new FakeServer("one").tool("echo", () => text("hi"))]);
    const headers = await openSession(served.url);
    served.host.draining = true;
    expect((await post(served.url, CALL, headers)).status).toBe(503);
    expect((await postModern(served.url, 1, "tools/list")).status).toBe(503);
    expect(
      (await post(served.url, { jsonrpc: "2.0", method: "notifications/initialized" }, headers))
        .status,
    ).toBe(202);
  });
});

describe("errors of calls", () => {
  const failing = () =>
    new FakeServer("one")
      .tool("echo", () => Promise.reject(new GatewayError("timeout", "Too slow.")))
      .tool("wrong", () => Promise.reject(new GatewayError("invalid", "text is missing.")))
      .tool("denied", () =>
        Promise.reject(
          new GatewayError("forbidden", "No.", {
            headers: { "www-authenticate": "Bearer scope=x" },
          }),
        ),
      )
      .tool("broken", () => Promise.reject(new TypeError("secret detail")))
      .tool("refuses", () => Answer.error({ code: -32002, message: "gone", data: { a: 1 } }));

  it.each([
    ["echo", 200, { error: { code: -32001, message: "Too slow." } }],
    [
      "wrong",
      200,
      { result: { isError: true, content: [{ type: "text", text: "text is missing." }] } },
    ],
    ["denied", 403, { error: { code: -32000 } }],
    ["broken", 200, { error: { code: -32603, message: "Internal error." } }],
    ["refuses", 200, { error: { code: -32002, message: "gone", data: { a: 1 } } }],
    ["unknown", 200, { error: { code: -32602 } }],
  ])("legacy %s", async (name, status, body) => {
    served = await serve([failing()]);
    const response = await post(
      served.url,
      { ...CALL, params: { name } },
      await openSession(served.url),
    );
    expect(response.status).toBe(status);
    const answer = await response.text();
    expect(answer).not.toContain("secret");
    expect(JSON.parse(answer)).toMatchObject({ id: "x", ...body });
  });

  it.each([
    ["wrong", 200, { result: { isError: true, resultType: "complete" } }],
    ["refuses", 200, { error: { code: -32602 } }],
    ["unknown", 200, { error: { code: -32602 } }],
  ])("modern %s", async (name, status, body) => {
    served = await serve([failing()]);
    const response = await postModern(served.url, "x", "tools/call", { name });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ id: "x", ...body });
  });
});

describe("modern headers", () => {
  const server = () =>
    new FakeServer("one").tool("echo", () => text("hi"), {
      inputSchema: {
        type: "object",
        properties: {
          region: { type: "string", "x-mcp-header": "Region" },
          n: { type: "integer", "x-mcp-header": "N" },
        },
      },
    });

  it.each([
    ["method", { "mcp-method": "tools/list" }],
    ["method case", { "mcp-method": "TOOLS/CALL" }],
    ["name", { "mcp-name": "other" }],
    ["version", { "mcp-protocol-version": "2025-11-25" }],
    ["base64", { "mcp-name": "=?base64?!!?=" }],
  ])("T12: %s that differs from the body is 400, -32020", async (_what, headers) => {
    served = await serve([server()]);
    const response = await postModern(served.url, 1, "tools/call", { name: "echo" }, headers);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32020 } });
    expect(served.host.calls).toHaveLength(0);
  });

  it.each([
    ["exact", { "mcp-param-region": "eu" }, { region: "eu" }, 200],
    [
      "base64",
      { "mcp-param-region": `=?base64?${Buffer.from("ö").toString("base64")}?=` },
      { region: "ö" },
      200,
    ],
    ["number written otherwise", { "mcp-param-n": "1.0" }, { n: 1 }, 200],
    ["missing", {}, { region: "eu" }, 400],
    ["different", { "mcp-param-region": "us" }, { region: "eu" }, 400],
    ["null needs none", {}, { region: null }, 200],
  ])("parameter header %s", async (_what, headers, args, status) => {
    served = await serve([server()]);
    const response = await postModern(
      served.url,
      1,
      "tools/call",
      { name: "echo", arguments: args },
      headers,
    );
    expect(response.status).toBe(status);
  });

  it("unknown methods and those of older revisions are 404, -32601", async () => {
    served = await serve([server()]);
    for (const method of ["nope", "ping", "initialize", "logging/setLevel", "prompts/list"]) {
      const response = await postModern(served.url, 7, method);
      expect([method, response.status]).toEqual([method, 404]);
      expect(await response.json()).toMatchObject({ id: 7, error: { code: -32601 } });
    }
  });
});

describe("fuzz", () => {
  it("what makes no text is refused with the words of its method, wherever it stands", async () => {
    served = await serve([new FakeServer("one").tool("echo", () => text("hi"))]);
    const session = await openSession(served.url);
    // String() of it throws.
    const spell = { toString: 1, valueOf: 2 };
    const params = Object.fromEntries(
      ["name", "uri", "level", "cursor", "ref", "argument", "arguments", "taskId", "_meta"].map(
        (name) => [name, spell],
      ),
    );
    for (const method of [
      "logging/setLevel",
      "tools/call",
      "tools/list",
      "resources/read",
      "resources/subscribe",
      "prompts/get",
      "completion/complete",
      "tasks/get",
      "initialize",
    ]) {
      const body = { jsonrpc: "2.0", id: 1, method, params };
      const response = await post(served.url, body, session);
      const { error } = (await response.json()) as { error?: { code: number } };
      expect([method, response.status < 500, error?.code]).not.toContain(false);
      expect([method, error?.code]).not.toContain(-32603);
    }
  });

  it(
    "no message, however broken, gives a 5xx or an answer under a foreign id",
    { timeout: PATIENCE * 120_000 },
    async () => {
      served = await serve([new FakeServer("one").tool("echo", () => text("hi"))]);
      const { url } = served;
      const session = await openSession(url);
      const id = fc.oneof(
        fc.string(),
        fc.integer(),
        fc.constant(null),
        fc.double(),
        fc.constant({}),
      );
      const method = fc.oneof(
        fc.constantFrom(
          "tools/call",
          "tools/list",
          "ping",
          "completion/complete",
          "resources/subscribe",
          "logging/setLevel",
          "subscriptions/listen",
        ),
        fc.string(),
      );
      const params = fc.oneof(
        fc.record(
          {
            name: fc.oneof(fc.constant("echo"), fc.jsonValue()),
            arguments: fc.jsonValue(),
            ref: fc.jsonValue(),
            uri: fc.jsonValue(),
            _meta: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
        fc.jsonValue(),
      );
      const message = fc.oneof(
        fc.record(
          { jsonrpc: fc.constant("2.0"), id, method, params },
          { requiredKeys: ["jsonrpc"] },
        ),
        fc.jsonValue(),
      );
      await fc.assert(
        fc.asyncProperty(message, fc.boolean(), async (body, modern) => {
          const headers: Record<string, string> = modern
            ? { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call" }
            : session;
          const response = await post(url, body, headers);
          expect(response.status).toBeLessThan(500);
          const answer = await response.text();
          const sent = (body as { id?: unknown } | null)?.id;
          const got =
            answer === "" || Array.isArray(body)
              ? null
              : (JSON.parse(answer) as { id: unknown }).id;
          expect([null, JSON.parse(JSON.stringify(sent ?? null))]).toContainEqual(got);
        }),
        { numRuns: rounds(2_000) },
      );
      expect((await post(url, { jsonrpc: "2.0", id: 1, method: "ping" }, session)).status).toBe(
        200,
      );
    },
  );
});
