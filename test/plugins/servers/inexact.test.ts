import { pino } from "pino";
import { Answer, type Json, createGateway } from "propylon";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseArguments } from "../../../plugins/client/call-command.ts";
import { parseExact, writeJson } from "../../../core/kit.ts";
import { describeAnswer } from "../../../plugins/agents/loop/outcome.ts";
import { until } from "../../kit/until.ts";

const BIG = "12345678901234567890";

/** Lists a tool with numbers beyond 2^53, and asks with one; the answer to that is the text of the call. */
const SERVER = `
let asked;
const say = (id, text) => console.log('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + "," + text + "}");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "initialize")
    say(id, '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}');
  else if (method === "tools/list")
    say(id, '"result":{"tools":[{"name":"ask","_meta":{"a":1,"n":${BIG}},"inputSchema":{"type":"object","properties":{' +
      '"n":{"type":"integer","minimum":1,"maximum":${BIG}},"c":{"const":{"a":[${BIG}]}},"e":{"enum":[1,-${BIG}],"type":"integer"}}}}]}');
  else if (method === "tools/call") {
    asked = id;
    say("q", '"method":"sampling/createMessage","params":{"messages":[],"maxTokens":${BIG}}');
  } else if (id === "q") say(asked, '"result":{"content":[{"type":"text","text":' + JSON.stringify(line) + "}]}");
  else if (id !== undefined) say(id, '"error":{"code":-32601,"message":"no"}');
});`;

async function openGateway() {
  const servers = { s: { command: process.execPath, args: ["-e", SERVER] } };
  const gateway = await createGateway({ servers }, { log: pino({ enabled: false }) });
  onTestFinished(() => gateway.close({ grace: 0 }));
  await until(() => gateway.servers.get("s")?.status.state === "ready");
  return gateway;
}

describe("a number beyond 2^53", () => {
  it("issue 8: is left out of a listed schema, which accepts more without it", async () => {
    const gateway = await openGateway();
    expect(gateway.servers.get("s")?.catalogue.tools).toEqual([
      {
        name: "ask",
        _meta: { a: 1 },
        inputSchema: {
          type: "object",
          properties: { n: { type: "integer", minimum: 1 }, c: {}, e: { type: "integer" } },
        },
      },
    ]);
  });

  it("bugs-mcp 3: in a question and in its answer is what it was", async () => {
    const gateway = await openGateway();
    const asked: string[] = [];
    const answer = await gateway.call({
      server: "s",
      name: "ask",
      source: "local",
      args: {},
      peer: {
        key: "k",
        capabilities: { sampling: {} },
        tell: () => {},
        ask: (_, params) => {
          asked.push(writeJson(params));
          return Promise.resolve(parseExact(`{"n":${BIG}}`) as Json);
        },
      },
    });
    expect(asked).toEqual([`{"messages":[],"maxTokens":${BIG}}`]);
    expect(writeJson(answer.result)).toContain(`\\"result\\":{\\"n\\":${BIG}}`);
  });

  it.each([
    [`{"n":${BIG}}`, BIG],
    [`n=${BIG}`, BIG],
    ["n=1e999", "1e999"],
  ])("bugs-mcp 3: is taken by propylon call as it is: %s", (word, number) => {
    expect(writeJson(parseArguments([word], undefined))).toBe(`{"n":${number}}`);
  });

  it("requirements F4: is told to a model in a result that has nothing but data", () => {
    const bytes = Buffer.from(
      `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"n":${BIG}}}}`,
    );
    const answer = Answer.raw({ chunks: [bytes], idStart: 21, idEnd: 22 });
    const { parts } = describeAnswer(answer, { text: 1_000, image: 0 });
    expect(parts).toEqual([{ type: "text", text: `{"n":${BIG}}` }]);
  });
});
