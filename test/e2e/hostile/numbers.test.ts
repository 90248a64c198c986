import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Speaker } from "../speaker.ts";
import { openScene, type Scene } from "./scene.ts";

const BIG = "12345678901234567890";
const NUMBERS = [BIG, "-9007199254740993", "1e999"];

let scene: Scene;
let modern: Speaker;
let origin: string;
beforeAll(async () => {
  scene = await openScene({ plugins: { openapi: {} } });
  modern = await Speaker.open(scene.gateway.url, "modern");
  origin = new URL(scene.gateway.url).origin;
});
afterAll(async () => {
  await modern.close();
  await scene.close();
});

/** The response of one request as text: a parser would change the very thing that is looked at. */
async function send(speaker: Speaker, body: string): Promise<string> {
  const message: unknown = JSON.parse(body);
  const { pool, path } = speaker;
  const headers = speaker.headersFor(message);
  const response = await pool.request({ method: "POST", path, headers, body });
  return response.body.text();
}

function callOf(speaker: Speaker, tool: string, result: string): string {
  const words = [`{"jsonrpc":"2.0","id":%ID%,"result":${result}}`];
  const params = { name: tool, arguments: { words } };
  return JSON.stringify(speaker.message("tools/call", params, 7));
}

const RESULTS: Record<string, (number: string) => string> = {
  small: (number) => `{"content":[],"structuredContent":{"n":${number},"é":"%PAD:20%"}}`,
  large: (number) => `{"content":[],"structuredContent":{"n":${number},"x":"%PAD:90000%"}}`,
  "with everything of the era": (number) =>
    `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"},"own":1},"content":[],"structuredContent":{"n":${number}}}`,
};

describe.each(["stdio", "http", "sse", "good"])("a result of server %s", (server) => {
  describe.each(Object.keys(RESULTS))("%s", (size) => {
    it.each(NUMBERS)("issue 8: reaches clients of both eras with %s as it is", async (number) => {
      for (const speaker of [scene.speaker, modern]) {
        const text = await send(speaker, callOf(speaker, `${server}__say`, RESULTS[size]!(number)));
        expect(text).toContain(`"n":${number}`);
        expect(text).toMatch(/"id":7[,}]/);
      }
    });
  });
});

/** What reaches the client of a server that speaks, as text. */
async function hear(server: string, words: readonly string[]): Promise<string> {
  const params = { name: `${server}__say`, arguments: { words } };
  const call = scene.speaker.message("tools/call", params, 7);
  return send(scene.speaker, JSON.stringify(call));
}

it("bugs-mcp 2: a result in an unusual message reaches the client as it is", async () => {
  const words = [`{"jsonrpc":"2.0","id":%ID%,"x":1,"result":{"content":[],"n":${BIG}}}`];
  expect(await hear("stdio", words)).toContain(`"n":${BIG}`);
});

describe.each(["stdio", "http", "sse"] as const)("what server %s says beside results", (server) => {
  const ended = `{"jsonrpc":"2.0","id":%ID%,"result":{"content":[]}}`;

  it("bugs-mcp 2: the data of an error arrive as they are", async () => {
    const error = `{"code":-32050,"message":"No.","data":{"n":${BIG},"x":1}}`;
    const words = [`{"jsonrpc":"2.0","id":%ID%,"error":${error}}`];
    expect(await hear(server, words)).toContain(`"data":{"n":${BIG},"x":1}`);
  });

  it("bugs-mcp 2: the data of a log line arrive as they are", async () => {
    const params = `{"level":"error","logger":"l","data":{"n":${BIG}}}`;
    const log = `{"jsonrpc":"2.0","method":"notifications/message","params":${params}}`;
    expect(await hear(server, [log, ended])).toContain(`"params":${params}`);
  });

  it("bugs-mcp 2: a progress report arrives with what stands in it", async () => {
    const told = `"progress":1,"message":"m","n":${BIG}`;
    const params = `{"progressToken":%TOKEN%,${told}}`;
    const report = `{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`;
    const call = scene.speaker.message(
      "tools/call",
      {
        name: `${server}__say`,
        arguments: { words: [report, ended] },
        _meta: { progressToken: "p" },
      },
      7,
    );
    expect(await send(scene.speaker, JSON.stringify(call))).toContain(told);
  });

  it("bugs-mcp 2: a result in a batch arrives as it is", async () => {
    const words = [`[{"jsonrpc":"2.0","id":%ID%,"result":{"content":[],"n":${BIG}}}]`];
    expect(await hear(server, words)).toContain(`"n":${BIG}`);
  });
});

/** A session of the legacy era that sends what it is given as it is. */
async function openSession(protocolVersion: string, capabilities: object) {
  const speaker = new Speaker(scene.gateway.url, "legacy");
  onTestFinished(() => speaker.close());
  const clientInfo = { name: "session", version: "1" };
  const opened = await speaker.request("initialize", { protocolVersion, capabilities, clientInfo });
  const session = { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
  const headers = { ...speaker.headersFor({}), ...session };
  const { pool, path } = speaker;
  const post = async (body: string) =>
    (await pool.request({ method: "POST", path, headers, body })).body;
  return { speaker, post };
}

it("issue 8: results in a batch are exact", async () => {
  const { speaker, post } = await openSession("2025-03-26", {});
  const call = callOf(speaker, "good__say", RESULTS["small"]!(BIG));
  expect(await (await post(`[${call}]`)).text()).toContain(`"n":${BIG}`);
});

describe("over plain HTTP", () => {
  const post = (tool: string, body: string): Promise<Response> =>
    fetch(`${origin}${tool}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });

  it("requirements F4: data are what they were", async () => {
    const words = [`{"jsonrpc":"2.0","id":%ID%,"result":${RESULTS["small"]!(BIG)}}`];
    const response = await post("/good/say", JSON.stringify({ words }));
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(`"result":{"n":${BIG}`);
  });

  it("requirements F4: JSON in a text is read like any other", async () => {
    const response = await post("/good/echo", JSON.stringify({ text: `{"n":${BIG}}` }));
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(`"result":{"n":${BIG}}`);
  });
});
