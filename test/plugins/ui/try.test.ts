import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { fakeUpstream } from "../../../core/testing/index.ts";
import { FULL, openPage, startGateway } from "./kit.ts";

const EVERYTHING = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
);
const run = promisify(execFile);

it("7: a call shows its progress while it runs, its result, and the same as curl", async () => {
  const { url } = await startGateway(
    `${FULL}servers: { everything: { command: node, args: ["${EVERYTHING}"] } }\n`,
  );
  const { page, complaints } = await openPage(`${url}/ui/servers/everything`);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
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
  await page.getByRole("button", { name: "Copy as curl" }).click();
  await page.getByText("Copied").waitFor();
  const command = (await page.evaluate("navigator.clipboard.readText()")) as string;
  const { stdout } = await run("sh", ["-c", command]);
  const { result } = JSON.parse(stdout) as { result: { content: { text: string }[] } };
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
  let ended = (): void => {};
  const cancelled = new Promise<void>((resolve) => (ended = resolve));
  const shop = await fakeUpstream({
    wait: (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          ended();
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
  const began = performance.now();
  await page.getByRole("button", { name: "Cancel" }).click();
  await cancelled;
  expect(performance.now() - began).toBeLessThan(1_000);
  await page.getByText("cancelled", { exact: true }).waitFor();

  await page.goto(`${url}/ui/try/shop/fail`);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByText("tool failed", { exact: true }).waitFor();
  await page.getByText("There is no such thing.").waitFor();
});
