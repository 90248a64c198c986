import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { definePlugin, type PluginContext } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import gating from "../../../plugins/gating/index.ts";
import { calls, stderr } from "../../../plugins/admin/watch-commands.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";

/** What a command prints. */
async function printed(run: () => Promise<void>): Promise<string> {
  const lines: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  const error = vi
    .spyOn(console, "error")
    .mockImplementation((line: string) => void lines.push(line));
  try {
    await run();
    return lines.join("\n");
  } finally {
    log.mockRestore();
    error.mockRestore();
  }
}

it("propylon calls lists what runs and ends one", async () => {
  let began = false;
  const desk = definePlugin({
    name: "desk",
    setup: (gateway: PluginContext) =>
      gateway.tool("wait", {
        description: "Waits.",
        run: () => {
          began = true;
          return new Promise(() => {});
        },
      }),
  });
  const { gateway, client } = await setupGateway({
    plugins: [[gating, { state: false }], admin, desk],
    config: { management: { mutations: true } },
  });
  const target = gateway.endpoints[0]!.url;
  const flags = { target, timeout: "10s" };
  expect(await printed(() => calls(flags))).toBe("No call is running.");
  const ending = client.callTool({ name: "wait", arguments: {} }).catch((error) => error);
  await until(() => began);
  const line = await printed(() => calls(flags));
  expect(line).toMatch(/^[\w-]+ {2}\d\.\d s {2}desk\/wait {2}anonymous:anonymous$/);
  const [id] = line.split(" ");
  expect(await printed(() => calls({ ...flags, cancel: id! }))).toBe(`The call ${id} was ended.`);
  expect(String(await ending)).toContain("cancelled");
  await expect(calls({ ...flags, cancel: id! })).rejects.toMatchObject({ code: "not_found" });
});

it("propylon stderr prints the last lines, with what a terminal would obey made visible", async () => {
  const folder = makeFolder({
    "child.mjs": String.raw`console.error("first"); console.error("\u001b[2Jcleared"); process.exit(1);`,
  });
  const file = join(folder, "gateway.yaml");
  await writeFile(
    file,
    `servers:
  alpha: { command: node, args: [child.mjs] }
  remote: { url: "http://127.0.0.1:9/mcp" }
plugins: { gating: { state: false }, admin: {} }
`,
  );
  const { gateway } = await setupGateway({ file, client: false });
  const flags = { target: gateway.endpoints[0]!.url, timeout: "10s" };
  const text = await until(async () => {
    const found = await printed(() => stderr("alpha", { ...flags, lines: 2 }));
    return found.includes("cleared") && found;
  });
  expect(text).toBe("first\n\uFFFD[2Jcleared");
  expect(await printed(() => stderr("remote", flags))).toBe(
    'The server "remote" has no child process.',
  );
});
