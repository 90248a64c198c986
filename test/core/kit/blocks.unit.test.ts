import fc from "fast-check";
import { expect, it } from "vitest";
import { fromContent, toContent, type ContentPart } from "../../../core/kit/blocks.ts";
import { outcomeToAnswer } from "../../../plugins/a2a-client/call/result.ts";
import { resultParts } from "../../../plugins/a2a/tasks/task/turn.ts";

const base64 = fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64"));
const mediaType = fc.constantFrom("image/png", "audio/wav", "application/zip", "text/csv");
const part: fc.Arbitrary<ContentPart> = fc.oneof(
  fc.record({ text: fc.string() }),
  fc.record({ raw: base64, mediaType }),
  fc.record({ url: fc.webUrl(), mediaType, filename: fc.string({ minLength: 1 }) }),
);

it("a part that becomes content and a part again holds the same", () => {
  fc.assert(
    fc.property(part, (given) => {
      const { metadata: _, ...back } = fromContent(toContent(given));
      expect(back).toEqual(given);
    }),
  );
});

it("what an agent sends is the same content wherever it comes through: images, sounds, files, links", () => {
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const content = parts.map(toContent);
      const answer = outcomeToAnswer({ message: { role: "agent", parts } });
      expect(answer.result!["content"]).toEqual(content);
      expect(resultParts({ content })).toEqual(content.map(fromContent));
    }),
  );
});

it("an audio artifact is audio, a file a resource with its name, and data their JSON", () => {
  const file = { raw: "YQ==", mediaType: "application/zip", filename: "all files.zip" };
  expect([{ raw: "YQ==", mediaType: "audio/wav" }, file, { data: { a: 1 } }].map(toContent)).toEqual([
    { type: "audio", data: "YQ==", mimeType: "audio/wav" },
    { type: "resource", resource: { uri: "a2a:all%20files.zip", mimeType: "application/zip", blob: "YQ==" } },
    { type: "text", text: '{"a":1}' },
  ]); // prettier-ignore
});
