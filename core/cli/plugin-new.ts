import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { findConfig } from "../config/load.ts";
import { draftConfig } from "../config/write.ts";
import { GatewayError } from "../errors.ts";

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/**
 * Adds a plugin of one's own to a gateway: `plugins/<name>.ts`, `test/<name>.test.ts`, and its line in the config. All or
 * nothing: the config is edited first in memory, and nothing that is there is replaced.
 *
 * @throws {GatewayError} `invalid` for a name that is none, `exists` for a file that is there, `no_config_mode` for a config
 * that is code, `no_config` without one
 */
export async function newPlugin(name: string, config: string | undefined): Promise<void> {
  if (!NAME.test(name))
    throw new GatewayError("invalid", `"${name}" cannot be the name of a plugin.`, {
      hint: "Use lower-case words with hyphens, such as audit-log.",
    });
  const file = resolve(config ?? findConfig(process.cwd()));
  const folder = dirname(file);
  const code = join(folder, "plugins", `${name}.ts`);
  const test = join(folder, "test", `${name}.test.ts`);
  for (const each of [code, test])
    if (existsSync(each))
      throw new GatewayError("exists", `${shown(each)} is there already.`, {
        hint: "Choose another name, or take it away.",
      });
  const draft = await draftConfig(file, [{ path: ["plugins", `./plugins/${name}.ts`], value: {} }]);
  await write(code, codeText(name));
  await write(test, testText(name));
  await draft.write();
  console.log(`${shown(code)}\n${shown(test)}\n${shown(file)}: plugins: ./plugins/${name}.ts`);
  console.log("Next: propylon dev, and npx vitest run");
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { flag: "wx" });
}

function shown(file: string): string {
  return relative(process.cwd(), file);
}

function codeText(name: string): string {
  const tool = name.replaceAll("-", "_");
  return `import { definePlugin } from "propylon";
import { z } from "zod";

/** What the plugin is for, in one sentence. */
export default definePlugin({
  name: "${name}",
  // Every option is checked before setup runs, and completed in editors.
  config: z.strictObject({
    greeting: z.string().default("Hello").describe("Said before every name."),
  }),
  // Registers only; what is opened belongs into gateway.onStart.
  setup(gateway) {
    const { greeting } = gateway.config;

    gateway.tool("${tool}_greet", {
      description: "Greets whoever is named.",
      input: z.object({ name: z.string().describe("Who to greet.") }),
      run: ({ name }) => \`\${greeting}, \${name}!\`,
    });
  },
});
`;
}

function testText(name: string): string {
  const tool = name.replaceAll("-", "_");
  return `import { setupGateway, testPlugin } from "propylon/testing";
import { expect, it } from "vitest";
import plugin from "../plugins/${name}.ts";

// Applies, reloads, disposes, and leaves no handle, tool, route or metric behind.
testPlugin(plugin, { changed: { greeting: "Hi" } });

it("greets through a real MCP client", async () => {
  const { client } = await setupGateway({ plugins: [[plugin, { greeting: "Hi" }]] });
  const { content } = await client.callTool({ name: "${tool}_greet", arguments: { name: "Ada" } });
  expect(content).toEqual([{ type: "text", text: "Hi, Ada!" }]);
});
`;
}
