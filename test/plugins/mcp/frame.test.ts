import fc from "fast-check";
import { Answer } from "propylon";
import { afterEach, expect, it } from "vitest";
import { blankLineBreaks } from "../../../plugins/mcp/message/stream.ts";
import { FakeServer, openSession, post, serve, type Served } from "./kit.ts";
import { rounds } from "../../fixtures/ci.ts";

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

it("T10: blankLineBreaks leaves the meaning and no line breaks", () => {
  const property = fc.property(
    fc.jsonValue(),
    fc.constantFrom("\n", "\r\n", "\r"),
    fc.boolean(),
    (value, eol, asText) => {
      const text = JSON.stringify(value, null, 2).replaceAll("\n", eol);
      const bytes = Buffer.from(text);
      const pieces = asText ? [text] : [bytes.subarray(0, 3), bytes.subarray(3)];
      const framed = Buffer.concat(
        blankLineBreaks(pieces).map((piece) => Buffer.from(piece as string)),
      );
      expect(framed.includes(10) || framed.includes(13)).toBe(false);
      expect(JSON.parse(framed.toString("utf8"))).toEqual(JSON.parse(text));
    },
  );
  fc.assert(property, { numRuns: rounds(1_000) });
});

it.each([
  ["short", 1],
  ["long", 100_000],
])("T10: a %s raw answer with line breaks between its tokens stays one event", async (_, size) => {
  const head = '{"jsonrpc":"2.0","id":"x",\r\r';
  const message = Buffer.from(
    `${head}"result":\n\n{"content":[\r\n\r\n],"filler":"${"y".repeat(size)}"}\n\n}`,
  );
  const idStart = message.indexOf('"x"');
  const server = new FakeServer("one").tool("work", (call) => {
    call.progress?.({ progress: 1 });
    return Answer.raw({ chunks: [message], idStart, idEnd: idStart + 3 });
  });
  served = await serve([server]);
  const params = { name: "work", _meta: { progressToken: 1 } };
  const response = await post(
    served.url,
    { jsonrpc: "2.0", id: 7, method: "tools/call", params },
    await openSession(served.url),
  );
  const body = await response.text();
  expect(body).not.toContain("\r");
  const frames = body.split("\n\n").filter((frame) => frame !== "");
  expect(frames).toHaveLength(2);
  expect(JSON.parse(frames[1]!.slice(frames[1]!.indexOf("data: ") + 6))).toMatchObject({
    id: 7,
    result: { content: [] },
  });
});
