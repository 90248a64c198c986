import { createHash } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { main, workFolder } from "./build.ts";
import { KEYS, openTerminal } from "../create-gateway/terminal.ts";
import { createKey } from "../../plugins/keys/key.ts";

let folder: string;
beforeAll(async () => {
  folder = await workFolder();
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts a gateway with a web interface and a key in a terminal. */
async function openGateway() {
  const hash = `sha256:${createHash("sha256").update(createKey("admin")).digest("hex")}`;
  const file = join(folder, "gateway.json");
  const config = {
    listeners: { main: { port: 0 } },
    plugins: { gating: {}, admin: {}, sessions: {}, ui: {} },
    auth: { keys: { ops: { role: "admin", hash } } },
  };
  const write = (more: object = {}): Promise<void> =>
    writeFile(file, JSON.stringify({ ...config, ...more }));
  await write();
  const terminal = openTerminal({ program: main } as never, folder, ["start", "--watch", file]);
  return { ...terminal, write };
}

/** The last link that was printed. */
function lastLink(output: string): { readonly url: string; readonly code: string } {
  const [, url, code] = [...output.matchAll(/(http:\S+)\/ui\/#code=([\w-]+)/g)].at(-1)!;
  return { url: url!, code: code! };
}

async function signIn({ url, code }: ReturnType<typeof lastLink>): Promise<number> {
  const headers = { "content-type": "application/json", origin: url };
  const body = JSON.stringify({ code });
  return (await fetch(`${url}/ui/session`, { method: "POST", headers, body })).status;
}

it("43: the sign-in link stands below the web interface, and Enter prints another that works", async () => {
  const { press, see, output, ended } = await openGateway();
  await see("Web interface");
  await see("Sign in: http");
  await see("Press Enter for another.");
  await see("Point a client at it");
  const first = lastLink(output());
  expect(await signIn(first)).toBe(201);
  expect(await signIn(first)).toBe(401);

  press(KEYS.enter);
  await see("Sign in (once, within 60 s): http");
  await see("\n");
  const second = lastLink(output());
  expect(second.code).not.toBe(first.code);
  expect(await signIn(second)).toBe(201);
  press(KEYS.ctrlC);
  expect(await ended).toBe(0);
});

it("43: a reload that fails is told once, in a sentence with its place", async () => {
  const { press, see, output, write, ended } = await openGateway();
  await see("Point a client at it");
  const before = output().length;
  await write({ servers: { shop: { comand: "node" } } });
  await see("error  ");
  await write();
  await see("reloaded");
  press(KEYS.ctrlC);
  await ended;
  const told = output().slice(before);
  expect(told.match(/neither a command nor a url/g)).toHaveLength(1);
  expect(told).not.toMatch(/\n\s+at /);
  expect(told).not.toContain('{"');
});
