import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pino } from "pino";
import { createGateway, definePlugin, type Gateway, type Json } from "../../core/index.ts";
import { parseExact } from "../../core/kit.ts";
import mcp from "../../plugins/mcp/index.ts";
import { until } from "../kit/until.ts";
import { Speaker } from "./speaker.ts";

const SCRIPT = fileURLToPath(new URL("../fixtures/process/exact-server.mjs", import.meta.url));

/** What some clients take from a clock of nanoseconds, and the ends of what JavaScript and 64 bits hold. */
const IDS = [
  "1764338400000000001",
  "9007199254740992",
  "9007199254740993",
  "-9223372036854775808",
  "18446744073709551615",
];

/** Asks its client with an id of 64 bits before it answers a call with what came back, or takes the question back. */
const ASKER = `
let call;
const say = (id, text) => console.log('{"jsonrpc":"2.0","id":' + id + "," + text + "}");
const cancel = (id) => console.log('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":' + id + "}}");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    say(JSON.stringify(id), '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}');
  else if (method === "tools/list")
    say(JSON.stringify(id), '"result":{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}');
  else if (method === "tools/call") {
    call = JSON.stringify(id);
    say("9007199254740993", '"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}');
    for (const other of params.arguments.cancel ?? []) cancel(other);
    if (params.arguments.cancel) say(call, '"result":{"content":[]}');
  } else if (call && method === undefined) {
    say(call, '"result":{"content":[{"type":"text","text":' + JSON.stringify(line) + "}]}");
  }
});`;

/** Calls that run until somebody cancels them, in the order in which they came. */
const waiting: { isOver: boolean }[] = [];

const tools = definePlugin({
  name: "tools",
  setup(gateway) {
    gateway.tool("wait", {
      description: "Waits.",
      run: (_args, { signal }) =>
        new Promise<string>((resolve) => {
          const call = { isOver: false };
          waiting.push(call);
          signal.addEventListener("abort", () => {
            call.isOver = true;
            resolve("over");
          });
        }),
    });
  },
});

let url: string;
let gateway: Gateway;
const speakers: Partial<Record<"legacy" | "modern", Speaker>> = {};
beforeAll(async () => {
  gateway = await createGateway(
    {
      listeners: { main: { port: 0 } },
      servers: {
        exact: { command: process.execPath, args: [SCRIPT] },
        asker: { command: process.execPath, args: ["-e", ASKER] },
      },
      plugins: { mcp: {}, tools: {} },
      endpoints: { mcp: { path: "/mcp", naming: "server" } },
    },
    { plugins: { mcp, tools }, log: pino({ enabled: false }) },
  );
  await gateway.listen();
  url = gateway.endpoints[0]!.url;
  await until(() => gateway.servers.get("exact")?.status.state === "ready");
  await until(() => gateway.servers.get("asker")?.status.state === "ready");
  speakers.legacy = await Speaker.open(url, "legacy");
  speakers.modern = await Speaker.open(url, "modern");
});
afterAll(async () => {
  await Promise.all(Object.values(speakers).map((speaker) => speaker.close()));
  await gateway.close({ grace: 0 });
});

/** The answer to a message as text: a parser would change the very thing that is looked at. */
async function post(speaker: Speaker, message: object, id?: string): Promise<string> {
  const text = JSON.stringify(message);
  const { pool, path } = speaker;
  const response = await pool.request({
    method: "POST",
    path,
    headers: speaker.headersFor(message),
    body: id === undefined ? text : text.replace('"id":7', `"id":${id}`),
  });
  return response.body.text();
}

describe.each(["legacy", "modern"] as const)("a client of the %s era", (era) => {
  it.each(IDS)("line 9: finds the id %s of its request in every answer", async (id) => {
    const speaker = speakers[era]!;
    const requests: [string, Json, RegExp][] = [
      ["tools/call", { name: "exact__echo", arguments: { a: 1 } }, /"structuredContent":\{"a":1\}/],
      ["tools/call", { name: "exact__error", arguments: {} }, /-32050/],
      ["tools/call", { name: "nothing", arguments: {} }, /-32602/],
      ["tools/list", {}, /"exact__echo"/],
      ["prompts/list", {}, /"prompts":\[\]|-32601/],
      ["tools/list", { cursor: "x" }, /-32602/],
      ["no/such", {}, /-32601/],
    ];
    for (const [method, params, said] of requests) {
      const answer = await post(speaker, speaker.message(method, params, 7), id);
      expect(answer).toMatch(said);
      expect([...answer.matchAll(/"id":(-?\d[^,}]*)/g)].map(([, found]) => found)).toEqual([id]);
    }
  });

  it.each(["1.5", "null", "true", "[9007199254740993]"])(
    "line 9: is told that %s is no id",
    async (id) => {
      const speaker = speakers[era]!;
      const answer = await post(speaker, speaker.message("tools/list", {}, 7), id);
      expect(answer).toMatch(/"id":null/);
      expect(answer).toContain("not a JSON-RPC");
    },
  );
});

describe("a call with an id of 64 bits", () => {
  it("line 9: is cancelled by its own id and not by its neighbour's, and runs once at a time", async () => {
    const speaker = speakers.legacy!;
    const call = speaker.message("tools/call", { name: "tools__wait", arguments: {} }, 7);
    const running = post(speaker, call, "9007199254740993");
    const begun = until(() => waiting[0]);
    await Promise.race([begun, running.then((answer) => Promise.reject(new Error(answer)))]);
    const again = await post(speaker, call, "9007199254740993");
    expect(again).toContain("A request with this id is still running.");
    const cancel = (id: string): Promise<string> => {
      const params = `{"requestId":${id}}`;
      const message = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`;
      const { pool, path } = speaker;
      const headers = speaker.headersFor(JSON.parse(message));
      return pool
        .request({ method: "POST", path, headers, body: message })
        .then(({ body }) => body.text());
    };
    for (const other of ["9007199254740992", "9007199254740994", '"9007199254740993"'])
      await cancel(other);
    expect(waiting[0]!.isOver).toBe(false);
    expect(waiting).toHaveLength(1);
    await cancel("9007199254740993");
    await until(() => waiting[0]!.isOver);
    await running;
  });
});

describe("a question of a server with an id of 64 bits", () => {
  const ask = (args: Json, answer: (signal: AbortSignal) => Promise<Json>) =>
    gateway.call({
      server: "asker",
      name: "ask",
      source: "local",
      args,
      peer: {
        key: "k",
        capabilities: { sampling: {} },
        tell: () => {},
        ask: (_method, _params, signal) => answer(signal!),
      },
    });

  it("line 9: is answered with it", async () => {
    const answer = await ask({}, () => Promise.resolve({ role: "assistant" }));
    expect(JSON.stringify(answer.result)).toContain('\\"id\\":9007199254740993,');
  });

  it("line 9: is taken back by it and by no other", async () => {
    const withdrawn: Promise<boolean>[] = [];
    const args = (ids: string): Json => parseExact(`{"cancel":${ids}}`) as Json;
    const wait = (signal: AbortSignal): Promise<Json> => {
      const over = new Promise<Json>((resolve) =>
        signal.addEventListener("abort", () => resolve({})),
      );
      withdrawn.push(over.then(() => signal.aborted));
      return over;
    };
    await ask(args('["9007199254740992","9007199254740993"]'), wait);
    expect(await Promise.all(withdrawn)).toEqual([true]);
  });
});
