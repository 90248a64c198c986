import fc from "fast-check";
import { Answer, GatewayError, toGatewayError, createGateway } from "propylon";
import { expect, it } from "vitest";
import { CoalescingQueue } from "../../../plugins/servers/replicas/coalescing-queue.ts";
import { toAnswer, toText } from "../../../plugins/servers/replicas/relay.ts";
import { keepError, restoreError } from "../../../core/internal.ts";

const MAX_DEPTH = 64;

function textOf(answer: Answer, id: string): string {
  const pieces = answer.encode(id).map((piece) => Buffer.from(piece));
  return Buffer.concat(pieces).toString("utf8");
}

it("an answer that goes through another gateway is what its server wrote", () => {
  const result = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }));
  const number = fc.bigInt({ min: 2n ** 53n + 1n, max: 2n ** 70n });
  fc.assert(
    fc.property(result, number, fc.boolean(), (members, large, isLate) => {
      const body = JSON.stringify({ ...members, n: 0 }).replace(/"n":0\}$/, `"n":${large}}`);
      const parts = [`"jsonrpc":"2.0"`, `"result":${body}`];
      parts.splice(isLate ? 2 : 1, 0, `"id":7`);
      const relayed = toAnswer(toText(toAnswer(`{${parts.join(",")}}`, MAX_DEPTH)), MAX_DEPTH);
      parts[isLate ? 2 : 1] = `"id":"mine"`;
      expect(textOf(relayed, "mine")).toBe(`{${parts.join(",")}}`);
    }),
  );
});

it("an error of a server stays one, and so do its code, hint and data", () => {
  const refusal = toAnswer(toText(Answer.error({ code: -32602, message: "No." })), MAX_DEPTH);
  expect([refusal.isRpcError, refusal.error]).toEqual([true, { code: -32602, message: "No." }]);
  const cause = new Error("/home/ada/secret");
  const error = new GatewayError("timeout", "Late.", { hint: "Wait.", data: { ms: 5 }, cause });
  const told = JSON.stringify(keepError(error));
  expect(told).not.toContain("secret");
  expect(restoreError(JSON.parse(told))).toMatchObject({
    code: "timeout",
    message: "Late.",
    hint: "Wait.",
    data: { ms: 5 },
  });
});

it.each(["{", '{"result":{}}', `{"id":1,"result":${"[".repeat(80)}${"]".repeat(80)}}`])(
  "what is no answer is refused: %s",
  (text) => {
    expect(() => toAnswer(text, MAX_DEPTH)).toThrow(GatewayError);
  },
);

it("who reads slowly gets the newest of each kind, and always the last", async () => {
  const queue = new CoalescingQueue<number | string>();
  for (let each = 0; each < 5_000; each++) queue.push(each, "progress");
  for (let each = 0; each < 2_000; each++) queue.push(`line ${each}`);
  queue.end("answer");
  expect(queue.push("late")).toBe(false);
  const read: unknown[] = [];
  for await (const message of queue.read()) read.push(message);
  expect([read[0], read.length, read.at(-1)]).toEqual([4_999, 1_001, "answer"]);
  expect(queue.dropped).toBe(1_001);
});

it("a server with a url has no placement, and the config is told so", async () => {
  const servers = { far: { url: "https://mcp.example.com/mcp", placement: "one" } };
  const error = await createGateway({ servers }).then(() => undefined, toGatewayError);
  expect(error?.code).toBe("invalid");
  expect(JSON.stringify(error?.data)).toContain(
    String.raw`Unknown key \"placement\" in servers.far.`,
  );
  expect(JSON.stringify(error?.data)).toContain(
    String.raw`Remove it: \"placement\" goes with \"command\".`,
  );
});
