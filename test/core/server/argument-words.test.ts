import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const schema = z.object({
  name: z.string().min(2),
  count: z.int().min(1).max(3).optional(),
  list: z.array(z.string()).min(1).optional(),
  kind: z.enum(["a", "b"]).optional(),
  other: z.object({ x: z.number() }).optional(),
  own: z.string({ error: "Write a word." }).optional(),
});

const tools = definePlugin({
  name: "tools",
  setup(gateway) {
    gateway.tool("zod", { description: "", input: schema, run: () => "ran" });
    const json = z.toJSONSchema(schema.strict(), { io: "input" });
    gateway.tool("json", { description: "", input: json, run: () => "ran" });
    gateway.tool("loose", { description: "", input: z.looseObject({}), run: () => "ran" });
    gateway.tool("list", {
      description: "",
      output: z.object({ found: z.number() }),
      run: () => [1],
    });
  },
});

async function told(name: string, args: Record<string, unknown>): Promise<string> {
  const { client } = await setupGateway({ plugins: [tools] });
  const { content } = await client.callTool({ name, arguments: args });
  return (content as { text: string }[])[0]!.text;
}

describe("what is said of wrong arguments", () => {
  it.each([
    [{}, "name: It is missing."],
    [{ name: 7 }, "name: It must be string, not number."],
    [{ name: null }, "name: It must be string, not null."],
    [{ name: "Ada", nmae: "x" }, 'nmae: It is not expected here. Did you mean "name"?'],
    [{ name: "Ada", other: { x: "1" } }, "other.x: It must be number, not string."],
    [{ name: "Ada", other: {} }, "other.x: It is missing."],
  ])("newcomer 12: %j has the same words in zod and in JSON Schema", async (args, words) => {
    for (const name of ["zod", "json"])
      expect(await told(name, args)).toBe(`Invalid arguments for tool "${name}": ${words}`);
  });

  it.each([
    [{ name: "A" }, "name: It must have at least 2 characters."],
    [{ name: "Ada", list: [] }, "list: It must have at least 1 item."],
    [{ name: "Ada", count: 0 }, "count: It must be at least 1."],
    [{ name: "Ada", count: 1.5 }, "count: It must be integer, not number."],
    [{ name: "Ada", kind: "c" }, 'kind: It must be one of "a", "b".'],
    [{ name: "Ada", own: 1 }, "own: Write a word."],
  ])("newcomer 12, 13: %j", async (args, words) => {
    expect(await told("zod", args)).toBe(`Invalid arguments for tool "zod": ${words}`);
  });

  it("a loose object takes any", async () => {
    expect(await told("loose", { anything: 1 })).toBe("ran");
  });

  it("newcomer 11: a result that does not match is called the result", async () => {
    expect(await told("list", {})).toBe(
      'Tool "list" returned a result that does not match its output schema: result: It must be object, not array.',
    );
  });
});
