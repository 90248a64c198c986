import { fileURLToPath } from "node:url";
import { digestOf } from "propylon/kit";
import { describe, expect, it } from "vitest";
import history from "propylon/plugins/history";
import { createKey } from "../../../plugins/keys/key.ts";
import {
  Answer,
  definePlugin,
  type AnyPlugin,
  GatewayError,
  type GatewayConfigInput,
} from "../../../core/index.ts";
import { connectClient, testPlugin } from "../../../core/testing/index.ts";
import { startGateway } from "../../contract/kit.ts";

const SERVER = fileURLToPath(
  new URL("../../fixtures/process/scripted-server.mjs", import.meta.url),
);
const scripted = { command: process.execPath, args: [SERVER] };

interface Shown {
  readonly id: string;
  readonly tool: string;
  readonly outcome: string;
  readonly code: string | null;
  readonly arguments?: unknown;
  readonly result?: unknown;
  readonly [key: string]: unknown;
}

interface Listing {
  readonly entries: Shown[];
  readonly next: string | null;
}

/** Counts what really reaches it, and refuses as told. */
function counter() {
  const calls: unknown[] = [];
  const plugin = definePlugin({
    name: "local",
    setup(gateway) {
      gateway.tool("note", {
        description: "Notes.",
        input: { type: "object" },
        run(args, call) {
          calls.push({ args, by: call.principal.id, source: call.source });
          call.progress?.({ progress: 1 });
          return { noted: calls.length };
        },
      });
      gateway.tool("repeat", {
        description: "Repeats everything it was given, as text.",
        input: { type: "object" },
        run: (args) =>
          `You said ${JSON.stringify(args)}, or ${JSON.stringify(JSON.stringify(args))}`,
      });
      gateway.use("gate", (call, next) => {
        if (call.args?.["disabled"]) throw new GatewayError("disabled", "It is switched off.");
        if (call.args?.["rpc"])
          return Promise.resolve(Answer.error({ code: -32050, message: "no" }));
        return next(call);
      });
    },
  });
  return { plugin, calls };
}

async function start(
  options: object = {},
  config: GatewayConfigInput = {},
  others: readonly AnyPlugin[] = [],
) {
  const { plugin, calls } = counter();
  const plugins = [[history, { ...options }], plugin, ...others] as const;
  const started = await startGateway({
    plugins,
    config: { management: { mutations: true }, ...config },
    client: false,
  });
  const { url, gateway } = started;
  const headers = (key?: string) => (key === undefined ? {} : { authorization: `Bearer ${key}` });
  const request = (method: string, path = "", key?: string) =>
    fetch(`${url}/_meta/history${path}`, { method, headers: headers(key) });
  const json = async <T>(response: Response): Promise<T> => (await response.json()) as T;
  return {
    ...started,
    calls,
    request,
    list: async (query = "", key?: string) => json<Listing>(await request("GET", query, key)),
    call: (tool: string, args?: Record<string, unknown>, server = "local") =>
      gateway.call({ server, name: tool, ...(args && { args }) }).catch(() => undefined),
  };
}

describe("what is remembered", () => {
  it("M131: every call with its three layers, who, where and how long, newest first", async () => {
    const { gateway, call, list } = await start({}, { servers: { s: scripted } });
    const client = await connectClient(gateway.endpoints[0]!.url);
    await client.callTool({ name: "echo", arguments: { text: "hello" } });
    await client.close();
    await call("tool-error", {}, "s");
    await call("error", { code: -32001 }, "s");
    await gateway.call({ server: "s", name: "hang", timeout: 30 }).catch(() => {});
    await call("note", { disabled: true });
    await call("nothing", {}, "nowhere");
    const { entries, next } = await list();
    expect(next).toBeNull();
    expect(entries.map(({ tool, outcome, code }) => [tool, outcome, code])).toEqual([
      ["nothing", "refused", "not_found"],
      ["note", "refused", "disabled"],
      ["hang", "timed_out", "timeout"],
      ["error", "tool_error", "-32001"],
      ["tool-error", "tool_error", null],
      ["echo", "ok", null],
    ]);
    const [, denied, timedOut, , , echo] = entries;
    expect(echo).toMatchObject({
      server: "s",
      source: "mcp",
      endpoint: "mcp",
      principal: "anonymous:anonymous",
      arguments: { text: "hello" },
      result: { content: [{ type: "text", text: "hello" }] },
      resultSize: expect.any(Number),
      durationMs: expect.any(Number),
      queuedMs: expect.any(Number),
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    expect(denied).toMatchObject({ queuedMs: null, message: "It is switched off." });
    expect(timedOut!["durationMs"]).toBeGreaterThanOrEqual(29);
  });

  it("M131: tells how long a call was held back before it left for its server", async () => {
    const hold = definePlugin({
      name: "hold",
      setup(gateway) {
        gateway.use("limit", async (call, next) => {
          await new Promise((resolve) => void setTimeout(resolve, 30));
          return next(call);
        });
      },
    });
    const started = await start({}, { servers: { s: scripted } }, [hold]);
    await Promise.all(
      ["a", "b"].map((text) => started.gateway.call({ server: "s", name: "echo", args: { text } })),
    );
    const { entries } = await started.list();
    expect(entries).toHaveLength(2);
    for (const { queuedMs, durationMs } of entries as unknown as Record<string, number>[]) {
      expect(queuedMs).toBeGreaterThanOrEqual(29);
      expect(durationMs).toBeGreaterThanOrEqual(queuedMs!);
    }
  });

  it("a call whose arguments are no JSON is left out, and takes no other with it", async () => {
    const { gateway, call, list } = await start();
    await gateway.call({ server: "local", name: "note", args: { a: 1n } }).catch(() => {});
    await call("note", { at: 1 });
    expect((await list()).entries.map((entry) => entry.arguments)).toEqual([{ at: 1 }]);
  });

  it("counts progress reports, and passes them on", async () => {
    const { gateway, list } = await start({}, { servers: { s: scripted } });
    const heard: number[] = [];
    await gateway.call({
      server: "s",
      name: "progress",
      args: { count: 3, every: 5 },
      progress: ({ progress }) => void heard.push(progress),
    });
    expect(heard).toEqual([1, 2, 3]);
    expect((await list()).entries[0]).toMatchObject({ progress: 3, outcome: "ok" });
  });

  it("a call whose progress is counted can still be cancelled and still times out", async () => {
    const { gateway, list } = await start({}, { servers: { s: scripted } });
    const progress = (): void => {};
    await gateway.call({ server: "s", name: "hang", progress, timeout: 20 }).catch(() => {});
    const abort = new AbortController();
    const running = gateway.call({ server: "s", name: "hang", progress, signal: abort.signal });
    abort.abort();
    await expect(running).rejects.toThrow("cancelled");
    expect((await list()).entries.map(({ code }) => code)).toEqual(["cancelled", "timeout"]);
  });

  it("M131: a large result is cut to its limit and stays bytes on its way", async () => {
    const { gateway, list } = await start({ maxResult: 1_000 }, { servers: { s: scripted } });
    const answer = await gateway.call({ server: "s", name: "huge", args: { bytes: 4_000_000 } });
    const [entry] = (await list()).entries;
    expect(answer.isRaw).toBe(true);
    expect(entry!["resultSize"]).toBe(answer.rawSize);
    expect(entry!["resultPreview"]).toMatch(
      /^\{"resultType":"complete","content":\[\{"type":"text","text":"x{800,}$/,
    );
    expect((entry!["resultPreview"] as string).length).toBeLessThanOrEqual(1_000);
    expect(entry).not.toHaveProperty("result");
  });

  it("large arguments are cut to their limit", async () => {
    const { call, list } = await start({ maxArguments: "1KiB" });
    await call("note", { a: "x".repeat(100_000), b: [1, 2, 3], c: "later" });
    const [entry] = (await list()).entries;
    expect(entry!["argumentsTruncated"]).toBe(true);
    expect(JSON.stringify(entry!.arguments).length).toBeLessThan(1_100);
  });

  it("M131: survives reloads, also those that change its options, and forgets the oldest", async () => {
    const { gateway, call, list } = await start();
    for (let at = 0; at < 5; at++) await call("note", { at });
    expect((await list()).entries).toHaveLength(5);
    const { written: config } = gateway;
    const plugins = (maxEntries: number) => ({
      ...config,
      plugins: { history: { maxEntries }, local: {} },
    });
    await gateway.apply(plugins(3));
    expect((await list()).entries).toHaveLength(5);
    await call("note", { at: 5 });
    const { entries } = await list();
    expect(entries.map((entry) => entry.arguments)).toEqual([{ at: 5 }, { at: 4 }, { at: 3 }]);
  });
});

describe("secrets", () => {
  const CANARY = 'canary-"7f3a\\b';
  const args = {
    text: "fine",
    password: CANARY,
    nested: [{ apiKey: CANARY, "X-Auth-Token": CANARY, deeper: { client_secret: { a: CANARY } } }],
    customer: { card: CANARY, name: "Ada" },
    pinCode: CANARY,
  };
  const redact = ["customer.card", "pin-code"];

  it("M146: no secret in any output, not even where the tool repeats it", async () => {
    const { call, list, request, gateway } = await start({ redact }, { servers: { s: scripted } });
    await call("repeat", args);
    await call("note", args);
    await call("echo", { ...args, text: `so ${CANARY} it is` }, "s");
    await call(
      "echo",
      { ...args, structured: { token: CANARY, deep: { password: [CANARY] } } },
      "s",
    );
    await call("error", { ...args, message: `bad ${CANARY}` }, "s");
    const { entries } = await list();
    expect(entries[3]!.arguments).toEqual({
      text: "fine",
      password: "[redacted]",
      nested: [
        {
          apiKey: "[redacted]",
          "X-Auth-Token": "[redacted]",
          deeper: { client_secret: "[redacted]" },
        },
      ],
      customer: { card: "[redacted]", name: "Ada" },
      pinCode: "[redacted]",
    });
    const outputs = [
      JSON.stringify(entries),
      await (await request("GET", "/export")).text(),
      ...(await Promise.all(
        entries.map(async ({ id }) => (await request("GET", `/${id}`)).text()),
      )),
      JSON.stringify(gateway.describe()),
    ];
    for (const output of outputs) expect(output).not.toContain("7f3a");
    expect(outputs[0]).toContain("You said");
  });

  it("M146: a secret in the part of a text that is cut off, or in a cut result, does not show either", async () => {
    const limits = { maxResult: 60, maxArguments: 300 };
    const { call, list } = await start({ redact, ...limits }, { servers: { s: scripted } });
    for (let fill = 0; fill < 60; fill += 3) {
      const text = `${"x".repeat(fill)}${CANARY}`;
      await call("echo", { fill: "y".repeat(400), text, late: { password: CANARY } }, "s");
      await call("repeat", { fill: "y".repeat(fill), password: CANARY });
    }
    const { entries } = await list();
    expect(entries).toHaveLength(40);
    expect(JSON.stringify(entries)).not.toContain("canary");
  });

  it("M146: arguments are kept whole, or not at all, when the option says so", async () => {
    const full = await start({ arguments: "full" });
    await full.call("note", args);
    expect((await full.list()).entries[0]!.arguments).toEqual(args);
    const off = await start({ arguments: "off" });
    await off.call("repeat", args);
    const [entry] = (await off.list()).entries;
    expect(entry).not.toHaveProperty("arguments");
    expect(JSON.stringify(entry)).not.toContain("7f3a");
  });
});

describe("the API", () => {
  it("filters by everything, pages with a cursor, and refuses what it does not know", async () => {
    const { call, list, request } = await start();
    for (let at = 0; at < 7; at++) await call("note", { at });
    await call("repeat", {});
    await call("note", { disabled: true });
    await call("note", { rpc: true });
    const count = async (query: string) => (await list(query)).entries.length;
    expect(await count("?tool=note")).toBe(9);
    expect(await count("?tool=note&outcome=ok")).toBe(7);
    expect(await count("?outcome=failed")).toBe(2);
    expect(await count("?outcome=tool_error")).toBe(1);
    expect(await count("?outcome=rpc_error")).toBe(1);
    expect(await count("?outcome=transport_error")).toBe(0);
    expect(await count("?server=other")).toBe(0);
    expect(await count("?principal=service:gateway")).toBe(10);
    expect(await count(`?since=${new Date(Date.now() + 60_000).toISOString()}`)).toBe(0);
    expect(await count(`?since=${new Date(Date.now() - 60_000).toISOString()}`)).toBe(10);
    const seen: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const page: Listing = await list(`?tool=note&limit=4${next && `&cursor=${next}`}`);
      seen.push(...page.entries.map(({ id }) => id));
      next = page.next;
      await call("repeat", {});
    }
    expect(seen).toHaveLength(9);
    expect(new Set(seen).size).toBe(9);
    for (const query of ["?limit=0", "?since=yesterday", "?outcome=fine", "?toool=note"]) {
      const refused = await request("GET", query);
      expect(refused.status).toBe(422);
      expect(await refused.json()).toMatchObject({ ok: false, error: { code: "invalid" } });
    }
  });

  it("M131: exports JSON lines, oldest first, as many as there are", async () => {
    const { call, request } = await start({ maxEntries: 5_000, maxMemory: "64MiB" });
    for (let at = 0; at < 3_000; at++) await call("note", { at });
    const response = await request("GET", "/export?tool=note");
    expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    const lines = (await response.text()).trimEnd().split("\n");
    const entries = lines.map((line) => JSON.parse(line) as Shown);
    expect(entries.map((entry) => (entry.arguments as { at: number }).at)).toEqual(
      Array.from({ length: 3_000 }, (_, at) => at),
    );
    expect((await request("GET", "/export?limit=1")).status).toBe(422);
  });

  it("M131: a replay really calls, as whoever asked for it, and says what it repeats", async () => {
    const { call, calls, list, request } = await start();
    await call("note", { a: [1, { b: 2 }] });
    const [first] = (await list()).entries;
    const response = await request("POST", `/${first!.id}/replay`);
    expect(await response.json()).toMatchObject({
      ok: true,
      replayOf: first!.id,
      outcome: "ok",
      result: { structuredContent: { noted: 2 } },
    });
    expect(calls).toEqual([
      { args: { a: [1, { b: 2 }] }, by: "gateway", source: "local" },
      { args: { a: [1, { b: 2 }] }, by: "anonymous", source: "http" },
    ]);
    const [again] = (await list()).entries;
    expect(again).toMatchObject({
      replayOf: first!.id,
      source: "http",
      principal: "anonymous:anonymous",
    });
  });

  it("a replay goes through the gate, and tells of a failure as every call does", async () => {
    const { call, list, request } = await start();
    await call("note", { disabled: true });
    await call("note", { rpc: true });
    const [rpc, denied] = (await list()).entries;
    const refused = await request("POST", `/${denied!.id}/replay`);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ error: { code: "disabled" } });
    expect(await (await request("POST", `/${rpc!.id}/replay`)).json()).toMatchObject({
      ok: true,
      outcome: "tool_error",
      code: "-32050",
      error: { code: -32050, message: "no" },
    });
  });

  it.each([
    ["secrets", {}, { password: "hidden" }],
    ["too large", { maxArguments: 200 }, { text: "x".repeat(1_000) }],
    ["not kept", { arguments: "off" }, { text: "x" }],
  ])("refuses to replay what it cannot repeat exactly: %s", async (why, options, args) => {
    const { call, calls, list, request } = await start(options);
    await call("note", args);
    const refused = await request("POST", `/${(await list()).entries[0]!.id}/replay`);
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({
      error: { code: "invalid", message: expect.stringContaining(why), hint: expect.any(String) },
    });
    expect(calls).toHaveLength(1);
  });

  it("clears, and says so; an unknown call is not found", async () => {
    const { call, list, request } = await start();
    await call("note", {});
    expect(await (await request("DELETE")).json()).toEqual({ ok: true, cleared: 1 });
    expect((await list()).entries).toEqual([]);
    expect((await request("GET", "/nope")).status).toBe(404);
    expect((await request("POST", "/nope/replay")).status).toBe(404);
  });
});

describe("who may do what", () => {
  const keys = {
    viewer: createKey("viewer"),
    operator: createKey("operator"),
    admin: createKey("admin"),
  };
  const auth = {
    keys: Object.fromEntries(
      Object.entries(keys).map(([role, key]) => [
        role,
        { role: role as keyof typeof keys, hash: `sha256:${digestOf(key)}` },
      ]),
    ),
  };

  it("M131 M146: a viewer sees what happened, an operator what was said, an admin may repeat and clear", async () => {
    const { call, calls, list, request } = await start({}, { auth });
    await call("note", { text: "words" });
    const [seen] = (await list("", keys.viewer)).entries;
    expect(seen).toMatchObject({ tool: "note", outcome: "ok" });
    for (const member of ["arguments", "result", "message"])
      expect(seen).not.toHaveProperty(member);
    const exported = await (await request("GET", "/export", keys.viewer)).text();
    expect(exported).not.toContain("words");
    const [full] = (await list("", keys.operator)).entries;
    expect(full).toMatchObject({ arguments: { text: "words" }, result: expect.any(Object) });
    const statuses = async (method: string, path: string) =>
      Promise.all(
        [undefined, keys.viewer, keys.operator].map(
          async (key) => (await request(method, path, key)).status,
        ),
      );
    expect(await statuses("POST", `/${seen!.id}/replay`)).toEqual([401, 403, 403]);
    expect(await statuses("DELETE", "")).toEqual([401, 403, 403]);
    expect(calls).toHaveLength(1);
    expect((await request("POST", `/${seen!.id}/replay`, keys.admin)).status).toBe(200);
    expect(calls).toHaveLength(2);
    expect((await request("DELETE", "", keys.admin)).status).toBe(200);
  });
});

testPlugin(history, { config: {}, changed: { maxEntries: 5 } });
