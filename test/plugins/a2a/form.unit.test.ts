import { describe, expect, it } from "vitest";
import type { Part } from "../../../plugins/a2a/contract/index.ts";
import { partsOfForm, readAnswer } from "../../../plugins/a2a/tasks/task/form.ts";

const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const TRIP = {
  type: "object",
  properties: {
    city: { type: "string", enum: ["Rome", "Oslo"] },
    nights: { type: "integer" },
    breakfast: { type: "boolean" },
  },
  required: ["city", "nights"],
};

const say = (text: string): Part[] => [{ text }];
const one = (schema: object) => ({
  requestedSchema: { type: "object", properties: { it: schema } },
});

describe("a form as a question", () => {
  it("has the words and the schema of the answer", () => {
    expect(partsOfForm({ message: "Who?", requestedSchema: NAME }, "")).toEqual([
      { text: "Who?" },
      { data: NAME, mediaType: "application/schema+json" },
    ]);
  });

  it("has words when the server has none", () => {
    expect(partsOfForm({}, "")).toEqual([{ text: "Please answer." }]);
  });
});

describe("an answer to a form", () => {
  it("is a text where there is one field, or one that is required", () => {
    expect(readAnswer(say(" Ada "), { requestedSchema: NAME })).toEqual({
      action: "accept",
      content: { name: "Ada" },
    });
    const properties = { ...NAME.properties, nick: { type: "string" } };
    expect(readAnswer(say("Ada"), { requestedSchema: { ...NAME, properties } })).toEqual({
      action: "accept",
      content: { name: "Ada" },
    });
  });

  it.each([
    [{ type: "integer" }, "3", 3],
    [{ type: "number" }, "2.5", 2.5],
    [{ type: "boolean" }, "Yes", true],
    [{ type: "boolean" }, "no", false],
    [{ type: "string", enum: ["a", "b"] }, "b", "b"],
    [{ type: "array" }, "a, b", ["a", "b"]],
    [{ type: "string" }, "12", "12"],
  ])("is read as what the field takes: %j", (schema, text, value) => {
    expect(readAnswer(say(text), one(schema))).toEqual({
      action: "accept",
      content: { it: value },
    });
  });

  it("is data for several fields", () => {
    const content = { city: "Rome", nights: 2 };
    expect(readAnswer([{ data: content }], { requestedSchema: TRIP })).toEqual({
      action: "accept",
      content,
    });
  });

  it.each(["decline", "Cancel"])("may be the word %s", (word) => {
    const action = word.toLowerCase();
    expect(readAnswer(say(word), { requestedSchema: NAME })).toEqual({ action });
    expect(readAnswer([{ data: { name: word } }], { requestedSchema: NAME })).toEqual({
      action: "accept",
      content: { name: word },
    });
  });

  it("to a form without fields is a yes or a no, and nothing else passes for consent", () => {
    expect(readAnswer(say("OK"), {})).toEqual({ action: "accept", content: {} });
    expect(readAnswer(say("No"), {})).toEqual({ action: "decline" });
    expect(readAnswer(say("better not"), {})).toBe("The answer must be yes or no.");
  });

  it.each([
    [say("Rome for 2"), "The answer must be data with city, nights, breakfast."],
    [[{ data: [1] }], "The data of the answer must be an object."],
    [[{ data: { city: "Rome" } }], "nights is missing in the answer."],
    [[{ data: { city: "Rome", nights: "2" } }], "nights must be a whole number."],
    [[{ data: { city: "Bonn", nights: 2 } }], "city must be one of Rome, Oslo."],
    [[{ data: { city: "Rome", nights: 2, breakfast: 1 } }], "breakfast must be true or false."],
  ])("that does not fit is told why: %j", (parts: Part[], why) => {
    expect(readAnswer(parts, { requestedSchema: TRIP })).toBe(why);
  });

  it("a text that is no value of the field is told why", () => {
    expect(readAnswer(say("three"), one({ type: "integer" }))).toBe("it must be a whole number.");
    expect(readAnswer(say("maybe"), one({ type: "boolean" }))).toBe("it must be true or false.");
  });

  it("cannot reach a prototype", () => {
    const requestedSchema = JSON.parse(
      '{"properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
    ) as object;
    const answer = readAnswer(say("x"), { requestedSchema }) as { content: object };
    expect(Object.keys(answer.content)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(answer.content)).toBe(Object.prototype);
  });
});
