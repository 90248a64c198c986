import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Message } from "../speaker.ts";
import { openScene, type Saying, type Scene, TRANSPORTS, type Transport } from "./scene.ts";

const RESULT = '{"content":[{"type":"text","text":"%PAD:20%"}]}';
const LARGE = '{"content":[{"type":"text","text":"%PAD:9000%"}]}';

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(async () => {
  const code = await scene.close();
  if (code !== 0) throw new Error(`the gateway ended with code ${code}`);
});

/** The one answer of a call; nothing else may stand at its top level. */
function answerIn(messages: readonly Message[]): Message {
  const answers = messages.filter((message) => !("method" in message));
  expect(answers).toHaveLength(1);
  const [answer] = answers as [Message];
  expect(Object.keys(answer).filter((key) => key !== "result" && key !== "error")).toEqual([
    "jsonrpc",
    "id",
  ]);
  return answer;
}

/** Whether the gateway lives and the good server is reached through it. */
async function expectAlive(): Promise<void> {
  expect(await scene.speaker.call("good__echo", { text: "alive" })).toBe("alive");
  expect(scene.gateway.child.exitCode).toBeNull();
}

/** String() of it throws. */
const SPELL = '{"toString":1,"valueOf":2}';

const notice = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","method":"${method}","params":${params}}`;

describe.each(TRANSPORTS)("a server over %s", (transport: Transport) => {
  const say = (saying: Saying, meta?: Message): Promise<readonly Message[]> =>
    scene.say(transport, saying, meta);

  it.each([
    ["a progress report", notice("notifications/progress", '{"progressToken":%TOKEN%,"progress":1,"message":%DEEP:5000%}')],
    ["a log line", notice("notifications/message", '{"level":"error","data":%DEEP:20000%}')],
    ["a question", '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":%DEEP:20000%}}'],
    ["an unknown notification", notice("notifications/strange", '{"data":%DEEP:20000%}')],
    ["a changed resource", notice("notifications/resources/updated", '{"uri":"a:b","x":%DEEP:20000%}')],
    ["the end of an elicitation", notice("notifications/elicitation/complete", '{"elicitationId":"e","x":%DEEP:20000%}')],
    ["a batch", '[{"jsonrpc":"2.0","method":"a","params":{"x":%DEEP:20000%}}]'],
    ["what is only brackets", "%DEEP:200000%"],
  ])("issue 2: %s that nests deep is dropped, and the gateway lives", async (_, message) => {
    const answer = `{"jsonrpc":"2.0","id":%ID%,"result":${RESULT}}`;
    const messages = await say({ words: [message, answer] }, { progressToken: "mine" });
    expect(messages).toHaveLength(1);
    expect(answerIn(messages)).toMatchObject({ result: { content: [{ type: "text" }] } });
    await expectAlive();
  }); // prettier-ignore

  it.each([
    ["a log line", notice("notifications/message", `{"level":${SPELL},"logger":${SPELL},"data":${SPELL}}`)],
    ["a changed resource", notice("notifications/resources/updated", `{"uri":${SPELL}}`)],
    ["a progress report", notice("notifications/progress", `{"progressToken":%TOKEN%,"progress":${SPELL},"message":${SPELL}}`)],
    ["a progress report of nobody", notice("notifications/progress", `{"progressToken":${SPELL},"progress":1}`)],
    ["a cancellation", notice("notifications/cancelled", `{"requestId":${SPELL},"reason":${SPELL}}`)],
    ["the state of a task", notice("notifications/tasks/status", `{"taskId":${SPELL},"status":${SPELL}}`)],
    ["the end of an elicitation", notice("notifications/elicitation/complete", `{"elicitationId":${SPELL}}`)],
    ["a question", `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"mode":${SPELL},"message":${SPELL}}}`],
    ["a question of an unknown kind", `{"jsonrpc":"2.0","id":"q","method":"strange","params":${SPELL}}`],
    ["an answer to nothing", `{"jsonrpc":"2.0","id":${SPELL},"result":${SPELL}}`],
  ])("%s whose words make no text does no harm", async (_, message) => {
    const answer = `{"jsonrpc":"2.0","id":%ID%,"result":${RESULT}}`;
    const messages = await say({ words: [message, answer] }, { progressToken: "mine" });
    expect(answerIn(messages)).toMatchObject({ result: { content: [{ type: "text" }] } });
    await expectAlive();
  }); // prettier-ignore

  it.each([
    ["a result", `{"jsonrpc":"2.0","id":%ID%,"result":{"content":[{"type":${SPELL}},{"type":"text","text":${SPELL}},{"type":"resource_link","uri":${SPELL}}]}}`],
    ["an error", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":${SPELL},"message":${SPELL},"data":${SPELL}}}`],
  ])("%s whose words make no text ends its call", async (_, message) => {
    expect(answerIn(await say({ words: [message] }))).toHaveProperty("id");
    await expectAlive();
  }); // prettier-ignore

  it.each([
    ["a small result", '{"jsonrpc":"2.0","id":%ID%,"result":{"content":[],"x":%DEEP:70%}}'],
    ["a large result", `{"jsonrpc":"2.0","id":%ID%,"result":{"y":"%PAD:9000%","x":%DEEP:9000%}}`],
    ["its id last", '{"result":{"content":[],"x":%DEEP:3000%},"jsonrpc":"2.0","id":%ID%}'],
    ["an error", '{"jsonrpc":"2.0","id":%ID%,"error":{"code":1,"message":"","data":%DEEP:3000%}}'],
  ])("issue 2: an answer that nests deep fails its call at once: %s", async (_, message) => {
    const answer = answerIn(await say({ words: [message] }));
    expect(answer).toMatchObject({ error: { data: { code: "upstream_error" } } });
    expect(String((answer["error"] as Message)["message"])).toContain("nests too deep");
    await expectAlive();
  });

  it.each([
    ["two ids, small", `{"jsonrpc":"2.0","id":%ID%,"result":${RESULT},"id":1}`],
    ["two ids, large", `{"jsonrpc":"2.0","id":%ID%,"result":${LARGE},"id":1}`],
    ["two ids, the other first", `{"id":1,"jsonrpc":"2.0","id":%ID%,"result":${LARGE}}`],
    ["two ids and a trailing member", `{"jsonrpc":"2.0","id":%ID%,"result":${LARGE},"id":1,"x":{}}`],
    ["ours twice", `{"jsonrpc":"2.0","id":%ID%,"result":${LARGE},"id":%ID%}`],
    ["two results", `{"jsonrpc":"2.0","id":%ID%,"result":${RESULT},"result":${LARGE}}`],
    ["a method beside the result", `{"jsonrpc":"2.0","id":%ID%,"method":"a","result":${RESULT}}`],
    ["a method behind a large result", `{"jsonrpc":"2.0","id":%ID%,"result":${LARGE},"method":"a"}`],
    ["a result and an error", `{"jsonrpc":"2.0","id":%ID%,"result":${RESULT},"error":{"code":1,"message":""}}`],
    ["two values, small", `{"jsonrpc":"2.0","id":%ID%,"result":${RESULT}}{"jsonrpc":"2.0","id":1,"result":{}}`],
    ["two values, large", `{"jsonrpc":"2.0","id":%ID%,"result":${LARGE}}{"jsonrpc":"2.0","id":1,"result":{}}`],
    ["truncated, small", '{"jsonrpc":"2.0","id":%ID%,"result":{"content":[{"type":"te'],
    ["truncated, large", '{"jsonrpc":"2.0","id":%ID%,"result":{"content":[{"type":"text","text":"%PAD:9000%"}'],
    ["broken inside", `{"jsonrpc":"2.0","id":%ID%,"result":{"content":[{]},"x":"%PAD:9000%"}}`],
    ["broken, its id last", '{"result":{"content":[{]}},"jsonrpc":"2.0","id":%ID%}'],
    ["a result that is a number", '{"jsonrpc":"2.0","id":%ID%,"result":5}'],
    ["a result that is null", '{"jsonrpc":"2.0","id":%ID%,"result":null}'],
    ["a result that is a list", '{"jsonrpc":"2.0","id":%ID%,"result":[]}'],
    ["an error that is a text", '{"jsonrpc":"2.0","id":%ID%,"error":"no"}'],
    ["neither", '{"jsonrpc":"2.0","id":%ID%}'],
    ["all of it in a batch", '[{"jsonrpc":"2.0","id":%ID%,"result":5}]'],
  ])("issue 3, 30: a malformed answer fails its call at once: %s", async (_, message) => {
    const answer = answerIn(await say({ words: [message], open: true }));
    expect(answer).toMatchObject({ error: { data: { code: "upstream_error" } } });
    await expectAlive();
  }); // prettier-ignore

  it.each([
    ["a member that is not JSON-RPC's", `{"jsonrpc":"2.0","id":%ID%,"result":${LARGE},"extra":{"id":1}}`],
    ["an escaped name", `{"jsonrpc":"2.0","id":%ID%,"result":${LARGE},"\\u0069d2":1}`],
    ["no version", `{"id":%ID%,"result":${LARGE}}`],
    ["another version", `{"jsonrpc":"1.0","id":%ID%,"result":${LARGE}}`],
    ["an error that is null", `{"jsonrpc":"2.0","id":%ID%,"result":${LARGE},"error":null}`],
  ])("issue 3: what is strange but clear is made regular: %s", async (_, message) => {
    const answer = answerIn(await say({ words: [message] }));
    expect(answer).toMatchObject({ jsonrpc: "2.0", result: { content: [{ type: "text" }] } });
  }); // prettier-ignore

  it("issue 3: the official client's call to another server is never answered by this one", async () => {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(scene.gateway.url)));
    try {
      for (const size of [20, 9000]) {
        const good = client.callTool({ name: "good__delay", arguments: { ms: 300, text: "good" } });
        // The client counts its requests, so the server can guess the id of the one before.
        const ids = Array.from({ length: 12 }, (_, id) => id);
        const forged = `{"content":[{"type":"text","text":"forged %PAD:${size}%"}]}`;
        const attacks = ids.map((id) =>
          client
            .callTool({
              name: `${transport}__say`,
              arguments: {
                words: [`{"jsonrpc":"2.0","id":%ID%,"result":${forged},"id":${id}}`],
              },
            })
            .catch((error: Error) => error.message),
        );
        expect(await good).toMatchObject({ content: [{ text: "good" }] });
        for (const outcome of await Promise.all(attacks))
          expect(outcome).toContain("not a JSON-RPC message");
      }
    } finally {
      await client.close();
    }
  });
});

describe("over HTTP as one body", () => {
  it.each([
    ["two values", `{"jsonrpc":"2.0","id":%ID%,"result":${LARGE}}{"jsonrpc":"2.0","id":1,"result":{}}`],
    ["truncated", '{"jsonrpc":"2.0","id":%ID%,"result":{"content":[{"type":"text","text":"%PAD:9000%"}'],
    ["no id", `{"jsonrpc":"2.0","result":${RESULT}}`],
    ["deep", '{"jsonrpc":"2.0","id":%ID%,"result":{"x":%DEEP:5000%}}'],
  ])("issue 3, 30: %s fails the call at once", async (_, message) => {
    const answer = answerIn(await scene.say("http", { words: [message], body: true }));
    expect(answer).toMatchObject({ error: { data: { code: "upstream_error" } } });
  }); // prettier-ignore
});

it("issue 2: a server that floods is told of once", async () => {
  const deep = Array.from({ length: 50 }, () => notice("notifications/message", "%DEEP:500%"));
  await scene.say("stdio", {
    words: [...deep, `{"jsonrpc":"2.0","id":%ID%,"result":${RESULT}}`],
  });
  const lines = scene.gateway
    .log()
    .split("\n")
    .filter((line) => line.includes("nests too deep") && line.includes('"server":"stdio"'));
  expect(lines).toHaveLength(1);
});
