import { digestOf } from "propylon/kit";
import { expect, it, onTestFinished } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import {
  definePlugin,
  type Call,
  type GatewayError,
  type Json,
  type PluginContext,
} from "../../../core/index.ts";
import { connectClient, setupGateway } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import gating from "../../../plugins/gating/index.ts";
import history from "../../../plugins/history/index.ts";
import nats from "../../../plugins/nats/index.ts";
import { until } from "../../kit/until.ts";
import { useServer } from "../nats/kit.ts";

const ROLES = ["viewer", "caller", "operator"] as const;
const KEYS = Object.fromEntries(
  [...ROLES, "other"].map((name) => [
    name,
    createKey(name === "other" ? "caller" : (name as "caller")),
  ]),
);

/** Tools that end when the test says so. */
class Desk {
  readonly calls = new Map<string, { readonly call: Call; readonly end: () => void }>();

  readonly plugin = definePlugin({
    name: "desk",
    setup: (gateway: PluginContext) => {
      gateway.tool("wait", {
        description: "Waits.",
        input: { type: "object", properties: { name: { type: "string" } } },
        run: ({ name }, call) =>
          new Promise((resolve) => {
            call.progress?.({ progress: 1, total: 2, message: "half" });
            this.calls.set(String(name), { call, end: () => resolve(`done ${String(name)}`) });
          }),
      });
      gateway.tool("ask", {
        description: "Asks who calls it, and says what was answered, or why nothing was.",
        input: { type: "object" },
        run: async ({ method, params, times = 1 }, call) => {
          const asked = Array.from({ length: Number(times) }, () =>
            call.peer
              .ask(String(method), params as Json)
              .catch(({ code, message }: GatewayError) => ({ code, message })),
          );
          return JSON.stringify(await Promise.all(asked));
        },
      });
      gateway.tool("fail", {
        description: "Fails.",
        run: () => ({ isError: true, content: [{ type: "text", text: "no" }] }),
      });
    },
  });
}

async function start(management: object = { mutations: true }, store?: string) {
  const desk = new Desk();
  const made = await setupGateway({
    plugins: [[gating, { state: false }], admin, history, desk.plugin, ...(store ? [nats] : [])],
    client: false,
    config: {
      ...(store && { store }),
      management,
      auth: {
        keys: Object.fromEntries(
          Object.entries(KEYS).map(([name, key]) => [
            name,
            {
              role: name === "other" ? "caller" : (name as "caller"),
              hash: `sha256:${digestOf(key)}`,
            },
          ]),
        ),
      },
    },
  });
  const ask = async (who: string, method: string, path: string, body?: object) => {
    const response = await fetch(`${made.url}/_meta${path}`, {
      method,
      headers: {
        authorization: `Bearer ${KEYS[who]}`,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    // eslint-disable-next-line typescript/no-explicit-any -- bodies of all shapes
    return { status: response.status, body: (await response.json()) as any };
  };
  const begin = (who: string, name: string) => {
    const end = ask(who, "POST", "/calls", { server: "desk", tool: "wait", arguments: { name } });
    return until(() => desk.calls.has(name)).then(() => ({ end }));
  };
  return { ...made, desk, ask, begin };
}

it("operators see every call that runs, callers their own, viewers none", async () => {
  const { ask, begin, desk } = await start();
  const [one, two] = [await begin("caller", "one"), await begin("other", "two")];
  const all = await ask("operator", "GET", "/calls");
  expect(all.body).toEqual({
    ok: true,
    total: 2,
    calls: [
      {
        id: expect.stringMatching(/^[\w-]{36}$/),
        method: "tools/call",
        source: "http",
        endpoint: "",
        server: "desk",
        name: "wait",
        principal: "key:caller",
        startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        ms: expect.any(Number),
        mine: false,
      },
      expect.objectContaining({ principal: "key:other" }),
    ],
    next: null,
  });
  const own = await ask("caller", "GET", "/calls");
  expect(own.body).toMatchObject({ total: 1, calls: [{ principal: "key:caller", mine: true }] });
  expect((await ask("viewer", "GET", "/calls")).status).toBe(403);
  for (const { end } of desk.calls.values()) end();
  expect((await one.end).body.result.content[0].text).toBe("done one");
  await two.end;
  expect((await ask("operator", "GET", "/calls")).body.calls).toEqual([]);
});

it("pages in order, also when calls of a page have ended", async () => {
  const { ask, begin, desk } = await start();
  const names = ["a", "b", "c", "d", "e"];
  const ends: Promise<unknown>[] = [];
  for (const name of names) ends.push((await begin("caller", name)).end);
  const first = await ask("operator", "GET", "/calls?limit=2");
  expect(first.body).toMatchObject({ total: 5, calls: [{}, {}], next: expect.any(String) });
  desk.calls.get("b")!.end();
  await ends[1];
  const ids: string[] = first.body.calls.map(({ id }: { id: string }) => id);
  for (let next = first.body.next; next !== null;) {
    const page = await ask("operator", "GET", `/calls?limit=2&after=${next}`);
    ids.push(...page.body.calls.map(({ id }: { id: string }) => id));
    next = page.body.next;
  }
  expect(ids).toEqual(names.map((name) => desk.calls.get(name)!.call.id));
  expect((await ask("operator", "GET", "/calls?server=nobody")).body.total).toBe(0);
  for (const bad of ["limit=0", "limit=1001", "after=x", "after=1_%00", "other=1"])
    expect((await ask("operator", "GET", `/calls?${bad}`)).status).toBe(422);
  for (const { end } of desk.calls.values()) end();
  await Promise.all(ends);
});

it("an operator ends a call: its caller is told with a code, and the history shows it", async () => {
  const { ask, begin, desk, gateway } = await start();
  const client = await connectClient(gateway.endpoints[0]!.url, {
    headers: { authorization: `Bearer ${KEYS["caller"]}` },
  });
  const calling = client.callTool({ name: "wait", arguments: { name: "mcp" } }).catch((e) => e);
  await until(() => desk.calls.has("mcp"));
  const http = await begin("caller", "http");
  const { body } = await ask("operator", "GET", "/calls");
  expect(body.calls.map(({ source }: { source: string }) => source)).toEqual(["mcp", "http"]);
  for (const { id } of body.calls)
    expect((await ask("operator", "DELETE", `/calls/${id}`)).body).toEqual({ ok: true, id });
  expect(String((await calling).message)).toContain("An operator cancelled the call.");
  expect(await http.end).toMatchObject({ status: 499, body: { error: { code: "cancelled" } } });
  expect(desk.calls.get("mcp")!.call.signal.aborted).toBe(true);
  const { entries } = (await ask("operator", "GET", "/history")).body;
  expect(entries).toMatchObject([
    { code: "cancelled", message: "An operator cancelled the call." },
    { code: "cancelled" },
  ]);
  expect((await ask("operator", "DELETE", `/calls/${body.calls[0].id}`)).status).toBe(404);
  await client.close();
});

it("a caller ends its own calls and nobody else's, and none where changes are off", async () => {
  const { ask, begin, desk } = await start();
  const call = await begin("caller", "mine");
  const { id } = desk.calls.get("mine")!.call;
  expect((await ask("other", "DELETE", `/calls/${id}`)).status).toBe(404);
  expect(desk.calls.get("mine")!.call.signal.aborted).toBe(false);
  expect((await ask("caller", "DELETE", `/calls/${id}`)).status).toBe(200);
  expect((await call.end).body.error.message).toBe("The call was cancelled by its caller.");
  const closed = await start({});
  expect((await closed.ask("caller", "DELETE", `/calls/${id}`)).body.error.code).toBe("read_only");
});

it("a call by hand answers as JSON or as events, and ends with its reader", async () => {
  const { ask, desk, url } = await start();
  const failed = await ask("caller", "POST", "/calls", { server: "desk", tool: "fail" });
  expect(failed).toMatchObject({ status: 200, body: { ok: true, result: { isError: true } } });
  const nobody = await ask("caller", "POST", "/calls", { server: "desk", tool: "gone" });
  expect(nobody.status).toBe(502);
  expect((await ask("caller", "POST", "/calls", { server: "x", tool: "y" })).status).toBe(404);
  expect((await ask("viewer", "POST", "/calls", { server: "desk", tool: "fail" })).status).toBe(
    403,
  );
  const abort = new AbortController();
  const stream = (name: string) =>
    fetch(`${url}/_meta/calls`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${KEYS["caller"]}`,
        "content-type": "application/json",
        accept: "text/event-stream",
      },
      body: JSON.stringify({ server: "desk", tool: "wait", arguments: { name } }),
      signal: abort.signal,
    });
  const read = await stream("read");
  await until(() => desk.calls.has("read"));
  desk.calls.get("read")!.end();
  expect(await read.text()).toBe(
    ': open\n\nevent: progress\ndata: {"progress":1,"total":2,"message":"half"}\n\n' +
      'event: result\ndata: {"result":{"content":[{"type":"text","text":"done read"}]}}\n\n',
  );
  await stream("left");
  await until(() => desk.calls.has("left"));
  abort.abort();
  await until(() => desk.calls.get("left")!.call.signal.aborted);
});

/** Reads the events of a call one by one. */
async function* eventsOf(response: Response): AsyncGenerator<{ event: string; data: string }> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body!) {
    rest += decoder.decode(bytes as Uint8Array, { stream: true });
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(rest.slice(0, end)) ?? [];
      rest = rest.slice(end + 2);
      if (event !== undefined) yield { event, data: data! };
    }
  }
}

async function startAsking(args: object, interactive = true, store?: string) {
  const started = await start(undefined, store);
  const { url } = started;
  const abort = new AbortController();
  const response = await fetch(`${url}/_meta/calls`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${KEYS["caller"]}`,
      "content-type": "application/json",
      accept: "text/event-stream",
    },
    body: JSON.stringify({ server: "desk", tool: "ask", arguments: args, interactive }),
    signal: abort.signal,
  });
  const events = eventsOf(response);
  // eslint-disable-next-line typescript/no-explicit-any -- bodies of all shapes
  const next = async (): Promise<{ event: string; data: any }> => {
    const { value } = await events.next();
    return { event: value!.event, data: JSON.parse(value!.data) };
  };
  /** What the tool was answered. */
  // eslint-disable-next-line typescript/no-explicit-any -- bodies of all shapes
  const end = async (): Promise<any> => {
    for (;;) {
      const { event, data } = await next();
      if (event === "result") return JSON.parse(data.result.content[0].text);
      if (event !== "closed" && event !== "question") throw new Error(`${event}: ${data}`);
    }
  };
  const reply = (who: string, id: string, answer: object) =>
    started.ask(who, "POST", `/questions/${id}`, answer);
  return { ...started, next, end, reply, abort };
}

const FORM = {
  message: "Who?",
  requestedSchema: {
    type: "object",
    properties: { name: { type: "string", minLength: 2 }, age: { type: "integer" } },
    required: ["name"],
  },
};

it("a caller answers for 50 calls at a time, and another one when one of them is over", async () => {
  const args = { method: "elicitation/create", params: FORM };
  const { url, next, abort } = await startAsking(args);
  expect((await next()).event).toBe("question");
  const others = new AbortController();
  onTestFinished(() => others.abort());
  const first = async (): Promise<string> => {
    const response = await fetch(`${url}/_meta/calls`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${KEYS["caller"]}`,
        "content-type": "application/json",
        accept: "text/event-stream",
      },
      body: JSON.stringify({ server: "desk", tool: "ask", arguments: args, interactive: true }),
      signal: others.signal,
    });
    const { value } = await eventsOf(response).next();
    return value!.event === "error" ? value!.data : value!.event;
  };
  const told = await Promise.all(Array.from({ length: 49 }, first));
  expect(new Set(told)).toEqual(new Set(["question"]));
  expect(await first()).toContain("rate_limited");
  abort.abort();
  await until(async () => (await first()) === "question");
});

it("who calls by hand is asked by the tool; nobody else can answer, and what does not fit is said by its field", async () => {
  const { next, end, reply } = await startAsking({ method: "elicitation/create", params: FORM });
  const { event, data } = await next();
  expect([event, data]).toEqual([
    "question",
    { id: data.id, method: "elicitation/create", params: FORM },
  ]);
  const good = { action: "accept", content: { name: "Ada" } };
  expect((await reply("other", data.id, good)).status).toBe(404);
  expect((await reply("operator", data.id, good)).status).toBe(404);
  expect((await reply("viewer", data.id, good)).status).toBe(403);
  const wrong = await reply("caller", data.id, {
    action: "accept",
    content: { name: "A", age: "x" },
  });
  expect(wrong.status).toBe(422);
  expect(wrong.body.error).toMatchObject({ code: "invalid", data: { path: "name" } });
  expect(wrong.body.error.data.problems.map(({ path }: { path: string }) => path)).toEqual([
    "name",
    "age",
  ]);
  expect(await reply("caller", data.id, good)).toEqual({
    status: 200,
    body: { ok: true, id: data.id },
  });
  expect((await reply("caller", data.id, good)).status).toBe(404);
  expect(await end()).toEqual([good]);
});

it.each([
  [
    "a form that is declined",
    "elicitation/create",
    FORM,
    { action: "decline" },
    { action: "decline" },
  ],
  [
    "a form that is put away",
    "elicitation/create",
    FORM,
    { action: "cancel" },
    { action: "cancel" },
  ],
  [
    "a page that was visited",
    "elicitation/create",
    { mode: "url", url: "https://example.com/", message: "Go", elicitationId: "e" },
    { action: "accept" },
    { action: "accept" },
  ],
  [
    "a message of a model",
    "sampling/createMessage",
    { messages: [], maxTokens: 10 },
    { action: "accept", text: "Hello" },
    {
      role: "assistant",
      content: { type: "text", text: "Hello" },
      model: "person",
      stopReason: "endTurn",
    },
  ],
  [
    "a message that is refused",
    "sampling/createMessage",
    { messages: [], maxTokens: 10 },
    { action: "decline" },
    { code: "upstream_error", message: "The person refused to answer." },
  ],
])("a tool gets %s as MCP writes it", async (_, method, params, answer, got) => {
  const { next, end, reply } = await startAsking({ method, params });
  const { data } = await next();
  expect((await reply("caller", data.id, answer)).status).toBe(200);
  expect(await end()).toEqual([got]);
});

it("a tool asks only those who said that they answer, only what a person can be asked, and not without end", async () => {
  const silent = await startAsking({ method: "elicitation/create", params: FORM }, false);
  expect(await silent.end()).toMatchObject([{ code: "invalid" }]);
  for (const method of ["roots/list", "tools/call"]) {
    const odd = await startAsking({ method, params: {} });
    expect(await odd.end()).toMatchObject([{ code: "invalid" }]);
  }
  const large = await startAsking({
    method: "elicitation/create",
    params: { ...FORM, message: "x".repeat(1_100_000) },
  });
  expect(await large.end()).toMatchObject([{ code: "too_large" }]);
  const many = await startAsking({ method: "elicitation/create", params: FORM, times: 101 });
  const asked = [];
  for (let index = 0; index < 100; index++) asked.push((await many.next()).data.id);
  await Promise.all(asked.map((id) => many.reply("caller", id, { action: "cancel" })));
  const answers: { code?: string; action?: string }[] = await many.end();
  expect(answers.filter(({ action }) => action === "cancel")).toHaveLength(100);
  expect(answers.filter(({ code }) => code === "rate_limited")).toHaveLength(1);
  const left = await startAsking({ method: "elicitation/create", params: FORM });
  const { id } = (await left.next()).data;
  left.abort.abort();
  await until(async () => (await left.reply("caller", id, { action: "accept" })).status === 404);
});

it("a question is answered at another replica, by its own caller alone", async () => {
  const { url } = await useServer();
  const other = await start(undefined, url);
  const asking = await startAsking({ method: "elicitation/create", params: FORM }, true, url);
  const { id } = (await asking.next()).data;
  const reply = (who: string, content: object) =>
    other.ask(who, "POST", `/questions/${id}`, { action: "accept", content });
  expect((await reply("other", { name: "Ada" })).status).toBe(404);
  // A replica hears of another one a little after it started.
  const wrong = await until(async () => {
    const answered = await reply("caller", { name: "A" });
    return answered.status !== 404 && answered;
  });
  expect(wrong).toMatchObject({ status: 422, body: { error: { data: { path: "name" } } } });
  expect((await reply("caller", { name: "Ada" })).status).toBe(200);
  expect(await asking.end()).toEqual([{ action: "accept", content: { name: "Ada" } }]);
});
