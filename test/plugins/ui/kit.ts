import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import type { AnyPlugin } from "../../../core/index.ts";
import { setupGateway, type GatewaySetup, type TestGateway } from "../../../core/testing/index.ts";
import { openBrowser } from "../../fixtures/chromium.ts";
import { makeFolder } from "../../kit/folder.ts";

/** A page of the web interface in a real browser. */
export interface OpenPage {
  readonly page: Page;
  /** Requests that the page made, in order: `GET /_meta/servers`. */
  readonly requests: readonly string[];
  /** What the browser complained about: errors of scripts, and what the content policy or Trusted Types stopped. */
  readonly complaints: readonly string[];
}

/** Opens a page; one browser serves a whole file of tests. Skips the running test where there is no Chromium. */
export async function openPage(
  address: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const browser = await openBrowser();
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    ...options,
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => {
    const { origin, pathname } = new URL(request.url());
    const where = new URL(address).origin === origin ? pathname : request.url();
    requests.push(`${request.method()} ${where}`);
  });
  page.on("download", (download) => requests.push(`GET ${new URL(download.url()).pathname}`));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      complaints.push(message.text());
  });
  page.on("response", (response) => {
    if (response.status() >= 400)
      complaints.push(`${response.status()} ${response.request().method()} ${response.url()}`);
  });
  await page.goto(address);
  return { page, requests, complaints };
}

/** A gateway that runs from a file, so that it can be changed from the page. */
export async function startGateway(
  text: string,
  plugins: readonly AnyPlugin[] = [],
  more: Pick<GatewaySetup, "log"> = {},
): Promise<TestGateway & { readonly file: string }> {
  const folder = makeFolder();
  const file = join(folder, "gateway.yaml");
  await writeFile(file, text);
  return { ...(await setupGateway({ file, plugins, client: false, ...more })), file };
}

const CLI = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));

/** Runs a command that was copied from a page, in a shell; `npx propylon` is the build of this checkout there. */
export async function runCopied(
  command: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = makeFolder();
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${CLI}" "$@"\n`;
  await writeFile(join(folder, "npx"), npx, { mode: 0o755 });
  const PATH = `${folder}${delimiter}${process.env["PATH"]}`;
  const { stdout } = await promisify(execFile)("sh", ["-c", command], {
    cwd: folder,
    env: { PATH, HOME: folder, ...env },
  });
  return stdout;
}

/** What a button copies. Two of one name are told apart by what they stand in. */
export async function copiedBy(button: Locator): Promise<string> {
  const page = button.page();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  // Whatever was copied before it.
  await page.evaluate("navigator.clipboard.writeText('')");
  await button.click();
  const read = (): Promise<string> => page.evaluate("navigator.clipboard.readText()");
  await expect.poll(read).not.toBe("");
  return read();
}

/** What every page has something to show of. */
export const FULL = `name: tested
management: { mutations: true }
plugins:
  ui: {}
  admin: {}
  gating: { state: false }
  events: {}
  history: {}
  breaker: {}
`;
