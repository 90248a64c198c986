import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { makeFolder } from "../../kit/folder.ts";

const HOOKS = new URL("../../fixtures/module-files.mjs", import.meta.url).href;
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** Modules of plugins that a program loads which makes a gateway. */
async function loadedWith(plugins: object): Promise<readonly string[]> {
  const folder = makeFolder();
  const program = `
    import { register } from "node:module";
    register(${JSON.stringify(HOOKS)});
    const { createGateway } = await import("propylon");
    const config = { listeners: { main: { port: 0 } }, plugins: ${JSON.stringify(plugins)} };
    const gateway = await createGateway(config);
    await gateway.close();`;
  const env = { ...process.env, NODE_V8_COVERAGE: folder };
  const words = ["--input-type=module", "--eval", program];
  await promisify(execFile)(process.execPath, words, { cwd: ROOT, env });
  const texts = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")),
  );
  return texts.flatMap((text) => text.match(/(?<=dist\/modules\/)plugins\/[\w/-]+/g) ?? []);
}

it("a gateway made in code with its default plugins off loads no file of any plugin", async () => {
  const off = { keys: false, mcp: false, servers: false, tasks: false };
  expect(await loadedWith(off)).toEqual([]);
  expect(await loadedWith({ ...off, keys: {} })).toContain("plugins/keys/authenticators");
});
