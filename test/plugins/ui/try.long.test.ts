import { fileURLToPath } from "node:url";
import { definePlugin } from "propylon";
import { digestOf } from "propylon/kit";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { fakeUpstream } from "../../../core/testing/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { deferred } from "../../kit/deferred.ts";
import { problemsInAllLooks } from "./looks.ts";
import { HOSTILE } from "./pages.ts";
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

it("7: what a tool asks is answered in the page: a form, a page to visit, and the words of a model", async () => {
  const { url } = await startGateway(
    `${FULL}servers: { everything: { command: node, args: ["${EVERYTHING}"] } }\n`,
  );
  const { page, complaints } = await openPage(
    `${url}/ui/try/everything/trigger-elicitation-request`,
  );
  const call = page.getByRole("button", { name: "Call", exact: true });
  const question = page.getByRole("form", { name: "Question" });
  const passage = page.locator(".result .passage");
  await call.click();
  await question.getByText("Please provide inputs for the following fields:").waitFor();
  await question.getByLabel(/^String\s*name/).fill("Ada");
  await question.getByLabel("Integer").fill("101");
  await question.getByRole("button", { name: "Answer", exact: true }).click();
  // The browser knows that it is too large, and says so at the field.
  const integer = question.getByLabel("Integer");
  await expect.poll(() => integer.getAttribute("aria-invalid")).toBe("true");
  await question.locator(".problem").waitFor();
  expect(await integer.and(page.locator(":focus")).count()).toBe(1);
  await integer.fill("7");
  expect(await question.locator(".problem").count()).toBe(0);
  await question.getByRole("button", { name: "Answer", exact: true }).click();
  await expect.poll(() => passage.nth(1).innerText()).toContain("Name: Ada");
  expect(await passage.nth(1).innerText()).toContain("Favorite Integer: 7");
  expect(await question.count()).toBe(0);
  for (const [button, words] of [
    ["Decline", "declined"],
    ["Close without an answer", "cancelled"],
  ] as const) {
    await call.click();
    await question.getByRole("button", { name: button }).click();
    await expect.poll(() => passage.first().innerText()).toContain(words);
  }

  await page.goto(`${url}/ui/try/everything/trigger-sampling-request`);
  await page.getByLabel("prompt").fill("Say hello.");
  await call.click();
  await question.getByLabel("Answer of the model").fill("Hello from a person.");
  await question.getByRole("button", { name: "Answer", exact: true }).click();
  await expect.poll(() => passage.first().innerText()).toContain("Hello from a person.");
  expect(complaints).toEqual([]);
});

it("7: a question is the text of a stranger, and what does not fit is said at its field", async () => {
  const requestedSchema = {
    type: "object",
    properties: { code: { type: "integer", title: HOSTILE, multipleOf: 5 } },
    required: ["code"],
  };
  const asker = definePlugin({
    name: "asker",
    setup(gateway) {
      for (const [name, params] of [
        ["form", { message: HOSTILE, requestedSchema }],
        [
          "visit",
          {
            mode: "url",
            message: "Go",
            url: "javascript:document.title='owned'",
            elicitationId: "e",
          },
        ],
      ] as const)
        gateway.tool(name, {
          description: "Asks.",
          run: async (_, { peer }) => JSON.stringify(await peer.ask("elicitation/create", params)),
        });
    },
  });
  const { url } = await startGateway(FULL.replace("plugins:", "plugins:\n  asker: {}"), [asker]);
  const { page } = await openPage(`${url}/ui/try/asker/form`);
  const question = page.getByRole("form", { name: "Question" });
  const answer = question.getByRole("button", { name: "Answer", exact: true });
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await question.locator("input").fill("7");
  await answer.click();
  await expect.poll(() => question.locator(".problem").count()).toBe(1);
  expect(await question.locator("input").getAttribute("aria-invalid")).toBe("true");
  expect(await problemsInAllLooks(page, "it")).toEqual([]);
  await question.locator("input").fill("10");
  expect(await question.locator(".problem").count()).toBe(0);
  await answer.click();
  await page.locator(".result").getByText("10").waitFor();

  await page.goto(`${url}/ui/try/asker/visit`);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await question.getByText("javascript:").waitFor();
  expect(await question.getByRole("link").count()).toBe(0);
  await answer.click();
  await page.locator(".result").getByText("accept").waitFor();
  expect(await page.title()).not.toContain("owned");
});

it("7: resources are read and prompts are got in the page of their server", async () => {
  const { url } = await startGateway(
    `${FULL}servers: { everything: { command: node, args: ["${EVERYTHING}"] } }\n`,
  );
  const { page, complaints } = await openPage(`${url}/ui/servers/everything?view=resources`);
  await page.getByRole("link", { name: "Read architecture.md" }).click();
  await page.getByRole("button", { name: "Read", exact: true }).click();
  await page.locator(".result").getByText("Everything Server").first().waitFor();
  expect(await problemsInAllLooks(page, "it")).toEqual([]);
  await page.getByLabel("Address").fill("demo://resource/dynamic/text/{resourceId}");
  await page.getByText("This is a template").waitFor();
  await page.getByLabel("Address").fill("demo://resource/dynamic/text/7");
  await page.getByRole("button", { name: "Read", exact: true }).click();
  await page.locator(".result").getByText("Resource 7").waitFor();
  const command = await copiedBy(page.getByRole("button", { name: "Copy as curl" }));
  expect(await runCopied(command)).toContain("Resource 7");

  await page.goto(`${url}/ui/servers/everything?view=prompts`);
  await page.getByRole("link", { name: "Get args-prompt" }).click();
  await page.getByRole("button", { name: "Get", exact: true }).click();
  await page.locator(".problem").waitFor();
  await page.getByLabel("city").fill("Rome");
  await page.getByRole("button", { name: "Get", exact: true }).click();
  await page.locator(".result").getByText("What's weather in Rome?").waitFor();
  expect(await problemsInAllLooks(page, "it")).toEqual([]);
  expect(complaints).toEqual([]);
});

it("7: a moment is picked, and a file is chosen, where the schema says so", async () => {
  const shop = await fakeUpstream({
    send: {
      input: {
        type: "object",
        properties: {
          at: { type: "string", format: "date-time" },
          scan: { type: "string", contentEncoding: "base64" },
        },
        required: ["at", "scan"],
      },
      run: (args) => JSON.stringify(args),
    },
  });
  const { url } = await startGateway(`${FULL}servers: { shop: { url: "${shop.url}" } }\n`);
  const { page } = await openPage(`${url}/ui/try/shop/send`, { timezoneId: "Asia/Tokyo" });
  await page.getByRole("button", { name: "Call", exact: true }).click();
  expect(await page.locator(".problem").count()).toBe(2);
  await page.getByLabel("at").fill("2026-03-01T10:00");
  const bytes = Buffer.from([0, 255, 1, 254]);
  await page.getByLabel("scan").setInputFiles({
    name: "scan.bin",
    mimeType: "application/octet-stream",
    buffer: bytes,
  });
  await page.getByText("are sent as base64").waitFor();
  expect(await page.locator(".problem").count()).toBe(0);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.locator(".result").waitFor();
  expect(shop.calls).toMatchObject([
    { args: { at: "2026-03-01T01:00:00.000Z", scan: bytes.toString("base64") } },
  ]);
});

it("7: the result stays in sight beside a long form", async () => {
  const names = Array.from({ length: 40 }, (_, index) => `field${index}`);
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  const shop = await fakeUpstream({
    send: { input: { type: "object", properties }, run: () => "It was sent." },
  });
  const { url } = await startGateway(`${FULL}servers: { shop: { url: "${shop.url}" } }\n`);
  const { page } = await openPage(`${url}/ui/try/shop/send`);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  const result = page.getByText("It was sent.");
  await result.waitFor();
  expect(await page.evaluate("scrollY")).toBeGreaterThan(500);
  const { y } = (await result.boundingBox())!;
  expect(y).toBeGreaterThan(0);
  expect(y).toBeLessThan(800);
});
