import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { copiedBy, FULL, openPage, runCopied, startGateway } from "./kit.ts";

const SCRIPT = fileURLToPath(new URL("../../fixtures/process/exact-server.mjs", import.meta.url));
const SERVERS = `servers: { exact: { command: node, args: ["${SCRIPT}"] } }\n`;

/** An identifier of 64 bits, and a fraction of more digits than a double has. */
const ID = "9223372036854775807";
const AMOUNT = "0.1000000000000000055511151231257827";
const ARGUMENTS = `{"id":${ID},"amount":${AMOUNT}}`;

/** Without what makes JSON readable, and without the marks of JSON in a text. */
function compact(text: string): string {
  return text.replaceAll(/[\s\\]/g, "");
}

it("line 9: a number typed into a field is called, shown, copied and called again with every digit", async () => {
  const { url } = await startGateway(`${FULL}${SERVERS}`);
  const { page, complaints } = await openPage(`${url}/ui/try/exact/data`);
  await page.getByLabel(/^id/).fill(ID);
  await page.getByLabel("amount").fill(AMOUNT);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  const shown = page.locator(".result .passage");
  await expect.poll(async () => compact(await shown.innerText())).toBe(ARGUMENTS);
  await page.getByRole("button", { name: "Show as JSON" }).click();
  expect(compact(await shown.innerText())).toContain(`"structuredContent":${ARGUMENTS}`);
  expect(compact(await copiedBy(page.getByRole("button", { name: "Copy JSON" })))).toContain(
    ARGUMENTS,
  );
  for (const button of ["Copy as curl", "Copy as MCP", "Copy as CLI"]) {
    const command = await copiedBy(page.getByRole("button", { name: button }));
    expect(command).toContain(ARGUMENTS);
    expect(compact(await runCopied(command))).toContain(ARGUMENTS);
  }
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  expect(compact(await page.getByLabel("Arguments as JSON").inputValue())).toBe(ARGUMENTS);
  await page.getByRole("button", { name: "Edit as form" }).click();
  expect(await page.getByLabel(/^id/).inputValue()).toBe(ID);
  expect(complaints).toEqual([]);
});

it("line 9: a number typed as JSON keeps every digit on the pages Try and Activity", async () => {
  const { url } = await startGateway(`${FULL}${SERVERS}`);
  const { page, complaints } = await openPage(`${url}/ui/try/exact/words?mode=json`);
  const rows = `[{"id":${ID},"n":1e400},{"id":-9007199254740993,"n":0.5}]`;
  await page.getByLabel("Arguments as JSON").fill(`{"rows":${rows}}`);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  // Rows in a text are a table.
  const cells = page.locator(".result td");
  await expect.poll(() => cells.allInnerTexts()).toEqual([ID, "1e400", "-9007199254740993", "0.5"]);

  await page.goto(`${url}/ui/activity?tool=words`);
  await page.getByRole("button", { name: "exact / words" }).first().click();
  const kept = page.getByRole("region", { name: "Arguments" });
  await expect.poll(async () => compact(await kept.innerText())).toBe(`{"rows":${rows}}`);
  const from = await page.getByRole("link", { name: "Open in Try" }).getAttribute("href");
  await page.goto(`${new URL(from!, url).href}&mode=json`);
  const again = page.getByLabel("Arguments as JSON");
  await expect.poll(async () => compact(await again.inputValue())).toBe(`{"rows":${rows}}`);
  expect(complaints).toEqual([]);
});

/** A server over stdin that says what it is in a way of its own. */
const ODD = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const serverInfo = { name: { en: "Odd" }, version: 7 };
  const { protocolVersion } = params ?? {};
  const result = method === "initialize" ? { protocolVersion, capabilities: {}, serverInfo } : {};
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
});`;

it("a server that does not name itself by a text is shown as it says it", async () => {
  const servers = `servers: { odd: { command: node, args: ["-e", ${JSON.stringify(ODD)}] } }\n`;
  const { url } = await startGateway(`${FULL}${servers}`);
  const { page, complaints } = await openPage(`${url}/ui/servers/odd`);
  const program = page.locator(".facts > div", { has: page.getByText("Program") });
  await program.waitFor();
  expect(compact(await program.locator("dd").innerText())).toBe('{"en":"Odd"}7');
  expect(complaints).toEqual([]);
});
