import { fileURLToPath } from "node:url";
import { digestOf } from "propylon/kit";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { fakeUpstream } from "../../../core/testing/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { deferred } from "../../kit/deferred.ts";
import { copiedBy, FULL, openPage, runCopied, startGateway } from "./kit.ts";

const EVERYTHING = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
);
/** How soon a cancelled call has ended at its server, milliseconds. */
const MAX_CANCEL_MS = PATIENCE * 250;

it("7: a call shows its progress while it runs, its result, and the same as curl", async () => {
  const { url } = await startGateway(
    `${FULL}servers: { everything: { command: node, args: ["${EVERYTHING}"] } }\n`,
  );
  const { page, complaints } = await openPage(`${url}/ui/servers/everything`);
  await page.getByRole("link", { name: "Try trigger-long-running-operation" }).click();
  await page.getByLabel("duration").fill("4");
  await page.getByLabel("steps").fill("4");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  // While it runs, not afterwards.
  await page.getByText(/^[123] of 4$/).waitFor();
  await page.getByText("running", { exact: true }).waitFor();
  await page.getByText("Long running operation completed").waitFor();

  await page.goto(`${url}/ui/try/everything/get-sum`);
  // What is required and missing is not sent.
  await page.getByRole("button", { name: "Call", exact: true }).click();
  expect(await page.locator(":user-invalid").count()).toBe(2);
  await page.getByLabel("a", { exact: true }).fill("35");
  await page.getByLabel("b", { exact: true }).fill("7");
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  expect(JSON.parse(await page.getByLabel("Arguments as JSON").inputValue())).toEqual({
    a: 35,
    b: 7,
  });
  await page.getByRole("button", { name: "Call", exact: true }).click();
  const shown = page.locator(".result .passage");
  await expect.poll(() => shown.innerText()).toContain("42");
  const command = await copiedBy(page.getByRole("button", { name: "Copy as curl" }));
  const { result } = JSON.parse(await runCopied(command)) as {
    result: { content: { text: string }[] };
  };
  expect(result.content[0]!.text).toBe(await shown.innerText());

  // What the history kept is made once more, with the same arguments and the same answer.
  await page.goto(`${url}/ui/activity?tool=get-sum`);
  const calls = page.getByRole("button", { name: "everything / get-sum" });
  await expect.poll(() => calls.count()).toBe(2);
  await calls.last().click();
  await page.getByRole("button", { name: "Replay" }).click();
  await page.getByRole("button", { name: "Call once more" }).click();
  await expect.poll(() => calls.count()).toBe(3);
  const { entries } = (await (await fetch(`${url}/_meta/history?tool=get-sum`)).json()) as {
    entries: { arguments: object; outcome: string; result: unknown }[];
  };
  const replayed = entries.map(({ arguments: given, outcome, result: answered }) => ({
    given,
    outcome,
    answered,
  }));
  expect(replayed[0]).toEqual({ given: { a: 35, b: 7 }, outcome: "ok", answered: result });
  expect(replayed).toEqual([replayed[0], replayed[0], replayed[0]]);
  expect(complaints).toEqual([]);
});

it("7: cancelling a call ends it at its server, and a failure is shown with its words", async () => {
  const { promise: cancelled, resolve: ended } = deferred<number>();
  const shop = await fakeUpstream({
    wait: (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          ended(Date.now());
          resolve("cancelled");
        });
      }),
    fail: () => {
      throw new Error("There is no such thing.");
    },
  });
  const { url } = await startGateway(`${FULL}servers: { shop: { url: "${shop.url}" } }\n`);
  const { page } = await openPage(`${url}/ui/try/shop/wait`);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await expect.poll(() => shop.calls.length).toBe(1);
  // From the click in the browser: what the driver takes to make it is not the page's.
  await page.evaluate("addEventListener('click', () => (window.clicked = Date.now()), true)");
  await page.getByRole("button", { name: "Cancel" }).click();
  const took = (await cancelled) - ((await page.evaluate("window.clicked")) as number);
  expect(took).toBeGreaterThanOrEqual(0);
  expect(took).toBeLessThan(MAX_CANCEL_MS);
  await page.getByText("cancelled", { exact: true }).waitFor();

  await page.goto(`${url}/ui/try/shop/fail`);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByText("tool failed", { exact: true }).waitFor();
  await page.getByText("There is no such thing.").waitFor();
});

it("7: the copied calls of an MCP client and of the command line give the same result, with a key or without", async () => {
  const key = createKey("admin");
  const price = ({ item }: Readonly<Record<string, unknown>>): string => `${String(item)}: 3 EUR`;
  const input = { type: "object", properties: { item: { type: "string" } } };
  const tool = { input, run: price };
  // Both have the tool price, so that each has another name at the endpoint.
  const east = await fakeUpstream({ price: tool });
  const west = await fakeUpstream({ price: tool, "-price": tool });
  const servers = `servers:\n  east: { url: "${east.url}" }\n  west: { url: "${west.url}" }\n`;
  const auth = `auth: { keys: { ops: { role: admin, hash: "sha256:${digestOf(key)}" } } }\n`;
  // A name that begins as an option does is no option.
  for (const [name, more, env] of [
    ["price", "", {}],
    ["-price", "", {}],
    ["-price", `  sessions: {}\n${auth}`, { PROPYLON_API_KEY: key }],
  ] as const) {
    const { url } = await startGateway(`${FULL}${more}${servers}`);
    const { page } = await openPage(`${url}/ui/try/west/${name}`);
    if (more !== "") {
      await page.getByLabel("Key or token").fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
    }
    // Words that a shell would read as more than a word.
    const item = `it's "$(id)" \`id\` ü`;
    await page.getByLabel("item").fill(item);
    await page.getByLabel("Timeout in seconds").fill("9");
    const before = west.calls.length;
    const results: unknown[] = [];
    for (const button of ["Copy as curl", "Copy as MCP", "Copy as CLI"]) {
      const command = await copiedBy(page.getByRole("button", { name: button }));
      expect(command).not.toContain(key);
      const answer = JSON.parse(await runCopied(command, env)) as { result?: unknown };
      const { content } = (answer.result ?? answer) as { content: unknown };
      results.push(content);
    }
    const content = [{ type: "text", text: `${item}: 3 EUR` }];
    expect(results).toEqual([content, content, content]);
    expect(west.calls.length - before).toBe(3);
  }
});
