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

it("issue 8: a result in an unusual message is refused with a sentence", async () => {
  const words = [`{"jsonrpc":"2.0","id":%ID%,"x":1,"result":{"content":[],"n":${BIG}}}`];
  const [answer] = await scene.say("stdio", { words });
  expect(answer).toMatchObject({ error: { data: { code: "upstream_error" } } });
  expect(JSON.stringify(answer)).toContain("beyond 2^53");
});

describe.each(["stdio", "http", "sse"] as const)("what server %s says beside results", (server) => {
  const ended = `{"jsonrpc":"2.0","id":%ID%,"result":{"content":[]}}`;

  it("issue 8: the data of an error arrive as their JSON text", async () => {
    const error = `{"code":-32050,"message":"No.","data":{"n":${BIG}, "x":1}}`;
    const messages = await scene.say(server, {
      words: [`{"jsonrpc":"2.0","id":%ID%,"error":${error}}`],
    });
    const data = `{"n":${BIG}, "x":1}`;
    expect(messages.at(-1)).toMatchObject({ error: { code: -32050, message: "No.", data } });
  });

  it("issue 8: the data of a log line arrive as their JSON text", async () => {
    const params = `{"level":"error","logger":"l","data":{"n":${BIG}}}`;
    const log = `{"jsonrpc":"2.0","method":"notifications/message","params":${params}}`;
    const messages = await scene.say(server, { words: [log, ended] });
    expect(messages[0]).toMatchObject({
      method: "notifications/message",
      params: { level: "error", logger: "l", data: `{"n":${BIG}}` },
    });
  });

  it("issue 8: a result in a batch is refused with a sentence", async () => {
    const words = [`[{"jsonrpc":"2.0","id":%ID%,"result":{"content":[],"n":${BIG}}}]`];
    const messages = await scene.say(server, { words });
    expect(messages.at(-1)).toMatchObject({ error: { data: { code: "upstream_error" } } });
    expect(JSON.stringify(messages)).toContain("beyond 2^53");
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

it("issue 8: a batch whose arguments would change is refused with a sentence, its results are exact", async () => {
  const { speaker, post } = await openSession("2025-03-26", {});
  const call = callOf(speaker, "good__say", RESULTS["small"]!(BIG));
  expect(await (await post(`[${call}]`)).text()).toContain(`"n":${BIG}`);
  const wrong = call.replace(/"words":\[.*\]/, `"n":${BIG}`);
  expect(await (await post(`[${wrong}]`)).text()).toContain(
    `The number ${BIG} cannot be kept exactly`,
  );
});

it("issue 8: a client's answer that would change is refused to the server that asked", async () => {
  const { speaker, post } = await openSession("2025-11-25", { elicitation: {} });
  const question = {
    method: "elicitation/create",
    params: { message: "?", requestedSchema: { type: "object", properties: {} } },
  };
  const body = await post(
    JSON.stringify(speaker.message("tools/call", { name: "stdio__ask", arguments: question }, 9)),
  );
  let text = "";
  let isAnswered = false;
  for await (const chunk of body) {
    text += String(chunk);
    const [, id] = /"id":("[^"]+"|\d+),"method":"elicitation/.exec(text) ?? [];
    if (id === undefined || isAnswered) continue;
    isAnswered = true;
    await post(`{"jsonrpc":"2.0","id":${id},"result":{"action":"accept","content":{"n":${BIG}}}}`);
  }
  expect(text).toContain(`The number ${BIG} cannot be kept exactly`);
});

describe("over plain HTTP", () => {
  const post = (tool: string, body: string): Promise<Response> =>
    fetch(`${origin}${tool}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });

  it("issue 8: data that would change are refused with a sentence", async () => {
    const words = [`{"jsonrpc":"2.0","id":%ID%,"result":${RESULTS["small"]!(BIG)}}`];
    const response = await post("/good/say", JSON.stringify({ words }));
    expect(response.status).toBe(502);
    expect(await response.text()).toContain(`the number ${BIG}, which cannot be kept exactly`);
  });

  it("issue 8: JSON in a text that would change stays text", async () => {
    const response = await post("/good/echo", JSON.stringify({ text: `{"n":${BIG}}` }));
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(`{\\"n\\":${BIG}}`);
  });

  it("issue 8: arguments that would change are refused with a sentence", async () => {
    const response = await post("/good/meta", `{"n":${BIG}}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(`The number ${BIG} cannot be kept exactly`);
  });
});

it.each(["legacy", "modern"] as const)(
  "issue 8: arguments of a %s client that would change are refused under its id, all others arrive",
  async (era) => {
    const speaker = era === "legacy" ? scene.speaker : modern;
    const call = (args: object): string =>
      JSON.stringify(speaker.message("tools/call", { name: "good__meta", arguments: args }, 7));
    for (const number of NUMBERS) {
      const body = call({ n: "N" }).replace('"N"', number);
      const answer = JSON.parse(await send(speaker, body)) as object;
      expect(answer).toMatchObject({
        id: 7,
        error: { code: -32602, message: `The number ${number} cannot be kept exactly. Send it as a string.` },
      });
    }
    for (const n of [9007199254740991, -1.5e300, 0.1234567890123456, BIG, "e999"])
      expect(await send(speaker, call({ n }))).toContain(JSON.stringify(JSON.stringify({ n })).slice(2, -2));
  },
); // prettier-ignore
