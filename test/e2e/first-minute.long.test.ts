import { connectClient } from "propylon/testing";
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { PATIENCE } from "../fixtures/ci.ts";
import { PageRun } from "../fixtures/page-run.ts";
import { copiedBy, openPage } from "../plugins/ui/kit.ts";

const KEY = "a-key-that-the-newcomer-made-up";

/** Seconds that a step takes at most on a quiet machine. npm has installed already: that takes as long as its registry does. */
const STEPS = {
  clone: 20,
  start: 90,
  "ask for a key and sign in": 15,
  "see what is wrong": 15,
  "try a tool": 10,
  "connect a client": 15,
} as const;

type Step = keyof typeof STEPS;

it(
  "43: a first-time journey: clone, start, sign in, see what is wrong, try a tool, connect a client",
  { timeout: PATIENCE * 240_000 },
  async (context) => {
    const times = new Map<Step, number>();
    const timed = async <T>(step: Step, work: () => Promise<T>): Promise<T> => {
      const began = performance.now();
      const result = await work();
      times.set(step, (performance.now() - began) / 1_000);
      return result;
    };
    const run = await timed("clone", () => PageRun.inCheckout(8080));
    onTestFinished(() => run.close());
    const url = run.here("http://127.0.0.1:8080");
    await timed("start", () => run.do({ kind: "server", command: "npm start" }));
    await command(run, "cd playground");
    const { page, complaints } = await openPage(`${url}/ui/`);

    await timed("ask for a key and sign in", () => signIn(run, page));
    await timed("see what is wrong", () => seeWhatIsWrong(run, page));
    await timed("try a tool", () => tryTool(page));
    await timed("connect a client", () => connect(page, url));

    // 401 until the key was typed, which is what shows the sign-in.
    expect(complaints.filter((text) => !text.startsWith("401 "))).toEqual([]);
    const told = [...times].map(([step, seconds]) => `${step}: ${seconds.toFixed(1)} s`);
    await context.annotate(told.join(", "));
    expect([...times.keys()]).toEqual(Object.keys(STEPS));
    expect([...times].filter(([step, seconds]) => seconds > PATIENCE * STEPS[step])).toEqual([]);
  },
);

/** The gateway asks for a key as soon as its config does; the page that is open asks the newcomer, who types it. */
async function signIn(run: PageRun, page: Page): Promise<void> {
  await page.getByRole("link", { name: "Servers" }).first().waitFor();
  await command(run, `printf 'auth: { apiKey: ${KEY} }\\n' >> gateway.yaml`);
  await page.locator('input[name="key"]').fill(KEY);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("link", { name: "Servers" }).first().waitFor();
}

/** A server with a typo: the first page names it with its reason. */
async function seeWhatIsWrong(run: PageRun, page: Page): Promise<void> {
  const entry = "  notes: { command: uvxx, args: [mcp-server-notes] }";
  await command(run, `sed -i 's/^servers:$/servers:\\n${entry}/' gateway.yaml`);
  await page
    .getByText(/uvxx.* was not found/)
    .first()
    .waitFor();
  await page.getByRole("link", { name: "notes" }).first().waitFor();
}

async function tryTool(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Servers" }).first().click();
  await page.getByRole("link", { name: "echo", exact: true }).click();
  await page.getByRole("link", { name: "Try greet" }).click();
  await page.getByLabel("name").fill("Ada");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByText("hello, Ada").first().waitFor();
}

/** What the page gives to copy names the endpoint and takes a key; a client with both has the tools. */
async function connect(page: Page, url: string): Promise<void> {
  await page.getByRole("link", { name: "Clients" }).first().click();
  const copied = await copiedBy(page.getByRole("button", { name: /copy/i }).first());
  expect(copied).toContain(`${url}/mcp`);
  expect(copied).toContain("Authorization");
  const client = await connectClient(`${url}/mcp`, {
    headers: { authorization: `Bearer ${KEY}` },
  });
  onTestFinished(() => client.close());
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["greet", "echo"]));
  const answer = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
  expect(answer.content).toEqual([{ type: "text", text: "hello, Ada" }]);
}

async function command(run: PageRun, line: string): Promise<void> {
  const step = { kind: "command", command: line, output: "" } as const;
  expect(await run.do(step)).toEqual(step);
}
