import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createGateway, type GatewayError, type GatewayConfigInput } from "propylon";
import { describe, expect, it } from "vitest";
import { ConfigFile } from "../../../core/file/config-file.ts";
import { issuesOf } from "../../../core/config/issue.ts";
import { makeFolder } from "../../kit/folder.ts";

const NAMES = ["..", ".", "__proto__", "constructor", "valueOf", "mcp"];

async function load(text: string, name = "gateway.yaml"): Promise<unknown> {
  const folder = makeFolder();
  await writeFile(join(folder, name), text);
  return new ConfigFile(join(folder, name), { environment: {} }).load();
}

const issues = (text: string): Promise<readonly string[]> =>
  load(text).then(
    () => [],
    (error: GatewayError) => issuesOf(error).map(({ message }) => message),
  );

const refusal = (name: string) => ({
  code: "invalid",
  message: expect.stringContaining(`"${name}"`) as unknown,
});

describe("names that no server can have", () => {
  it.each(NAMES)("are refused in config files: %s", async (name) => {
    for (const block of ["servers", "mcpServers"])
      await expect(load(`${block}:\n  "${name}": { command: node }\n`)).rejects.toMatchObject({
        ...refusal(name),
        place: { line: 2 },
      });
    await expect(
      load(`{"servers":{"${name}":{"command":"node"}}}`, "gateway.json"),
    ).rejects.toMatchObject(refusal(name));
  });

  it.each(NAMES)("are refused in code: %s", async (name) => {
    const text = `{"servers":{"${name}":{"command":"node"}}}`;
    await expect(createGateway(JSON.parse(text) as GatewayConfigInput)).rejects.toMatchObject({
      code: "invalid",
    });
  });

  it("are refused for agents, endpoints and listeners where every object has them", async () => {
    for (const block of ["endpoints", "listeners"])
      for (const name of ["__proto__", "constructor"])
        expect(await issues(`${block}:\n  ${name}: {}\n`)).toContain(
          `"${name}" cannot be the name of ${block === "listeners" ? "a" : "an"} ${block.slice(0, -1)}.`,
        );
    expect(await issues("agents:\n  constructor: {}\n")).toEqual([
      '"constructor" cannot be the name of an agent.',
    ]);
    expect(await issues("agents:\n  __proto__: {}\n")).toEqual([
      "The key __proto__ cannot be used.",
    ]);
  });

  it("refuses __proto__ as a key anywhere", async () => {
    await expect(
      load("servers:\n  a:\n    command: node\n    env: { __proto__: { A: b } }\n"),
    ).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("__proto__") as unknown,
    });
    expect(({} as Record<string, unknown>)["A"]).toBeUndefined();
  });
});
