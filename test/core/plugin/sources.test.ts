import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createFileGateway, definePlugin } from "../../../core/index.ts";
import { Files } from "../../../core/kit.ts";
import { makeFolder } from "../../kit/folder.ts";

/** Says what its files say. */
const reader = definePlugin({
  name: "reader",
  config: z.strictObject({ text: z.string(), code: z.string() }),
  inject: { files: Files },
  async setup(gateway) {
    const { files } = gateway.services;
    const text = await files.read(gateway.config.text).catch((error: Error) => error.message);
    const code = await files.import(gateway.config.code).then(
      ({ default: value }) => value,
      (error: Error) => error.message,
    );
    gateway.tool("read", { description: "Reads.", run: () => `${text} ${String(code)}` });
  },
});

async function startReader(files: Record<string, string>) {
  const folder = makeFolder();
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  await write(
    "gateway.yaml",
    "listeners: { main: { port: 0 } }\nlog: { level: silent }\nplugins: { reader: { text: ./a.txt, code: ./b.ts } }\n",
  );
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const gateway = await createFileGateway(join(folder, "gateway.yaml"), { plugins: { reader } });
  onTestFinished(() => gateway.close({ grace: 0 }));
  const read = async () => {
    const { result } = await gateway.call({ server: "reader", name: "read" });
    return (result as { content: { text: string }[] }).content[0]!.text;
  };
  return { gateway, write, read };
}

it("files belong to the plugin that read them: a reload sets it up anew when one changed", async () => {
  const { gateway, write, read } = await startReader({
    "a.txt": "one",
    "b.ts": 'import { n } from "./c.ts";\nexport default n as number;\n',
    "c.ts": "export const n: number = 1;\n",
  });
  expect(await read()).toBe("one 1");
  expect((await (await gateway.manage()).reload()).applied).toBe(false);
  await write("a.txt", "two");
  expect((await (await gateway.manage()).reload()).plugins.changed).toEqual(["reader"]);
  await write("c.ts", "export const n: number = 2;\n");
  expect((await (await gateway.manage()).reload()).plugins.changed).toEqual(["reader"]);
  expect(await read()).toBe("two 2");
});

it("a file that is missing or wrong is watched all the same, and named without its folder", async () => {
  const { gateway, write, read } = await startReader({ "b.ts": "export default ;" });
  const said = await read();
  expect(said).toContain("The file ./a.txt does not exist.");
  expect(said).toContain("./b.ts: The file cannot be loaded");
  expect(said).not.toContain(tmpdir());
  await write("a.txt", "there");
  await write("b.ts", "export default 3;");
  const watcher = await gateway.watch({ settle: 1, poll: 20 });
  onTestFinished(() => watcher.close());
  await expect.poll(read).toBe("there 3");
});
