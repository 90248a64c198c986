import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeFolder } from "../../kit/folder.ts";
import { startPropylon } from "./propylon.ts";

const PAGE = readFileSync("docs/guide/secrets.md", "utf8");
const [OLD, NEW] = ["the-old-key-of-this-test", "the-new-key-of-this-test"] as const;

const statusOf = async (url: string, key: string): Promise<number> =>
  (await fetch(url, { method: "POST", headers: { authorization: `Bearer ${key}` } })).status;

/** A gateway in a folder, reloaded once what holds its key was changed. @returns its answers to both keys, before and after */
async function rotate(
  files: Readonly<Record<string, string>>,
  words: readonly string[],
  change: (folder: string) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
) {
  const folder = makeFolder(files);
  const running = await startPropylon(["start", ...words], { cwd: folder, env });
  onTestFinished(() => running.stop().then(() => undefined));
  const answers = async () => [await statusOf(running.url, OLD), await statusOf(running.url, NEW)];
  const before = await answers();
  await change(folder);
  running.child.kill("SIGHUP");
  await running.until(/"msg":"reloaded/);
  expect(running.log()).not.toMatch(/the-(?:old|new)-key/);
  return { before, after: await answers() };
}

const YAML = 'listeners: { main: { port: 0 } }\nauth: { apiKey: "${GATEWAY_KEY}" }\n';
const isKnown = (status: number): boolean => status !== 401;

it("a secret in .env is read again at each reload, and the log never shows it", async () => {
  const { before, after } = await rotate(
    { "gateway.yaml": YAML, ".env": `GATEWAY_KEY=${OLD}\n` },
    [],
    (folder) => writeFile(join(folder, ".env"), `GATEWAY_KEY=${NEW}\n`),
  );
  expect(before.map(isKnown)).toEqual([true, false]);
  expect(after.map(isKnown)).toEqual([false, true]);
});

it("the real environment wins over .env, at a reload too", async () => {
  const { after } = await rotate(
    { "gateway.yaml": YAML, ".env": "GATEWAY_KEY=a-key-that-nobody-uses\n" },
    [],
    (folder) => writeFile(join(folder, ".env"), `GATEWAY_KEY=${NEW}\n`),
    { GATEWAY_KEY: OLD },
  );
  expect(after.map(isKnown)).toEqual([true, false]);
});

it("the config in TypeScript of the page reads a file, at each reload again", async () => {
  const code = /^```ts\n([^]*?)^```/m.exec(PAGE)![1]!;
  const shown = code
    .replace('"/run/secrets/gateway_key"', '"gateway_key"')
    .replace("  auth:", "  listeners: { main: { port: 0 } },\n  auth:");
  const { before, after } = await rotate(
    { "gateway.config.ts": shown, gateway_key: `${OLD}\n` },
    ["gateway.config.ts"],
    (folder) => writeFile(join(folder, "gateway_key"), `${NEW}\n`),
  );
  expect(before.map(isKnown)).toEqual([true, false]);
  expect(after.map(isKnown)).toEqual([false, true]);
});
