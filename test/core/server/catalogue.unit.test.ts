import { makeCatalogue } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { changedLists } from "../../../core/call/catalogue.ts";
import type { Tool } from "../../../core/index.ts";

const ADD: Tool = { name: "add", inputSchema: { type: "object" } };

describe("a catalogue", () => {
  it("is empty but for what is given, and says that tools may change", () => {
    expect(makeCatalogue({ tools: [ADD], instructions: "Adds." })).toEqual({
      tools: [ADD],
      resources: [],
      resourceTemplates: [],
      prompts: [],
      capabilities: { tools: { listChanged: true } },
      instructions: "Adds.",
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(makeCatalogue({ capabilities: {} }).capabilities).toEqual({});
  });

  it("M106: has the hash of its lists alone, each in its place", () => {
    const { hash } = makeCatalogue({ tools: [ADD] });
    expect(makeCatalogue({ tools: [{ ...ADD }], instructions: "Adds." }).hash).toBe(hash);
    expect(makeCatalogue({ tools: [{ ...ADD, description: "Adds." }] }).hash).not.toBe(hash);
    expect(makeCatalogue({ prompts: [ADD] }).hash).not.toBe(hash);
  });
});

it("the lists that changed are those whose content did; templates are resources", () => {
  const before = makeCatalogue({ tools: [ADD] });
  const template = { name: "file", uriTemplate: "file:///{name}" };
  expect(changedLists(before, makeCatalogue({ tools: [ADD], instructions: "Adds." }))).toEqual([]);
  expect(changedLists(before, makeCatalogue({ prompts: [{ name: "sum" }] }))).toEqual([
    "tools",
    "prompts",
  ]);
  expect(
    changedLists(before, makeCatalogue({ tools: [ADD], resourceTemplates: [template] })),
  ).toEqual(["resources"]);
});
