import { describe, expect, it } from "vitest";
import { Answer, GatewayError } from "../../../core/index.ts";
import { blobContent, toResult, wordsOf } from "../../../core/internal.ts";

describe("what a tool returned as its result", () => {
  it("is text, data with its text, or the result itself", () => {
    expect(toResult("hi")).toEqual({ content: [{ type: "text", text: "hi" }] });
    expect(toResult({ a: 1 })).toEqual({
      content: [{ type: "text", text: '{"a":1}' }],
      structuredContent: { a: 1 },
    });
    expect(toResult([1, { a: 2 }])).toEqual({ content: [{ type: "text", text: '[1,{"a":2}]' }] });
    for (const whole of [{ content: [] }, { resultType: "input_required" }])
      expect(toResult(whole)).toBe(whole);
  });

  it.each([[null], [undefined], [7]])("is none for %s", (returned) => {
    expect(() => toResult(returned as never)).toThrow(
      /must return a string, an object or a list, not/,
    );
  });
});

it("bytes are a picture, a sound, or a resource by their media type", () => {
  expect(blobContent("aGk=", "image/png", "a:1")).toEqual({
    type: "image",
    data: "aGk=",
    mimeType: "image/png",
  });
  expect(blobContent("aGk=", "audio/wav", "a:1")).toEqual({
    type: "audio",
    data: "aGk=",
    mimeType: "audio/wav",
  });
  expect(blobContent("aGk=", "application/zip", "a:1")).toEqual({
    type: "resource",
    resource: { uri: "a:1", mimeType: "application/zip", blob: "aGk=" },
  });
});

it("a failed tool says so in words; those of an error hold what to do next", () => {
  const plain = new GatewayError("invalid", "It is broken.");
  const helpful = new GatewayError("invalid", "It is broken.", { hint: "Mend it." });
  expect(wordsOf(plain)).toBe("It is broken.");
  const answer = Answer.failed(wordsOf(helpful));
  expect(answer.isError).toBe(true);
  expect(answer.result?.["content"]).toEqual([{ type: "text", text: "It is broken. Mend it." }]);
});
