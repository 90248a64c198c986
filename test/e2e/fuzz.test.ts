import { connect } from "node:net";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createGateway, type Gateway } from "../../core/gateway.ts";
import { definePlugin } from "../../core/plugin.ts";
import { Speaker, type Era, type Message, type Reply } from "./speaker.ts";

const MESSAGES = 100_000;
const REQUESTS = 20_000;
const BATCH = 100;
const ERAS: readonly Era[] = ["legacy", "modern"];

const target = definePlugin({
  name: "target",
  setup(gateway) {
    gateway.tool("echo", {
      description: "Says it back.",
      input: z.object({ text: z.string() }),
      run: ({ text }) => text,
    });
    gateway.tool("anything", {
      description: "Takes any object.",
      input: { type: "object" },
      run: (args) => ({ args }),
    });
    gateway.tool("broken", {
      description: "Always fails.",
      run: () => {
        throw new Error("inner secret");
      },
    });
    gateway.resource({ uri: "memo://one", name: "one", read: () => ({ text: "one" }) });
    gateway.resourceTemplate({
      uriTemplate: "memo://{id}",
      name: "memo",
      read: ({ id }) => ({ text: id ?? "" }),
    });
    gateway.prompt({
      name: "greet",
      arguments: [{ name: "who" }],
      get: ({ who }) => ({
        messages: [{ role: "user", content: { type: "text", text: who ?? "" } }],
      }),
    });
    gateway.route("POST", "/route", { access: "public", mutates: true }, () => ({ ok: true }));
  },
});

let gateway: Gateway;
let url: string;
let origin: string;
const speakers = {} as Record<Era, Speaker>;
const rejections: unknown[] = [];
const fatal: string[] = [];

beforeAll(async () => {
  process.on("unhandledRejection", (error) => rejections.push(error));
  const log = pino({ level: "error" }, { write: (line: string) => fatal.push(line) });
  const limits = { requestTimeout: "2s", headersTimeout: "2s", body: "256KiB" };
  gateway = await createGateway(
    { listeners: { main: { port: 0 } }, plugins: { target: {} }, limits },
    { plugins: { target }, log },
  );
  await gateway.listen();
  url = gateway.endpoints[0]!.url;
  origin = new URL(url).origin;
  for (const era of ERAS) speakers[era] = await Speaker.open(url, era);
});

afterAll(async () => {
  for (const era of ERAS) await speakers[era].close();
  await gateway.close({ grace: 1_000 });
});

/** The gateway still answers, and nothing was thrown into the void. */
async function expectHealthy(): Promise<void> {
  for (const era of ERAS) expect(await speakers[era].call("echo", { text: "alive" })).toBe("alive");
  expect(rejections).toEqual([]);
}

const METHODS = [
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/read",
  "resources/templates/list",
  "resources/subscribe",
  "resources/unsubscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "server/discover",
  "subscriptions/listen",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
  "tasks/list",
  "rpc.discover",
  "__proto__",
  "constructor",
  "toString",
  "tools/Call",
  "",
];

/** Names and values that mean something somewhere, so that the fuzz gets behind the first check. */
const known = fc.constantFrom<unknown>(
  "echo",
  "target__echo",
  "anything",
  "broken",
  "memo://one",
  "memo://",
  "greet",
  "debug",
  "emergency",
  "one",
  0,
  -1,
  1e308,
  2 ** 53,
  "",
  null,
  true,
  [],
  {},
  { type: "ref/prompt", name: "greet" },
  { type: "ref/resource", uri: "memo://{id}" },
  { name: "who", value: "x" },
  "\u0000",
  "\ud800",
  "__proto__",
  "😀",
);
const anything = fc.oneof(
  { weight: 3, arbitrary: known },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);
const key = fc.oneof(
  fc.constantFrom(
    "name",
    "uri",
    "arguments",
    "ref",
    "argument",
    "level",
    "cursor",
    "_meta",
    "requestId",
    "progressToken",
    "protocolVersion",
    "capabilities",
    "clientInfo",
    "notifications",
    "inputResponses",
    "requestState",
    "text",
    "__proto__",
    "constructor",
  ),
  fc.string({ maxLength: 8 }),
);
const params = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.dictionary(
      key,
      fc.oneof(anything, fc.dictionary(key, anything, { maxKeys: 4 })),
      { maxKeys: 6 },
    ),
  },
  { weight: 1, arbitrary: anything },
);
const id = fc.oneof(
  { weight: 4, arbitrary: fc.oneof(fc.integer(), fc.string({ maxLength: 20 })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      null,
      1.5,
      {},
      [],
      true,
      -0,
      Number.MAX_SAFE_INTEGER,
      "x".repeat(1_000),
    ),
  },
);

/** A JSON-RPC message that is right in some respects and wrong in others. */
const message = fc.record(
  {
    jsonrpc: fc.oneof(
      { weight: 9, arbitrary: fc.constant<unknown>("2.0") },
      { weight: 1, arbitrary: fc.constantFrom<unknown>("1.0", 2, null, "2.00") },
    ),
    id,
    method: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom<unknown>(...METHODS) },
      { weight: 1, arbitrary: anything },
    ),
    params,
    result: anything,
    error: anything,
  },
  { requiredKeys: [] },
);
/** What a client would send, but for its contents. */
const request = fc.record(
  { jsonrpc: fc.constant("2.0"), id, method: fc.constantFrom(...METHODS), params },
  { requiredKeys: ["jsonrpc", "method"] },
);
const weighted = fc.oneof(
  { weight: 8, arbitrary: request },
  { weight: 2, arbitrary: message },
  { weight: 1, arbitrary: fc.array(message, { maxLength: 4 }) },
  { weight: 1, arbitrary: anything },
);

/** What happens to the text on its way: usually nothing. */
const damage = fc.oneof(
  { weight: 8, arbitrary: fc.constant((text: string) => text) },
  { weight: 1, arbitrary: fc.nat(200).map((cut) => (text: string) => text.slice(0, cut)) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(200), fc.string({ maxLength: 3, unit: "binary" })).map(
      ([at, noise]) =>
        (text: string) =>
          text.slice(0, at) + noise + text.slice(at),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant((text: string) => text.replace("{", '{"id":"first","method":"ping",')),
  },
);

const shot = fc.record({
  era: fc.constantFrom(...ERAS),
  value: weighted,
  complete: fc.integer({ min: 0, max: 3 }),
  damage,
  headers: fc.oneof(
    { weight: 6, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Record<string, string>>(
        { "mcp-method": "tools/call" },
        { "mcp-name": "other" },
        { "mcp-protocol-version": "1999-01-01" },
        { "mcp-session-id": "nobody" },
        { accept: "text/html" },
        { accept: "application/json" },
        { "content-type": "text/plain" },
        { "last-event-id": "7" },
      ),
    },
  ),
});

type Shot = typeof shot extends fc.Arbitrary<infer T> ? T : never;

async function fire({ era, value, complete, damage: harm, headers }: Shot): Promise<void> {
  const speaker = speakers[era];
  // Most modern messages get their obligatory _meta, else none would pass the first check.
  const whole =
    era === "modern" && complete > 0 && isRequest(value)
      ? speaker.message(value.method, asParams(value.params), value.id)
      : value;
  const body = harm(JSON.stringify(whole) ?? "");
  const reply = await speaker.send(body, { ...speaker.headersFor(whole), ...headers });
  judge(body, reply);
}

function isRequest(
  value: unknown,
): value is { method: string; params?: unknown; id: string | number } {
  return (
    typeof value === "object" &&
    value !== null &&
    "method" in value &&
    typeof value.method === "string" &&
    "id" in value
  );
}

function asParams(value: unknown): Message {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Message)
    : {};
}

/** No 5xx, and every answer bears the id of a request in the body, or null. */
function judge(body: string, { status, messages }: Reply): void {
  if (status >= 500 || status < 200) throw new Error(`status ${status} for ${body}`);
  const allowed = new Set<unknown>(idsOf(body));
  for (const answer of messages) {
    if (answer["jsonrpc"] !== "2.0")
      throw new Error(`no JSON-RPC: ${JSON.stringify(answer)} for ${body}`);
    if ("method" in answer) continue;
    if ("result" in answer === "error" in answer)
      throw new Error(`neither or both: ${JSON.stringify(answer)} for ${body}`);
    if (answer["id"] !== null && answer["id"] !== undefined && !allowed.has(answer["id"]))
      throw new Error(`wrong id: ${JSON.stringify(answer)} for ${body}`);
    if (JSON.stringify(answer).includes("inner secret"))
      throw new Error(`leaked: ${JSON.stringify(answer)}`);
  }
}

function idsOf(body: string): unknown[] {
  try {
    const value: unknown = JSON.parse(body);
    return (Array.isArray(value) ? value : [value]).map((one: unknown) =>
      typeof one === "object" && one !== null && "id" in one ? one.id : undefined,
    );
  } catch {
    return [];
  }
}

describe("acceptance 8: hostile input", () => {
  it(
    `${MESSAGES} fuzzed JSON-RPC messages of both eras: no 5xx, ids right, alive afterwards`,
    { timeout: 300_000 },
    async () => {
      const batch = fc.array(shot, { minLength: BATCH, maxLength: BATCH });
      await fc.assert(
        fc.asyncProperty(batch, async (shots) => {
          await Promise.all(shots.map(fire));
        }),
        { numRuns: MESSAGES / BATCH, endOnFailure: true },
      );
      await expectHealthy();
      expect(fatal.filter((line) => !line.includes("inner secret"))).toEqual([]);
    },
  );

  it(`${REQUESTS} raw HTTP requests: no 5xx, alive afterwards`, { timeout: 300_000 }, async () => {
    let thrown = 0;
    const batch = fc.array(rawRequest(), { minLength: BATCH, maxLength: BATCH });
    await fc.assert(
      fc.asyncProperty(batch, async (raws) => {
        await Promise.all(raws.map(throwAt));
        thrown += raws.length;
      }),
      { numRuns: REQUESTS / BATCH, endOnFailure: true },
    );
    await expectHealthy();
    expect(thrown).toBe(REQUESTS);
  });

  describe.each(ERAS)("%s", (era) => {
    const echo = { name: "echo", arguments: { text: "x" } };
    const valid = (): string => JSON.stringify(speakers[era].message("tools/call", echo, 7));
    const cases: readonly (readonly [
      title: string,
      body: () => string | Buffer,
      status: number,
    ])[] = [
      ["an oversize body", () => valid().replace('"x"', JSON.stringify("x".repeat(300_000))), 413],
      ["a deep body", () => valid().replace('"x"', "[".repeat(1_000) + "]".repeat(1_000)), 400],
      ["a hundred thousand open brackets", () => "[".repeat(100_000), 400],
      ["a truncated body", () => valid().slice(0, -10), 400],
      ["an empty body", () => "", 400],
      ["no JSON", () => "hello", 400],
      ["a form", () => "method=tools/call&id=1", 400],
      [
        "invalid UTF-8",
        () => Buffer.concat([Buffer.from(valid().slice(0, -2)), Buffer.from([0xff, 0xfe, 0x7d])]),
        400,
      ],
      ["a number", () => "42", 400],
      ["null", () => "null", 400],
      ["an empty batch", () => "[]", 400],
      ["an id that is an object", () => valid().replace('"id":7', '"id":{}'), 400],
      ["a wrong jsonrpc", () => valid().replace('"2.0"', '"1.0"'), 400],
      ["keys in other case", () => valid().replace('"method"', '"METHOD"'), 400],
    ];

    it.each(cases)("refuses %s with a sentence", async (_title, body, status) => {
      const headers = speakers[era].headersFor(speakers[era].message("tools/call", echo, 7));
      const reply = await speakers[era].send(body(), headers);
      expect(reply.status).toBe(status);
      expect(reply.messages[0]).toMatchObject({
        jsonrpc: "2.0",
        error: { code: expect.any(Number), message: expect.stringMatching(/^[A-Z].*\.$/) },
      });
      await expectHealthy();
    });

    it("T13: of duplicate keys the last counts, everywhere alike", async () => {
      const speaker = speakers[era];
      const body = valid().replace(
        '"text":"x"',
        '"text":"first","text":"last","Text":"other","__proto__":{"text":"proto"}',
      );
      const { messages } = await speaker.send(body, speaker.headersFor(JSON.parse(valid())));
      expect(messages[0]).toMatchObject({ id: 7, result: { content: [{ text: "last" }] } });
    });
  });
});

/** HTTP as written by somebody who has only heard of it. */
function rawRequest(): fc.Arbitrary<Buffer> {
  const host = new URL(origin).host;
  const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const line = fc.tuple(
    fc.constantFrom(
      "GET",
      "POST",
      "DELETE",
      "PUT",
      "OPTIONS",
      "HEAD",
      "TRACE",
      "PATCH",
      "CONNECT",
      "PRI",
      "get",
      "",
      "G\0T",
    ),
    fc.oneof(
      fc.constantFrom(
        "/mcp",
        "/",
        "/livez",
        "/readyz?verbose",
        "/route",
        "*",
        "/mcp/../route",
        "//mcp",
        "http://evil/mcp",
        "/%",
        "mcp",
        "",
      ),
      fc.webPath(),
      fc.string(),
    ),
    fc.constantFrom(
      "HTTP/1.1",
      "HTTP/1.1",
      "HTTP/1.1",
      "HTTP/1.0",
      "HTTP/2.0",
      "HTTP/9.9",
      "http/1.1",
      "",
    ),
  );
  const header = fc.oneof(
    fc.constantFrom(
      `Host: ${host}`,
      "Host: evil",
      "Origin: http://evil",
      `Origin: http://${host}`,
      `Content-Length: ${body.length}`,
      "Content-Length: 5",
      "Content-Length: -5",
      "Transfer-Encoding: chunked",
      "Transfer-Encoding: gzip",
      "Expect: 100-continue",
      "Expect: the unexpected",
      "Upgrade: websocket",
      "Connection: Upgrade, keep-alive",
      "Content-Type: application/json",
      "Accept: application/json, text/event-stream",
      "Accept: text/html",
      "Mcp-Session-Id: x",
      "MCP-Protocol-Version: 2026-07-28",
      "Authorization: Bearer",
      "Cookie: a=b",
      "Range: bytes=0-",
      "Content-Encoding: gzip",
      ": empty",
      "NoColon",
      " folded",
    ),
    fc
      .tuple(fc.string({ maxLength: 10 }), fc.string({ maxLength: 30 }))
      .map(([name, value]) => `${name}: ${value}`),
  );
  const headers = fc
    .tuple(fc.boolean(), fc.array(header, { maxLength: 8 }))
    .map(([withHost, lines]) => [...(withHost ? [`Host: ${host}`] : []), ...lines]);
  const payload = fc.oneof(
    fc.constant(body),
    fc.constant(""),
    fc.constant(`28\r\n${body}\r\n0\r\n\r\n`),
    fc.string({ maxLength: 60 }),
    fc.constant("\r\n".repeat(20)),
  );
  const ending = fc.constantFrom("\r\n", "\r\n", "\r\n", "\n", "\r");
  return fc
    .tuple(line, headers, payload, ending)
    .map(([words, lines, content, end]) =>
      Buffer.from(
        `${words.join(" ")}${end}${lines.map((text) => text + end).join("")}${end}${content}`,
      ),
    );
}

/** Sends the bytes, says that no more will come, and reads until the gateway hangs up. */
function throwAt(bytes: Buffer): Promise<void> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let said = "";
    const tooLong = setTimeout(
      () => finish(new Error(`no end after ${JSON.stringify(bytes.toString())}: ${said}`)),
      20_000,
    );
    const finish = (error?: Error): void => {
      clearTimeout(tooLong);
      socket.destroy();
      if (error) reject(error);
      else resolve();
    };
    socket.on("data", (chunk) => (said += chunk.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => {
      const worst = [...said.matchAll(/^HTTP\/1\.1 (\d{3})/gm)]
        .map(([, status]) => Number(status))
        .find((status) => status >= 500);
      finish(
        worst === undefined
          ? undefined
          : new Error(`status ${worst} for ${JSON.stringify(bytes.toString())}: ${said}`),
      );
    });
    socket.end(bytes);
  });
}
