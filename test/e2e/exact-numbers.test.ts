import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseArguments } from "../../plugins/client/call-command.ts";
import { createGateway, type Gateway, type Json } from "../../core/index.ts";
import { parseExact, writeJson } from "../../core/kit.ts";
import history from "../../plugins/history/index.ts";
import mcp from "../../plugins/mcp/index.ts";
import openapi from "../../plugins/openapi/index.ts";
import rest from "../../plugins/rest/index.ts";
import { until } from "../kit/until.ts";
import { Speaker } from "./speaker.ts";

const SCRIPT = fileURLToPath(new URL("../fixtures/process/exact-server.mjs", import.meta.url));

/** Numbers that JavaScript changes, and two that it does not. */
const NUMBERS = [
  "9007199254740993",
  "-9223372036854775808",
  "18446744073709551615",
  "1e400",
  "0.1000000000000000055511151231257827",
  "1.00000000000000000001",
  "42",
  "0.1",
];

/** Nested in lists and maps, beside texts and names that look like numbers. */
function valueOf(number: string): string {
  const inner = `{"7":${number},"list":[${number},[${number}],{"m":${number}}],"9007199254740993":"${number}"}`;
  return `{"amount":${number},"inner":${inner},"text":"a \\"${number}\\", ${number}"}`;
}

/** Without the marks of JSON inside JSON. */
function plain(text: string): string {
  return text.replaceAll("\\", "");
}

function withTexts(value: string, number: string): string {
  return value.replaceAll(new RegExp(`(?<=[:[])${number}`, "g"), `"${number}"`);
}

/** How a value goes in and comes out: the arguments of a call, and what is known of its answer as text. */
type Face = (tool: string, args: string) => Promise<string>;

let gateway: Gateway;
let origin: string;
let legacy: Speaker;
let modern: Speaker;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  const [http, api] = await Promise.all([startHttp(), startApi()]);
  gateway = await createGateway(
    {
      listeners: { main: { port: 0 } },
      management: { mutations: true },
      servers: {
        stdio: { command: process.execPath, args: [SCRIPT] },
        http: { url: http },
        orders: { type: "openapi", spec: `${api}/openapi` },
      },
      plugins: { mcp: {}, openapi: { validate: true }, rest: {}, history: {} },
      endpoints: { mcp: { path: "/mcp", naming: "server" } },
    },
    { plugins: { mcp, openapi, rest, history }, log: pino({ enabled: false }) },
  );
  await gateway.listen();
  const names = ["stdio", "http", "orders"];
  await until(() => names.every((name) => gateway.servers.get(name)?.status.state === "ready"));
  const [endpoint] = gateway.endpoints;
  origin = new URL(endpoint!.url).origin;
  legacy = await Speaker.open(endpoint!.url, "legacy");
  modern = await Speaker.open(endpoint!.url, "modern");
  ends.push(
    () => gateway.close({ grace: 0 }),
    () => legacy.close(),
    () => modern.close(),
  );
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

async function startHttp(): Promise<string> {
  const server = spawn(process.execPath, [SCRIPT, "--http"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  ends.push(() => server.kill());
  for await (const line of createInterface({ input: server.stdout })) return line;
  throw new Error("The server did not start.");
}

/** What an API got: its address and its body. */
const requests: string[] = [];

/** An API that answers with the body that it got; the last address is kept as well. */
async function startApi(): Promise<string> {
  const schema = { type: "object", additionalProperties: true };
  const content = { "application/json": { schema } };
  const id = { name: "id", in: "query", schema: { type: "integer", format: "int64" } };
  const key = { name: "key", in: "path", required: true, schema: { type: "integer" } };
  const trace = { name: "X-Trace", in: "header", schema: { type: "integer" } };
  const document = {
    openapi: "3.0.3",
    info: { title: "t", version: "1" },
    paths: {
      "/echo": {
        post: {
          operationId: "echo",
          requestBody: { content },
          responses: { "200": { description: "ok", content } },
        },
      },
      "/of/{key}": {
        get: {
          operationId: "find",
          parameters: [id, key, trace],
          responses: { "200": { description: "ok", content } },
        },
      },
    },
  };
  const server = createServer((req, res) => {
    if (req.url === "/openapi") return void res.end(JSON.stringify(document));
    let body = "";
    req.setEncoding("utf8").on("data", (text: string) => (body += text));
    req.on("end", () => {
      requests.push(`${req.url} ${String(req.headers["x-trace"])} ${body}`);
      res.writeHead(200, { "content-type": "application/json" }).end(body || "{}");
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Over MCP; the text of the response, which no parser has touched. */
function overMcp(speaker: () => Speaker, wrap = (body: string) => body): Face {
  return async (tool, args) => {
    const name = tool.replace("/", "__");
    const message = speaker().message("tools/call", { name, arguments: {} }, 7);
    const body = wrap(
      JSON.stringify(message).replace('"arguments":{}', () => `"arguments":${args}`),
    );
    const headers = speaker().headersFor(message);
    const { pool, path } = speaker();
    const response = await pool.request({ method: "POST", path, headers, body });
    expect(response.statusCode).toBe(200);
    return response.body.text();
  };
}

/** Over plain HTTP. */
function overHttp(headers: Record<string, string> = {}): Face {
  return async (tool, args) => {
    const response = await fetch(`${origin}/${tool}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: args,
    });
    const text = await response.text();
    expect([response.status, text]).toEqual([200, text]);
    return text;
  };
}

const asJob: Face = async (tool, args) => {
  const headers = { "content-type": "application/json", prefer: "respond-async" };
  const begun = await fetch(`${origin}/${tool}`, { method: "POST", headers, body: args });
  expect(begun.status).toBe(202);
  const url = new URL(begun.headers.get("location")!, origin);
  for (;;) {
    const text = await (await fetch(url)).text();
    if (!/"(?:running|queued|working)"/.test(text)) return text;
    await new Promise(setImmediate);
  }
};

const inProcess: Face = async (tool, args) => {
  const [server, name] = tool.split("/") as [string, string];
  const answer = await gateway.call({ server, name, args: parseExact(args) as Json });
  return writeJson(answer.isRpcError ? { error: answer.error } : { result: answer.result });
};

const fromTheCommandLine: Face = (tool, args) =>
  inProcess(tool, writeJson(parseArguments([args], undefined)));

/** The call is made once, and again from what was remembered of it. */
const replayed: Face = async (tool, args) => {
  await overHttp()(tool, args);
  const [server, name] = tool.split("/") as [string, string];
  const list = await fetch(`${origin}/_meta/history?server=${server}&tool=${name}&limit=1&brief=1`);
  const { entries } = (await list.json()) as { entries: { id: string }[] };
  const response = await fetch(`${origin}/_meta/history/${entries[0]!.id}/replay`, {
    method: "POST",
  });
  return response.text();
};

const FACES: Readonly<Record<string, Face>> = {
  "MCP of 2025-11-25": overMcp(() => legacy),
  "MCP of 2026-07-28": overMcp(() => modern),
  "plain HTTP": overHttp(),
  "plain HTTP as a bare value": overHttp({ "x-result-format": "raw" }),
  "plain HTTP with events": overHttp({ accept: "text/event-stream" }),
  "a job": asJob,
  "a call inside the process": inProcess,
  "the command line": fromTheCommandLine,
  "a call that is made again": replayed,
};

describe.each(Object.keys(FACES))("bugs-mcp 3, requirements F4: by %s", (face) => {
  const call = FACES[face]!;
  describe.each(["stdio", "http", "orders"])("to the server %s", (server) => {
    it.each(NUMBERS)("%s arrives and comes back as it was written", async (number) => {
      const args = valueOf(number);
      const sent = server === "orders" ? `{"body":${args}}` : args;
      const answer = await call(`${server}/echo`, sent);
      const isSame = plain(answer).includes(plain(args));
      // The data of an API have the digits as text, where JavaScript would change them.
      const isText = server === "orders" && plain(answer).includes(plain(withTexts(args, number)));
      expect([isSame || isText, answer]).toEqual([true, answer]);
      const isSent = server !== "orders" || requests.at(-1) === `/echo undefined ${args}`;
      expect([isSent, requests.at(-1)]).toEqual([true, requests.at(-1)]);
    });
  });

  it.each(NUMBERS)("%s comes back from data and from words", async (number) => {
    const args = valueOf(number);
    expect(await call("stdio/data", args)).toContain(args);
    expect(plain(await call("stdio/words", args))).toContain(plain(args));
  });
});

describe.each(NUMBERS)("bugs-mcp 3: %s as part of an address", (number) => {
  it("reaches an API in its path, its query and a header", async () => {
    const args = `{"key":${number},"id":${number},"X-Trace":${number}}`;
    await inProcess("orders/find", args);
    expect(requests.at(-1)).toBe(`/of/${number}?id=${number} ${number} `);
  });
});
