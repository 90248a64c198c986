import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { describe, expect, it } from "vitest";
import { anyTool, fieldServer } from "../../fixtures/field/servers.ts";
import { callText, startField, toolNames } from "./kit.ts";

/** A value that nests so deep. */
function deep(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

describe("a server of which one entry of each list nests too deep", () => {
  const tool = { name: "deep", inputSchema: { type: "object", properties: deep(600) } };
  const prompt = { name: "deep", _meta: deep(600) };
  const resource = { uri: "x://deep", name: "deep", _meta: deep(600) };
  const template = { uriTemplate: "x://deep/{id}", name: "deep", _meta: deep(600) };

  it("mcp-20: keeps its other tools and prompts, resources and templates, whose metadata are cut off where they are deep", async () => {
    const { client } = await startField({
      servers: {
        one: fieldServer({
          tools: [anyTool("before"), tool, anyTool("after")],
          prompts: [{ name: "before" }, prompt, { name: "after" }],
          resources: [{ uri: "x://a", name: "before" }, resource, { uri: "x://b", name: "after" }],
          templates: [
            { uriTemplate: "x://c/{id}", name: "before" },
            template,
            { uriTemplate: "x://d/{id}", name: "after" },
          ],
        }),
      },
    });
    const lists = await Promise.all([
      client.listTools().then(({ tools }) => tools),
      client.listPrompts().then(({ prompts }) => prompts),
      client.listResources().then(({ resources }) => resources),
      client.listResourceTemplates().then(({ resourceTemplates }) => resourceTemplates),
    ]);
    const names = lists.map((list) => list.map(({ name }) => name));
    const others = Array.from({ length: 3 }, () => ["before", "deep", "after"]);
    expect(names).toEqual([["before", "after"], ...others]);
    for (const list of lists) expect(JSON.stringify(list)).not.toContain('{"a":'.repeat(64));
  });
});

describe("a call whose arguments nest too deep", () => {
  it("mcp-20: fails alone, and the next one is answered", async () => {
    const { client } = await startField({
      servers: { one: fieldServer({ tools: [anyTool("t")] }) },
    });
    const args = { value: deep(600) };
    await expect(client.callTool({ name: "t", arguments: args })).rejects.toThrow(/nests/);
    expect(await callText(client, "t")).toBe("field t 1 {}");
  });
});

describe("a server with schemas that some clients refuse", () => {
  const listed = (properties: object, more: object = {}): object => ({
    inputSchema: { type: "object", properties, ...more },
  });
  const text = { type: "string" };
  const either = { anyOf: [{ required: ["a"] }, { required: ["b"] }] };

  it("mcp-23: is listed by the official client, but for the tool that is no tool", async () => {
    const { client, gateway } = await startField({
      servers: {
        one: fieldServer({
          tools: [
            anyTool("fine"),
            { name: "toplevel", ...listed({ a: text }, either) },
            { name: "no_type", inputSchema: { properties: { a: text } } },
            {
              name: "brackets",
              ...listed({ "filter[name]": text, "StartTime<": text, $top: text }),
            },
            { ...anyTool("out_no_type"), outputSchema: { description: "x" } },
            { ...anyTool("out_list"), outputSchema: { type: "array", items: {} } },
            { name: "list_no_items", ...listed({ l: { type: "array" } }) },
          ],
        }),
      },
    });
    expect(await toolNames(client)).toEqual([
      "fine",
      "toplevel",
      "brackets",
      "out_no_type",
      "out_list",
      "list_no_items",
    ]);
    const words = collectWarnings(gateway)
      .map(({ message }) => message)
      .join(" ");
    for (const told of ["no_type", "filter[name]", "without items", "anyOf"])
      expect(words).toContain(told);
  });
});
