import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { main, workFolder } from "./build.ts";
import { KEYS, openTerminal } from "../create-gateway/terminal.ts";

let folder: string;
beforeAll(async () => {
  folder = await workFolder();
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts a gateway with a web interface and a key in a terminal. */
async function openGateway() {
  const file = join(folder, "gateway.json");
  const config = {
    listeners: { main: { port: 0 } },
    plugins: { gating: {}, admin: {}, sessions: {}, ui: {} },
    auth: { apiKey: "a-key-of-this-test-0123456789" },
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
  const terminal = await openGateway();
  await terminal.see("Web interface");
  await terminal.see("Sign in: http");
  await terminal.see("Press Enter for another.");
  await terminal.see("Point a client at it");
  const first = lastLink(terminal.output());
  expect(await signIn(first)).toBe(201);
  expect(await signIn(first)).toBe(401);

  terminal.press(KEYS.enter);
  await terminal.see("Sign in (once, within 60 s): http");
  await terminal.see("\n");
  const second = lastLink(terminal.output());
  expect(second.code).not.toBe(first.code);
  expect(await signIn(second)).toBe(201);
  terminal.press(KEYS.ctrlC);
  expect(await terminal.ended).toBe(0);
});

it("43: a reload that fails is told once, in a sentence with its place", async () => {
  const terminal = await openGateway();
  await terminal.see("Point a client at it");
  const before = terminal.output().length;
  await terminal.write({ servers: { shop: { comand: "node" } } });
  await terminal.see("error  ");
  await terminal.write();
  await terminal.see("reloaded");
  terminal.press(KEYS.ctrlC);
  await terminal.ended;
  const told = terminal.output().slice(before);
  expect(told.match(/neither a command nor a url/g)).toHaveLength(1);
  expect(told).not.toMatch(/\n\s+at /);
  expect(told).not.toContain('{"');
});
