import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, extname, join, relative, resolve } from "node:path";
import { findConfig } from "../file/load.ts";
import { FIRST_PARTY } from "../gateway/check/first-party.ts";
import { draftConfig } from "../file/write.ts";
import { GatewayError } from "../kit/errors.ts";

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/** A config that is written in a programming language is its owner's to edit. */
const CODE = /^\.[cm]?[jt]s$/;

/**
 * Adds a plugin of one's own to a gateway: `plugins/<name>.ts`, `test/<name>.test.ts`, and its line in the config. All or
 * nothing: the config is edited first in memory, and nothing that is there is replaced. For a config that is code the line is
 * printed.
 *
 * @throws {GatewayError} `invalid` for an invalid name, `exists` for a file or plugin that is there, `no_config` without a
 * config
 */
export async function newPlugin(name: string, config: string | undefined): Promise<void> {
  checkName(name);
  const file = resolve(config ?? findConfig(process.cwd()));
  const code = join(dirname(file), "plugins", `${name}.ts`);
  const test = join(dirname(file), "test", `${name}.test.ts`);
  for (const each of [code, test])
    if (existsSync(each))
      throw new GatewayError("exists", `${shown(each)} is there already.`, {
        hint: "Choose another name, or remove it.",
      });
  const key = `./plugins/${name}.ts`;
  const draft = CODE.test(extname(file))
    ? undefined
    : await draftConfig(file, [{ path: ["plugins", key], value: {} }]);
  await write(code, codeText(name));
  await write(test, testText(name));
  await draft?.write();
  console.log(`${shown(code)}\n${shown(test)}`);
  console.log(
    draft
      ? `${shown(file)}: plugins: ${key}`
      : `Now add to the plugins of ${shown(file)}: "${key}": {}`,
  );
  console.log("Next: npx propylon dev, and npx vitest run");
}

function checkName(name: string): void {
  if (!NAME.test(name))
    throw new GatewayError("invalid", `"${name}" cannot be the name of a plugin.`, {
      hint: "Use lower-case words with hyphens, such as audit-log.",
    });
  if (FIRST_PARTY.includes(name))
    throw new GatewayError("exists", `A plugin "${name}" comes with Propylon.`, {
      hint: `Choose another name, such as my-${name}; two plugins of one name cannot run together.`,
    });
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
      description: "Greets a person by name.",
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
