import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Endpoints } from "../../../plugins/mcp/endpoints.ts";
import { KnownLists } from "../../../plugins/mcp/view/known-lists.ts";
import { digestsOf, View } from "../../../plugins/mcp/view/view.ts";
import { endpointSchema } from "../../../core/config/schema.ts";
import type { EndpointContent } from "../../../core/plugin/endpoint-server.ts";
import { EMPTY_CATALOGUE } from "../../../core/call/server.ts";
import { longestTurn } from "../../fixtures/turns.ts";
import {
  FakeServer,
  legacyClient,
  modernMeta,
  openSession,
  post,
  postModern,
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

function view(
  servers: FakeServer[],
  config: Partial<EndpointContent["config"]> = {},
  selection: EndpointContent["selection"] = new Map(),
) {
  return new View({
    config: { ...endpointSchema.parse({}), ...config },
    servers,
    selection,
    shows: () => true,
  });
}

const reply = () => text("x");

describe("View", () => {
  it("routes exposed names to the server's own", () => {
    const [one, two] = [
      new FakeServer("one").tool("echo", reply),
      new FakeServer("two").tool("echo", reply).tool("add", reply),
    ];
    const shown = view([one, two]);
    expect([...shown.tools].map(([name, route]) => [name, route.server.name, route.name])).toEqual([
      ["one__echo", "one", "echo"],
      ["two__echo", "two", "echo"],
      ["add", "two", "add"],
    ]);
  });

  it("applies the server's selection and prefix, then the endpoint's filter on exposed names", () => {
    const server = new FakeServer("one")
      .tool("get_a", reply)
      .tool("get_b", reply)
      .tool("set_a", reply);
    const selection = new Map([
      ["one", { prefix: "p", accepts: (name: string) => name !== "get_b" }],
    ]);
    expect([...view([server], { naming: "server" }, selection).tools.keys()]).toEqual([
      "p__get_a",
      "p__set_a",
    ]);
    expect([
      ...view([server], { naming: "server", tools: ["p__get_*"] }, selection).tools.keys(),
    ]).toEqual(["p__get_a"]);
  });

  it("leaves out and reports what no client could use, and shortens names that none takes", () => {
    const server = new FakeServer("one")
      .tool("x".repeat(65), reply)
      .tool("has blank", reply)
      .tool("no schema", reply, { inputSchema: {} })
      .tool("fine", reply);
    const shown = view([server]);
    expect([...shown.tools.keys()]).toEqual([
      expect.stringMatching(/^x{57}_\w{6}$/),
      expect.stringMatching(/^has_blank_\w{6}$/),
      "fine",
    ]);
    expect(shown.problems).toEqual([expect.stringContaining("not of type object")]);
  });

  it("resources: the first server wins a URI, templates lead to their server, the rest to the only one that has any", () => {
    const one = new FakeServer("one", {
      resources: [{ uri: "x://a", name: "a" }],
      capabilities: { resources: {} },
    });
    const two = new FakeServer("two", {
      resources: [{ uri: "x://a", name: "again" }],
      resourceTemplates: [{ uriTemplate: "y://{id}", name: "y" }],
    });
    const shown = view([one, two]);
    expect(shown.resource("x://a")?.server).toBe(one);
    expect(shown.resource("y://7")?.server).toBe(two);
    expect(shown.resource("z://unlisted")?.server).toBe(one);
    expect(shown.problems).toEqual([expect.stringContaining("one has it already")]);
  });

  it("legacy clients never see an output schema that is no object", () => {
    const server = new FakeServer("one").tool("list", reply, {
      outputSchema: { type: "array" },
    });
    const { "tools/list": list } = view([server]).lists;
    const parse = (era: "legacy" | "modern") =>
      JSON.parse(list.encode(1, era, {}).join("")) as { result: { tools: object[] } };
    expect(parse("legacy").result.tools[0]).not.toHaveProperty("outputSchema");
    expect(parse("modern").result.tools[0]).toHaveProperty("outputSchema", { type: "array" });
  });

  it("M106: lists of the same tools are equal, of a changed tool not", () => {
    const server = new FakeServer("one").tool("a", reply);
    const before = view([server]);
    expect(view([server]).lists["tools/list"].equals(before.lists["tools/list"])).toBe(true);
    server.catalogue = { ...server.catalogue, tools: [{ ...server.catalogue.tools[0]! }] };
    expect(view([server]).lists["tools/list"].equals(before.lists["tools/list"])).toBe(true);
    server.catalogue = {
      ...server.catalogue,
      tools: [{ ...server.catalogue.tools[0]!, description: "new" }],
    };
    expect(view([server]).lists["tools/list"].equals(before.lists["tools/list"])).toBe(false);
  });

  it("unknown members of tools reach the client, and `__proto__` stays data", async () => {
    const inputSchema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"}}}',
    ) as Record<string, unknown>;
    const server = new FakeServer("one").tool(
      "a",
      (call) => text(JSON.stringify([call.args, call.params])),
      { inputSchema, "x-vendor": 1 },
    );
    served = await serve([server]);
    const headers = await openSession(served.url);
    const list = await (
      await post(served.url, { jsonrpc: "2.0", id: 1, method: "tools/list" }, headers)
    ).text();
    expect(list).toContain('"x-vendor":1');
    expect(list).toContain('"__proto__":{"type":"string"}');
    const body =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"__proto__":{"x":1}},"__proto__":{"y":2}}}';
    const answer = (await (await post(served.url, body, headers)).json()) as {
      result: { content: { text: string }[] };
    };
    expect(answer.result.content[0]!.text).toBe('[{"__proto__":{"x":1}},{"__proto__":{"y":2}}]');
  });

  it("a completion's reference is mapped to the server's own name", async () => {
    const prompts = [{ name: "p" }];
    const [one, two] = [
      new FakeServer("one", { prompts }),
      new FakeServer("two", { prompts, capabilities: { completions: {}, prompts: {} } }),
    ];
    two.handlers.set("p", (call) => text(JSON.stringify(call.params)));
    served = await serve([one, two]);
    const params = {
      ref: { type: "ref/prompt", name: "two__p" },
      argument: { name: "a", value: "b" },
    };
    await postModern(served.url, 1, "completion/complete", params);
    expect(served.host.calls[0]).toMatchObject({
      server: "two",
      name: "p",
      params: { ref: { name: "p" }, argument: { name: "a", value: "b" } },
    });
  });

  it("10,000 tools that are left out are said a hundred at a time, and hold nobody up", async () => {
    const tools = (round: number) =>
      Array.from({ length: 10_000 }, (_, index) => ({
        name: `t${round}_${index}`,
        inputSchema: {},
      }));
    const server = new FakeServer("one", { tools: tools(0) });
    served = await serve([server]);
    const { endpoint, host } = served;
    const warn = vi.spyOn(host.log, "warn");
    server.catalogue = { ...server.catalogue, tools: tools(1) };
    const isShown = (): boolean => endpoint.problems[0]?.includes("t1_0") === true;
    const longest = await longestTurn(async () => {
      server.emit({ type: "changed", lists: ["tools"] });
      while (!isShown()) await new Promise((resolve) => setImmediate(resolve));
    });
    expect(longest).toBeLessThan(250);
    expect(endpoint.problems).toHaveLength(10_000);
    expect(warn).toHaveBeenCalledTimes(101);
    expect(warn).toHaveBeenLastCalledWith({ endpoint: "main", more: 9_900 }, expect.any(String));
  });

  it("10,000 changed tools are serialised in slices, so that nothing else waits long", async () => {
    let round = 0;
    const make = () =>
      Array.from({ length: 10_000 }, (_, index) => ({
        name: `t${index}`,
        description: `${round}`.repeat(300),
        inputSchema: { type: "object" },
      }));
    const server = new FakeServer("one", { tools: make() });
    served = await serve([server]);
    const client = await legacyClient(served.url);
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    );
    round++;
    server.catalogue = { ...server.catalogue, tools: make() };
    const longest = await longestTurn(() => {
      server.emit({ type: "changed", lists: ["tools"] });
      return changed;
    });
    expect(longest).toBeLessThan(150);
    expect((await client.listTools()).tools[0]!.description).toBe(`${round}`.repeat(300));
    await client.close();
  });
});

describe("a view that is built in pieces", () => {
  const list = (count: number, letter: string) =>
    Array.from({ length: count }, (_, index) => ({
      name: `${letter}${index}`,
      inputSchema: { type: "object" },
    }));
  const content = (servers: FakeServer[]): EndpointContent => ({
    config: endpointSchema.parse({}),
    servers,
    selection: new Map(),
    shows: () => true,
  });

  it.each([0, 1, 999, 1_000, 1_001, 4_000])(
    "of %d tools is the one built at once",
    async (count) => {
      const servers = [
        new FakeServer("one", { tools: list(count, "t") }),
        new FakeServer("two", { tools: list(3, "t"), prompts: [{ name: "p" }] }),
      ];
      const [slow, once] = [
        await View.inTurns(content(servers), new KnownLists()),
        new View(content(servers)),
      ];
      expect(slow!.tools).toEqual(once.tools);
      expect(digestsOf(slow!)).toEqual(digestsOf(once));
      expect(slow!.problems).toEqual(once.problems);
    },
  );

  it("lets others have their turn, and shows what its servers had when it began", async () => {
    const server = new FakeServer("one", { tools: list(4_000, "t") });
    let turns = 0;
    const count = (): boolean => {
      if (turns++ === 0) server.catalogue = { ...server.catalogue, tools: list(2, "other") };
      return true;
    };
    const built = await View.inTurns(content([server]), new KnownLists(), count);
    expect(turns).toBeGreaterThanOrEqual(8);
    expect(built!.tools.size).toBe(4_000);
    expect(built!.tools.get("t3999")?.name).toBe("t3999");
  });

  it("that is dropped leaves no name taken", async () => {
    const known = new KnownLists();
    const server = new FakeServer("one", { tools: list(4_000, "t") });
    let turns = 0;
    const dropped = await View.inTurns(content([server]), known, () => ++turns < 7);
    expect([dropped, turns]).toEqual([undefined, 7]);
    expect(known.claimants("tool", "t0").size).toBe(0);
    const shown = new View(content([server]), undefined, known);
    expect(shown.tools.size).toBe(4_000);
    expect([...known.claimants("tool", "t0")]).toEqual(["one"]);
  });

  it("that a reload replaces while it is built takes no name of what came after", async () => {
    const turns = async (count: number): Promise<void> => {
      for (let turn = 0; turn < count; turn++)
        await new Promise((resolve) => setImmediate(resolve));
    };
    const before = new FakeServer("a", { tools: list(1, "t") });
    const after = new FakeServer("b", { tools: list(1, "deploy") });
    served = await serve([before]);
    const { endpoint, url } = served;
    before.catalogue = { ...before.catalogue, tools: [...list(1, "deploy"), ...list(5_000, "t")] };
    before.emit({ type: "changed", lists: ["tools"] });
    await turns(4);
    endpoint.update(content([after]));
    await turns(40);
    after.emit({ type: "changed", lists: ["tools"] });
    await turns(40);
    const client = await legacyClient(url);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["deploy0"]);
    await client.close();
  });
});

describe("first connect", () => {
  const connecting = () => {
    const server = new FakeServer("slow");
    server.catalogue = EMPTY_CATALOGUE;
    server.status = { ...server.status, state: "connecting", reason: "Starting." };
    return server;
  };
  const ready = (server: FakeServer) => {
    server.catalogue = { ...EMPTY_CATALOGUE, hash: "1" };
    server.tool("late", reply);
    server.status = { ...server.status, state: "ready" };
    server.emit({ type: "changed", lists: ["tools"] });
    server.emit({ type: "state", status: server.status });
  };

  it("the first list and the first call wait for a server that is still connecting", async () => {
    const server = connecting();
    served = await serve([server]);
    const list = postModern(served.url, 1, "tools/list");
    const call = postModern(served.url, 2, "tools/call", { name: "late" });
    await expect.poll(() => served!.requests()).toBe(2);
    ready(server);
    expect(await (await list).json()).toMatchObject({ result: { tools: [{ name: "late" }] } });
    expect(await (await call).json()).toMatchObject({ result: { content: [{ text: "x" }] } });
  });

  it("a call whose client went away while it waited never reaches the server, in either era", async () => {
    served = await serve([]);
    const { url } = served;
    const session = await openSession(url);
    const server = connecting();
    let runs = 0;
    served.servers.push(server);
    served.endpoint.update(served.content([server]));
    const leaving = new AbortController();
    const before = served.requests();
    const calls = [modernMeta(), undefined].map((_meta) =>
      fetch(url, {
        method: "POST",
        signal: leaving.signal,
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(_meta
            ? {
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": "late",
              }
            : session),
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "late", _meta },
        }),
      }).catch((error: Error) => error.name),
    );
    await expect.poll(() => served!.requests()).toBe(before + 2);
    // Their bodies are read once another request has been answered, and their ends noticed after one more.
    await post(url, { jsonrpc: "2.0", id: 2, method: "ping" }, session);
    leaving.abort();
    expect(await Promise.all(calls)).toEqual(["AbortError", "AbortError"]);
    for (let id = 3; id < 6; id++) await post(url, { jsonrpc: "2.0", id, method: "ping" }, session);
    ready(server);
    server.handlers.set("late", () => {
      runs++;
      return text("x");
    });
    await postModern(url, 9, "tools/call", { name: "late" });
    expect(runs).toBe(1);
  });

  it("a server that fails, or hangs for two seconds, is not waited for", async () => {
    const [failing, hanging] = [connecting(), connecting()];
    served = await serve([failing]);
    const list = postModern(served.url, 1, "tools/list");
    failing.status = { ...failing.status, state: "backoff", reason: "Refused." };
    failing.emit({ type: "state", status: failing.status });
    expect(await (await list).json()).toMatchObject({ result: { tools: [] } });
    const started = performance.now();
    served.endpoint.update(served.content([hanging]));
    await postModern(served.url, 1, "tools/list");
    expect(performance.now() - started).toBeGreaterThan(1_500);
    const again = performance.now();
    await postModern(served.url, 1, "tools/list");
    // It would be two seconds again.
    expect(performance.now() - again).toBeLessThan(1_500);
  });

  /** An endpoint whose server never answers, after its lists have given up on it. */
  const pastTheLists = async (limits?: { callTimeout?: number }) => {
    const server = connecting();
    served = await serve([server], { ...limits });
    await postModern(served.url, 1, "tools/list");
    return { server, url: served.url, session: await openSession(served.url) };
  };
  const callLegacy = (url: URL, session: Record<string, string>, id: number, name: string) =>
    post(url, { jsonrpc: "2.0", id, method: "tools/call", params: { name } }, session);

  it("a call waits for a server that takes longer than the lists wait, in either era", async () => {
    const { server, url, session } = await pastTheLists();
    const before = served!.requests();
    const calls = [
      postModern(url, 2, "tools/call", { name: "late" }),
      callLegacy(url, session, 3, "late"),
    ];
    await expect.poll(() => served!.requests()).toBe(before + 2);
    for (let id = 10; id < 13; id++)
      await post(url, { jsonrpc: "2.0", id, method: "ping" }, session);
    ready(server);
    for (const answer of await Promise.all(calls))
      expect(await answer.json()).toMatchObject({ result: { content: [{ text: "x" }] } });
  });

  it("a call goes as soon as somebody has its name, whoever else is still connecting", async () => {
    const server = connecting();
    served = await serve([server, connecting()]);
    const call = postModern(served.url, 2, "tools/call", { name: "late" });
    await expect.poll(() => served!.requests()).toBe(1);
    ready(server);
    expect(await (await call).json()).toMatchObject({ result: { content: [{ text: "x" }] } });
  });

  it("a call that waited in vain is told that servers are starting, and is unknown once they have", async () => {
    const { server, url, session } = await pastTheLists({ callTimeout: 50 });
    const told = { error: { message: expect.stringContaining("server slow, which is starting") } };
    expect(await (await postModern(url, 2, "tools/call", { name: "late" })).json()).toMatchObject(
      told,
    );
    expect(await (await callLegacy(url, session, 3, "late")).json()).toMatchObject(told);
    ready(server);
    const unknown = { error: { code: -32602, message: "Unknown tool: other" } };
    expect(await (await callLegacy(url, session, 4, "other")).json()).toMatchObject(unknown);
  });

  it("a call that was cancelled, or whose session ended, while it waited never reaches the server", async () => {
    const { server, url, session } = await pastTheLists();
    const second = await openSession(url);
    let runs = 0;
    const before = served!.requests();
    const cancelled = callLegacy(url, session, 7, "late");
    const deleted = callLegacy(url, second, 8, "late");
    await expect.poll(() => served!.requests()).toBe(before + 2);
    for (let id = 10; id < 13; id++)
      await post(url, { jsonrpc: "2.0", id, method: "ping" }, session);
    const params = { requestId: 7 };
    await post(url, { jsonrpc: "2.0", method: "notifications/cancelled", params }, session);
    await fetch(url, { method: "DELETE", headers: second });
    // Both end at once, not only when the server is there.
    await Promise.all([cancelled, deleted]);
    ready(server);
    server.handlers.set("late", () => {
      runs++;
      return text("x");
    });
    await callLegacy(url, session, 9, "late");
    expect(runs).toBe(1);
  });

  it("how many calls of one principal wait is bounded", async () => {
    const { url, session, server } = await pastTheLists();
    const calls = Array.from({ length: 101 }, (_, id) => callLegacy(url, session, id + 10, "late"));
    const refused = await Promise.race(calls);
    expect(await refused.json()).toMatchObject({
      error: { message: expect.stringContaining("still connecting") },
    });
    ready(server);
    const results = (await Promise.all(calls)).filter((answer) => answer !== refused);
    for (const answer of results) expect(await answer.json()).toHaveProperty("result");
  });

  it("servers that leave are listened to no longer", async () => {
    const server = new FakeServer("one");
    served = await serve([server]);
    expect(server.listeners).toBe(1);
    served.endpoint.update(served.content([]));
    expect(server.listeners).toBe(0);
  });
});

describe("a reload", () => {
  it("M106: builds no list anew where the same servers show the same, and does where a setting or a filter differs", async () => {
    const server = new FakeServer("one").tool("a", () => text("a"));
    served = await serve([server]);
    const { catalogue } = server;
    let reads = 0;
    Object.defineProperty(server, "catalogue", {
      get: () => {
        reads++;
        return catalogue;
      },
    });
    const endpoints = new Endpoints(served.host);
    const shown = { ...served.content([server]), isUnfiltered: true };
    const readsOf = (content: typeof shown): number => {
      reads = 0;
      endpoints.update(new Map([["main", { listener: "main", path: "/mcp", content }]]));
      return reads;
    };
    expect(readsOf(shown)).toBeGreaterThan(0);
    expect(readsOf({ ...shown, config: { ...shown.config }, shows: () => true })).toBe(0);
    const named = { ...shown.config, naming: "server" as const };
    expect(readsOf({ ...shown, config: named })).toBeGreaterThan(0);
    expect(readsOf({ ...shown, isUnfiltered: false })).toBeGreaterThan(0);
    expect(readsOf(shown)).toBeGreaterThan(0);
    expect(readsOf({ ...shown, servers: [] })).toBe(0);
    expect(readsOf(shown)).toBeGreaterThan(0);
    endpoints.close();
  });
});
