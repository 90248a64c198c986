import fc from "fast-check";
import { ExactNumber } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { outputItems, plainValue, type OutputItem } from "../../../plugins/openapi/call/output.ts";

const text = (value: string) => ({ type: "text", text: value });
const deep = `${"[".repeat(200)}${"]".repeat(200)}`;

describe("output items", () => {
  it.each<[string, Record<string, unknown>, readonly OutputItem[], unknown]>([
    ["nothing", { content: [] }, [], null],
    ["plain text", { content: [text("hello")] }, [{ type: "text", value: "hello" }], "hello"],
    [
      "text like JSON",
      { content: [text("{not json}")] },
      [{ type: "text", value: "{not json}" }],
      "{not json}",
    ],
    ["a number", { content: [text("42")] }, [{ type: "scalar", value: 42 }], 42],
    ["a fraction", { content: [text("-1.5")] }, [{ type: "scalar", value: -1.5 }], -1.5],
    [
      "a long id",
      { content: [text("12345678901234567890")] },
      [{ type: "scalar", value: new ExactNumber("12345678901234567890") }],
      new ExactNumber("12345678901234567890"),
    ],
    ["leading zeros", { content: [text("007")] }, [{ type: "text", value: "007" }], "007"],
    ["a boolean", { content: [text("true")] }, [{ type: "scalar", value: true }], true],
    ["null", { content: [text("null")] }, [{ type: "null", value: null }], null],
    ["a quoted string", { content: [text('"hi"')] }, [{ type: "text", value: "hi" }], "hi"],
    ["a list", { content: [text("[1,{}]")] }, [{ type: "list", value: [1, {}] }], [1, {}]],
    [
      "an object",
      { content: [text('{"a":{"b":[null]}}')] },
      [{ type: "object", value: { a: { b: [null] } } }],
      { a: { b: [null] } },
    ],
    ["JSON too deep to read", { content: [text(deep)] }, [{ type: "text", value: deep }], deep],
    [
      "several blocks",
      { content: [text("a"), text("2")] },
      [
        { type: "text", value: "a" },
        { type: "scalar", value: 2 },
      ],
      ["a", 2],
    ],
    [
      "an image",
      { content: [{ type: "image", mimeType: "image/png", data: "AA==" }] },
      [{ type: "image", mimeType: "image/png", data: "AA==" }],
      "data:image/png;base64,AA==",
    ],
    [
      "audio",
      { content: [{ type: "audio", mimeType: "audio/wav", data: "AA==" }] },
      [{ type: "audio", mimeType: "audio/wav", data: "AA==" }],
      "data:audio/wav;base64,AA==",
    ],
    [
      "an embedded resource",
      { content: [{ type: "resource", resource: { uri: "a:b", text: "c" } }] },
      [{ type: "resource", resource: { uri: "a:b", text: "c" } }],
      "c",
    ],
    [
      "a binary resource",
      { content: [{ type: "resource", resource: { uri: "a:b", blob: "AA==" } }] },
      [{ type: "resource", resource: { uri: "a:b", blob: "AA==" } }],
      { uri: "a:b", blob: "AA==" },
    ],
    [
      "a link",
      { content: [{ type: "resource_link", uri: "a:b", name: "b" }] },
      [{ type: "resource_link", uri: "a:b", name: "b" }],
      { type: "resource_link", uri: "a:b", name: "b" },
    ],
    [
      "structured content before its own text, which repeats it",
      {
        structuredContent: { n: 1 },
        content: [text('{"n":1}'), { type: "image", mimeType: "image/png", data: "AA==" }],
      },
      [
        { type: "object", value: { n: 1 } },
        { type: "image", mimeType: "image/png", data: "AA==" },
      ],
      [{ n: 1 }, "data:image/png;base64,AA=="],
    ],
    [
      "a block of a later revision",
      { content: [{ type: "video", url: "x" }] },
      [{ type: "object", value: { type: "video", url: "x" } }],
      { type: "video", url: "x" },
    ],
    ["content that is none", { content: "nonsense" }, [], null],
  ])("M011 M101 M157: %s", (_name, result, items, value) => {
    expect(outputItems(result)).toEqual(items);
    expect(plainValue(items)).toEqual(value);
  });

  it("never throws, whatever a server sends, and writes JSON", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("content", "structuredContent", "x"), fc.jsonValue()),
        (result) => {
          expect(JSON.parse(JSON.stringify(outputItems(result)))).toBeInstanceOf(Array);
          expect(() => JSON.stringify(plainValue(outputItems(result)))).not.toThrow();
        },
      ),
    );
  });

  it("reads back every JSON value that a text holds exactly", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const written = JSON.stringify(value);
        const read = plainValue(outputItems({ content: [text(written)] }));
        expect(read === written || JSON.stringify(read) === written).toBe(true);
      }),
    );
  });
});
