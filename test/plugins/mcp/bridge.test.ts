import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import { Answer, isGatewayError } from "propylon";
import { afterEach, describe, expect, it, vi } from "vitest";
import { contains, needsInput } from "../../../core/call/bridge.ts";
import {
  FakeServer,
  legacyClient,
  modernMeta,
  openSession,
  post,
  postModern,
  sdk2Client,
  serve,
  text,
  type Served,
} from "./kit.ts";

let served: Served | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await served?.close();
  served = undefined;
});

const ELICIT = {
  mode: "form",
  message: "Who?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } },
};
const SAMPLE = {
  messages: [{ role: "user", content: { type: "text", text: "hi" } }],
  maxTokens: 5,
};

/** A callee that asks while it runs, as legacy servers and plugins do. */
function asking(): FakeServer {
  return new FakeServer("one").tool("ask", async (call) => {
    const [who, sample] = await Promise.all([
      call.peer.ask("elicitation/create", ELICIT),
      call.peer.ask("sampling/createMessage", SAMPLE),
    ]);
    const roots = await call.peer.ask("roots/list", undefined);
    return text(JSON.stringify([who["content"], sample["model"], roots["roots"]]));
  });
}

/** A callee that answers `input_required`, as modern servers do. */
function requiring(rounds: number, server = "one", tool = "ask"): FakeServer {
  return new FakeServer(server).tool(tool, (call) => {
    const round = Number(call.params?.["requestState"] ?? 0);
    if (round >= rounds) return text(JSON.stringify(call.params?.["inputResponses"]));
    const inputRequests = { who: { method: "elicitation/create", params: ELICIT } };
    return Answer.result({
      resultType: "input_required",
      inputRequests,
      requestState: String(round + 1),
    });
  });
}

const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };
const EXPECTED = JSON.stringify([{ name: "Ada" }, "m", [{ uri: "file:///x" }]]);

async function answeringClient(url: URL) {
  const client = await legacyClient(url, CAPABILITIES);
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: "accept",
    content: { name: "Ada" },
  }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: "assistant",
    content: { type: "text", text: "x" },
    model: "m",
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///x" }] }));
  return client;
}

describe("legacy client", () => {
  it("answers what a callee asks while it runs", async () => {
    served = await serve([asking()]);
    const client = await answeringClient(served.url);
    expect((await client.callTool({ name: "ask" })).content).toEqual([
      { type: "text", text: EXPECTED },
    ]);
    await client.close();
  });

  it("answers a callee that returns input_required, over several rounds", async () => {
    served = await serve([requiring(3)]);
    const client = await answeringClient(served.url);
    const expected = JSON.stringify({ who: { action: "accept", content: { name: "Ada" } } });
    expect((await client.callTool({ name: "ask" })).content).toEqual([
      { type: "text", text: expected },
    ]);
    expect(served.host.calls).toHaveLength(4);
    expect(new Set(served.host.calls.map(({ id }) => id)).size).toBe(4);
    await client.close();
  });

  it("a callee that asks for ever is stopped after ten rounds", async () => {
    served = await serve([requiring(1_000)]);
    const client = await answeringClient(served.url);
    await expect(client.callTool({ name: "ask" })).rejects.toThrow(/more than 10 times/);
    await client.close();
  });

  it("a client without the capability makes the ask fail, with the capability named", async () => {
    const seen: unknown[] = [];
    const server = new FakeServer("one").tool("ask", async (call) => {
      await call.peer
        .ask("sampling/createMessage", SAMPLE)
        .catch((error: unknown) => seen.push(isGatewayError(error) && error.data));
      return text("done");
    });
    served = await serve([server]);
    const client = await legacyClient(served.url);
    await client.callTool({ name: "ask" });
    expect(seen).toEqual([{ requiredCapabilities: { sampling: {} } }]);
    await client.close();
  });

  it("a client's refusal carries its own error to the callee", async () => {
    const seen: unknown[] = [];
    const server = new FakeServer("one").tool("ask", async (call) => {
      await call.peer
        .ask("roots/list", undefined)
        .catch((error: unknown) => seen.push(isGatewayError(error) && error.data?.["rpcError"]));
      return text("done");
    });
    served = await serve([server]);
    const client = await legacyClient(served.url, { roots: {} });
    client.setRequestHandler(ListRootsRequestSchema, () =>
      Promise.reject(Object.assign(new Error("no roots"), { code: -1 })),
    );
    await client.callTool({ name: "ask" });
    expect(seen).toEqual([{ code: -1, message: "no roots", data: undefined }]);
    await client.close();
  });

  it("T4: only the session that was asked can answer", async () => {
    served = await serve([asking()]);
    const [alice, bob] = [
      await openSession(served.url, CAPABILITIES),
      await openSession(served.url, CAPABILITIES),
    ];
    const call = await post(
      served.url,
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "ask" } },
      alice,
    );
    const reader = call.body!.getReader();
    let body = "";
    while (!body.includes("sampling/createMessage"))
      body += new TextDecoder().decode((await reader.read()).value);
    const ids = [...body.matchAll(/"id":"([^"]+)"/g)].map((match) => match[1]);
    expect(ids).toHaveLength(2);
    const answer = {
      jsonrpc: "2.0",
      id: ids[0],
      result: { action: "accept", content: { name: "Mallory" } },
    };
    expect((await post(served.url, answer, bob)).status).toBe(202);
    await post(
      served.url,
      { ...answer, result: { action: "accept", content: { name: "Ada" } } },
      alice,
    );
    await post(served.url, { jsonrpc: "2.0", id: ids[1], result: { model: "m" } }, alice);
    body = "";
    while (!body.includes("roots/list"))
      body += new TextDecoder().decode((await reader.read()).value);
    const id = /"id":"([^"]+)"/.exec(body)![1];
    await post(
      served.url,
      { jsonrpc: "2.0", id, result: { roots: [{ uri: "file:///x" }] } },
      alice,
    );
    body = "";
    for (let part = await reader.read(); !part.done; part = await reader.read())
      body += new TextDecoder().decode(part.value);
    expect(body).toContain("Ada");
    expect(body).not.toContain("Mallory");
  });
});

describe("modern client", () => {
  const call = (
    url: URL,
    params: object = {},
    capabilities: object = CAPABILITIES,
    headers: Record<string, string> = {},
  ) =>
    postModern(
      url,
      1,
      "tools/call",
      { name: "ask", ...params, _meta: modernMeta({ ...capabilities }) },
      headers,
    );
  const resultOf = async (response: Promise<Response>) =>
    ((await (await response).json()) as { result: Record<string, never> }).result;
  const ANSWERS = {
    "input-1": { action: "accept", content: { name: "Ada" } },
    "input-2": { role: "assistant", content: { type: "text", text: "x" }, model: "m" },
  };

  it("SDK 2.4 answers what a callee asks while it runs", async () => {
    const server = asking();
    served = await serve([server]);
    const client = await sdk2Client(served.url, "modern", CAPABILITIES);
    client.setRequestHandler("elicitation/create", () => ({
      action: "accept",
      content: { name: "Ada" },
    }));
    client.setRequestHandler("sampling/createMessage", () => ({
      role: "assistant",
      content: { type: "text", text: "x" },
      model: "m",
    }));
    client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///x" }] }));
    expect((await client.callTool({ name: "ask" })).content).toEqual([
      { type: "text", text: EXPECTED },
    ]);
    expect(served.host.calls).toHaveLength(1);
    await client.close();
  });

  it("holds the call: asks of one turn come together, missing answers are asked again, then the same call goes on", async () => {
    served = await serve([asking()]);
    const first = await resultOf(call(served.url));
    expect(first).toMatchObject({
      resultType: "input_required",
      inputRequests: {
        "input-1": { method: "elicitation/create" },
        "input-2": { method: "sampling/createMessage" },
      },
    });
    const again = await resultOf(
      call(served.url, {
        requestState: first["requestState"],
        inputResponses: { "input-1": ANSWERS["input-1"], other: {} },
      }),
    );
    expect(Object.keys(again["inputRequests"]!)).toEqual(["input-2"]);
    const third = await resultOf(
      call(served.url, {
        requestState: again["requestState"],
        inputResponses: { "input-2": ANSWERS["input-2"] },
      }),
    );
    expect(third["inputRequests"]).toEqual({ "input-3": { method: "roots/list" } });
    const last = await resultOf(
      call(served.url, {
        requestState: third["requestState"],
        inputResponses: { "input-3": { roots: [{ uri: "file:///x" }] } },
      }),
    );
    expect(last).toMatchObject({
      resultType: "complete",
      content: [{ type: "text", text: EXPECTED }],
    });
    expect(served.host.calls).toHaveLength(1);
  });

  it("T4: a handle works once, for its principal and its tool, and never when changed", async () => {
    const server = asking().tool("other", () => text("x"));
    served = await serve([server]);
    const { requestState } = await resultOf(
      call(served.url, {}, CAPABILITIES, { "x-user": "alice" }),
    );
    const retry = { requestState, inputResponses: ANSWERS };
    const refused = { error: { code: -32602 } };
    expect(
      await (await call(served.url, retry, CAPABILITIES, { "x-user": "bob" })).json(),
    ).toMatchObject(refused);
    expect(
      await (
        await call(
          served.url,
          { ...retry, requestState: `${String(requestState)}-TAMPERED` },
          CAPABILITIES,
          { "x-user": "alice" },
        )
      ).json(),
    ).toMatchObject(refused);
    expect(
      await (
        await call(served.url, { ...retry, name: "other" }, CAPABILITIES, { "x-user": "alice" })
      ).json(),
    ).toMatchObject(refused);
    expect(
      await resultOf(call(served.url, retry, CAPABILITIES, { "x-user": "alice" })),
    ).toMatchObject({ resultType: "input_required" });
    expect(
      await (await call(served.url, retry, CAPABILITIES, { "x-user": "alice" })).json(),
    ).toMatchObject(refused);
  });

  it("T4: input_required of a modern callee passes, its state bound to who it was given to", async () => {
    served = await serve([requiring(1), requiring(1, "two", "other")]);
    const alice = { "x-user": "alice" };
    const { requestState, ...first } = await resultOf(call(served.url, {}, CAPABILITIES, alice));
    expect(first).toMatchObject({
      resultType: "input_required",
      inputRequests: { who: { method: "elicitation/create" } },
    });
    expect(requestState).not.toBe("1");
    const inputResponses = { who: { action: "decline" } };
    const retry = { requestState, inputResponses };
    const strangers = [
      call(served.url, retry, CAPABILITIES, { "x-user": "bob" }),
      call(served.url, { ...retry, name: "other" }, CAPABILITIES, alice),
      call(served.url, { ...retry, requestState: "1" }, CAPABILITIES, alice),
      call(served.url, { ...retry, requestState: `${String(requestState)}1` }, CAPABILITIES, alice),
    ];
    for (const answer of await Promise.all(strangers))
      expect(await answer.json()).toMatchObject({ error: { code: -32602 } });
    const last = await resultOf(call(served.url, retry, CAPABILITIES, alice));
    expect(last["content"]).toEqual([{ type: "text", text: JSON.stringify(inputResponses) }]);
  });

  it("a missing capability is -32021 with HTTP 400", async () => {
    served = await serve([asking()]);
    const response = await call(served.url, {}, { sampling: {} });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      id: 1,
      error: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    });
  });

  it.each([{ inputResponses: null }, { inputResponses: { a: 1 } }, { requestState: 5 }])(
    "refuses %j",
    async (params) => {
      served = await serve([asking()]);
      expect(await (await call(served.url, params)).json()).toMatchObject({
        error: { code: -32602 },
      });
    },
  );

  it("a call nobody comes back for is aborted after a minute", async () => {
    served = await serve([asking()]);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await resultOf(call(served.url));
    const { signal } = served.host.calls[0]!;
    vi.advanceTimersByTime(59_000);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(2_000);
    expect(signal.aborted).toBe(true);
  });
});

describe("raw answers", () => {
  const raw = (body: string, cut: number) => {
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${body}}`);
    const start = bytes.indexOf('"id":') + 5;
    return Answer.raw({
      chunks: [bytes.subarray(0, cut), bytes.subarray(cut)].filter((chunk) => chunk.length > 0),
      idStart: start,
      idEnd: start + 1,
    });
  };

  it("finds a text wherever the chunks are cut", () => {
    const body = '{"resultType":"input_required","inputRequests":{}}';
    for (let cut = 26; cut < 33 + body.length; cut++)
      expect([cut, needsInput(raw(body, cut))]).toEqual([cut, true]);
  });

  it("does not take the words inside a text for the answer's own", () => {
    expect(
      needsInput(
        raw(JSON.stringify({ content: [{ type: "text", text: '"input_required"' }] }), 40),
      ),
    ).toBe(false);
  });

  it("agrees with a search in the whole text", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(200), (value, cut) => {
        const body = JSON.stringify({ value, resultType: "input_required" });
        const answer = raw(body, Math.min(cut + 26, 33 + body.length));
        expect(contains(answer.encode(0), '"input_required"')).toBe(true);
        expect(contains(answer.encode(0), '"absent-for-sure"')).toBe(false);
      }),
    );
  });
});
