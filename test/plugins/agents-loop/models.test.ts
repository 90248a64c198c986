import { GatewayError } from "propylon";
import { describe, expect, it } from "vitest";
import type { ModelRequest } from "../../../plugins/agents/model.ts";
import { createModel } from "../../../plugins/agents/models/models.ts";
import { providersSchema } from "../../../plugins/agents/models/options.ts";
import { modelOf, start, user } from "./start.ts";

const REQUEST: ModelRequest = { system: "Be brief.", messages: [user("Hello?")], tools: [] };
const KEY = "sk-proj-verysecret123";
const never = new AbortController().signal;

async function failureOf(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.then(
    () => new Error("did not fail"),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(GatewayError);
  return error as GatewayError;
}

describe("a request to a model", () => {
  it("sends the key, own headers, and what bounds the answer", async () => {
    const server = await start([{ text: "Hi." }], { key: KEY });
    const model = modelOf(server, { apiKey: KEY, headers: { "x-team": "blue" } });
    const reply = await model.generate(
      { ...REQUEST, maxOutputTokens: 77, temperature: 0.5 },
      never,
    );
    expect(reply).toEqual({
      parts: [{ type: "text", text: "Hi." }],
      usage: { inputTokens: 10, outputTokens: 5 },
      finish: "stop",
    });
    const [request] = server.requests;
    expect(request!.headers).toMatchObject({ authorization: `Bearer ${KEY}`, "x-team": "blue" });
    expect(request!.body).toMatchObject({ model: "m", max_tokens: 77, temperature: 0.5 });
  });

  it("passes text on while it is written, and counts the same", async () => {
    const server = await start([{ text: "one two three", calls: [{ name: "t", args: { a: 1 } }] }]);
    const pieces: string[] = [];
    const tools = [{ name: "t", description: "T.", inputSchema: { type: "object" } }];
    const reply = await modelOf(server).generate(
      { ...REQUEST, tools, onText: (text) => pieces.push(text) },
      never,
    );
    expect(pieces).toEqual(["one ", "two ", "three"]);
    expect(reply.parts).toMatchObject([
      { type: "text", text: "one two three" },
      { type: "tool-call", name: "t", args: { a: 1 } },
    ]);
    expect(reply).toMatchObject({
      usage: { inputTokens: 10, outputTokens: 5 },
      finish: "tool-calls",
    });
  });

  it("gives an image of the user as bytes and never fetches what looks like a URL", async () => {
    const server = await start([{ text: "A cat." }]);
    const image = { type: "image" as const, mimeType: "image/png" };
    const parts = [
      { ...image, data: "iVBORw0KGgo=" },
      { ...image, data: `${server.url}/models` },
    ];
    await modelOf(server).generate({ ...REQUEST, messages: [{ role: "user", parts }] }, never);
    const urls = JSON.stringify(server.requests[0]!.body).match(/"url":"[^"]{0,30}/g);
    expect(urls).toHaveLength(2);
    expect(urls![0]).toBe('"url":"data:image/png;base64,iVBORw0K');
    expect(urls![1]).toMatch(/^"url":"data:image\/png;base64,/);
    expect(server.lookups).toBe(0);
  });

  it.each([
    ["half a JSON text", '{"path": "/x', "The arguments are invalid JSON."],
    ["a list", "[1]", "The arguments are not a JSON object."],
  ])("says so when the arguments of a tool call are %s", async (_what, args, invalid) => {
    const server = await start([{ calls: [{ name: "t", args }] }]);
    const tools = [{ name: "t", description: "T.", inputSchema: { type: "object" } }];
    const reply = await modelOf(server).generate({ ...REQUEST, tools }, never);
    expect(reply.parts).toMatchObject([{ type: "tool-call", name: "t", args: {}, invalid }]);
  });

  it("guesses tokens where the provider counts none, so that budgets hold all the same", async () => {
    const choices = [
      { index: 0, message: { role: "assistant", content: "x".repeat(400) }, finish_reason: "stop" },
    ];
    const server = await start([
      {
        raw: JSON.stringify({ id: "1", created: 0, model: "m", choices }),
        headers: { "content-type": "application/json" },
      },
    ]);
    const { usage } = await modelOf(server).generate(REQUEST, never);
    expect(usage.outputTokens).toBeGreaterThanOrEqual(100);
    expect(usage.inputTokens).toBeGreaterThan(5);
  });
});

describe("a provider that does not stream", () => {
  const headers = { "content-type": "application/json" };

  it("issue line 6: answers as one that does, also with two calls of one id", async () => {
    const call = (name: string, args: string) => ({
      id: "",
      type: "function",
      function: { name, arguments: args },
    });
    const message = {
      role: "assistant",
      content: "Both.",
      tool_calls: [call("t", "{}"), call("u", '{"x":1}')],
    };
    const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
    const raw = JSON.stringify({
      id: "1",
      object: "chat.completion",
      created: 0,
      model: "m",
      choices,
    });
    const server = await start([{ raw, headers }]);
    const tools = ["t", "u"].map((name) => ({
      name,
      description: "",
      inputSchema: { type: "object" },
    }));
    const { parts, finish } = await modelOf(server).generate({ ...REQUEST, tools }, never);
    expect(finish).toBe("tool-calls");
    expect(parts).toMatchObject([
      { type: "text", text: "Both." },
      { type: "tool-call", name: "t", args: {} },
      { type: "tool-call", name: "u", args: { x: 1 } },
    ]);
  });

  it("bugs-rest 14: tells the error that it answers with status 200", async () => {
    const raw = JSON.stringify({
      error: { message: "No endpoints found that support tool use", code: 404 },
    });
    const server = await start(() => ({ raw, headers }));
    await expect(modelOf(server).generate(REQUEST, never)).rejects.toMatchObject({
      code: "upstream_error",
      message: expect.stringContaining("No endpoints found that support tool use") as string,
    });
  });
});

describe("retries", () => {
  it("waits as long as Retry-After says", async () => {
    const server = await start([
      { status: 429, headers: { "retry-after-ms": "150" } },
      { status: 429, headers: { "retry-after": "0.1" } },
      { text: "Now." },
    ]);
    const reply = await modelOf(server).generate(REQUEST, never);
    expect(reply.parts).toMatchObject([{ text: "Now." }]);
    const [first, second, third] = server.requests;
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(149);
    expect(third!.at - second!.at).toBeGreaterThanOrEqual(99);
  });

  it("does not ask again a provider that wants longer than maxWait", async () => {
    const server = await start([{ status: 429, headers: { "retry-after": "3600" } }]);
    const error = await failureOf(modelOf(server, { maxWait: "1s" }).generate(REQUEST, never));
    expect(error.data).toEqual({ provider: "p", model: "m", status: 429, retryAfter: 3_600_000 });
    expect(server.requests).toHaveLength(1);
  });

  it("gives up after as many retries as configured, and says what the provider said", async () => {
    const server = await start(() => ({ status: 500 }));
    const error = await failureOf(modelOf(server, { retries: 2 }).generate(REQUEST, never));
    expect(error.code).toBe("upstream_error");
    expect(error.message).toBe('Provider "p" of model "m" fails (HTTP 500): Scripted 500.');
    expect(server.requests).toHaveLength(3);
  });

  it.each([
    ["before an answer", { cut: "start" as const }],
    ["in the middle of an answer", { text: "Half", cut: "middle" as const }],
  ])("asks again when the connection is cut %s", async (_when, reply) => {
    const server = await start([reply, { text: "Whole." }]);
    const { parts } = await modelOf(server).generate(REQUEST, never);
    expect(parts).toMatchObject([{ text: "Whole." }]);
  });

  it("does not repeat what somebody has read already", async () => {
    const server = await start([{ text: "one two", cut: "middle" }, { text: "again" }]);
    const pieces: string[] = [];
    const request = { ...REQUEST, onText: (text: string) => void pieces.push(text) };
    const error = await failureOf(modelOf(server).generate(request, never));
    expect(error.code).toBe("upstream_error");
    expect(pieces).toEqual(["one "]);
    expect(server.requests).toHaveLength(1);
  });

  it("takes a stream that ends without saying so for a lost connection", async () => {
    const chunk = {
      id: "1",
      created: 0,
      model: "m",
      choices: [{ index: 0, delta: { content: "Hal" } }],
    };
    const server = await start([{ raw: `data: ${JSON.stringify(chunk)}\n\n` }]);
    const request = { ...REQUEST, onText: () => undefined };
    const error = await failureOf(modelOf(server).generate(request, never));
    expect(error.message).toContain("ended its answer before it was complete");
  });

  it("makes no retry for somebody who stopped meanwhile", async () => {
    const server = await start(() => ({ status: 503 }));
    let asked = 0;
    const mayRetry = (): boolean => ++asked < 3;
    const error = await failureOf(modelOf(server).generate({ ...REQUEST, mayRetry }, never));
    expect(error.data).toMatchObject({ status: 503 });
    expect(server.requests).toHaveLength(2);
  });

  it.each([400, 401, 403, 404, 422])(
    "does not repeat a request refused with %i",
    async (status) => {
      const server = await start(() => ({ status }));
      await failureOf(modelOf(server).generate(REQUEST, never));
      expect(server.requests).toHaveLength(1);
    },
  );
});

describe("failures", () => {
  it("names a wrong key without showing it", async () => {
    const server = await start([], { key: "another" });
    const error = await failureOf(modelOf(server, { apiKey: KEY }).generate(REQUEST, never));
    expect(error.message).toBe('Provider "p" of model "m" refuses the key (HTTP 401).');
    expect(error.hint).toBe("Correct the apiKey of this provider.");
    expect(everythingOf(error)).not.toContain(KEY);
  });

  it("leaves out keys, URLs and stacks that a provider quotes", async () => {
    const quote = `Bad request for ${KEY} by blue-token at http://user:pw@inner.host/v1: too long`;
    const server = await start([
      { status: 400, raw: JSON.stringify({ error: { message: quote } }) },
    ]);
    const model = modelOf(server, { apiKey: KEY, headers: { "x-token": "blue-token" } });
    const error = await failureOf(model.generate(REQUEST, never));
    expect(error.message).toContain("refuses the request (HTTP 400): Bad request for ***");
    for (const secret of [KEY, "blue-token", "inner.host", "user:pw", server.url])
      expect(everythingOf(error)).not.toContain(secret);
  });

  it.each([
    ["a page", "<html>hello</html>"],
    ["half a JSON text", '{"id": "1", "choices": ['],
    ["another JSON text", '{"ok": true}'],
  ])("says that %s is no answer of the API", async (_what, raw) => {
    const server = await start(() => ({ raw }));
    const error = await failureOf(modelOf(server).generate(REQUEST, never));
    expect(error.code).toBe("upstream_error");
    expect(error.message).toMatch(/other than an answer of the API|before it was complete/);
    expect(everythingOf(error)).not.toContain("hello");
  });

  it("says that nothing listens there", async () => {
    const server = await start([]);
    await server.close();
    const error = await failureOf(modelOf(server, { retries: 0 }).generate(REQUEST, never));
    expect(error.message).toBe(
      'Provider "p" of model "m" cannot be used: the connection was refused.',
    );
  });

  it("does not follow a redirect with the key", async () => {
    const other = await start([{ text: "caught" }]);
    const headers = { location: `${other.url}/chat/completions` };
    const server = await start(() => ({ status: 307, headers }));
    const error = await failureOf(modelOf(server, { apiKey: KEY }).generate(REQUEST, never));
    expect(error.message).toContain("redirects (HTTP 307), which is not followed");
    expect(other.requests).toHaveLength(0);
  });

  it("gives up on an answer that takes too long, and hangs up", async () => {
    const server = await start(() => ({ until: new Promise(() => undefined) }));
    const error = await failureOf(modelOf(server, { timeout: "500ms" }).generate(REQUEST, never));
    expect(error.message).toContain("gave no complete answer within 0.5 s");
    await server.when(({ requests }) => requests[0]?.aborted === true);
    expect(server.requests).toHaveLength(1);
  });

  it("hangs up at once when the run is aborted", async () => {
    const server = await start(() => ({ until: new Promise(() => undefined) }));
    const run = new AbortController();
    const answer = failureOf(modelOf(server).generate(REQUEST, run.signal));
    await server.when(({ inFlight }) => inFlight === 1);
    run.abort();
    expect((await answer).code).toBe("cancelled");
    await server.when(({ requests }) => requests[0]?.aborted === true);
  });

  it("ends the wait for a retry when the run is aborted", async () => {
    const server = await start(() => ({ status: 429, headers: { "retry-after": "30" } }));
    const run = new AbortController();
    const answer = failureOf(modelOf(server).generate(REQUEST, run.signal));
    await server.when(({ requests }) => requests[0]?.answered === true);
    run.abort();
    expect((await answer).code).toBe("cancelled");
  });
});

/** All that an error could tell, its cause included. */
function everythingOf(error: GatewayError): string {
  const { message, hint, data, stack, cause } = error;
  return [message, hint, JSON.stringify(data), stack, JSON.stringify(cause), String(cause)].join();
}

describe("the name of a model", () => {
  const providers = providersSchema.parse({
    local: { type: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1" },
  });

  it("ends the provider at the first slash", () => {
    expect(createModel("local/org/model", providers).id).toBe("local/org/model");
  });

  it.each([
    ["gpt-5", "does not name a provider and a model"],
    ["local/", "does not name a provider and a model"],
    ["openai/gpt-5", 'is of provider "openai", which is not configured'],
    ["constructor/x", "which is not configured"],
  ])("refuses %s", (id, words) => {
    expect(() => createModel(id, providers)).toThrow(words);
  });

  it("takes no password inside a base URL", () => {
    const baseUrl = "http://user:pw@127.0.0.1/v1";
    const { error } = providersSchema.safeParse({ p: { type: "openai-compatible", baseUrl } });
    expect(error!.issues[0]!.message).toContain("into apiKey or headers");
  });
});
