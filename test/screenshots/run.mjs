// npm run screenshots: every page of the web interface, from a gateway that runs, into docs/images. Needs Chromium.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { build, root } from "../../playground/ready.mjs";

const SIZES = { 1280: 800, 390: 844 };
const PAGES = {
  overview: "/",
  servers: "/servers",
  server: "/servers/everything",
  activity: "/activity",
  logs: "/logs?level=debug",
  config: "/config",
  clients: "/clients",
  docs: "/docs",
};

const server = (name) =>
  join(root, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
const CONFIG = {
  name: "research-team",
  listeners: { main: { host: "127.0.0.1", port: 0 } },
  servers: {
    everything: { command: "node", args: [server("everything")] },
    memory: { command: "node", args: [server("memory")] },
    thinking: { command: "node", args: [server("sequential-thinking")] },
    search: { url: "http://127.0.0.1:9/mcp" },
    drafts: { command: "node", args: ["drafts.mjs"], enabled: false },
  },
  management: { mutations: true },
  plugins: {
    ui: {},
    admin: {},
    gating: {},
    openapi: {},
    events: {},
    history: {},
    breaker: {},
    health: {},
  },
};

build();
const folder = mkdtempSync(join(tmpdir(), "screenshots-"));
const file = join(folder, "gateway.json");
writeFileSync(file, JSON.stringify(CONFIG));
const gateway = spawn(process.execPath, [join(root, "dist/plugins/cli.js"), "start", file], {
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const url = await readUrl(gateway.stdout);
  await makeCalls(url);
  await takeAll(url);
} finally {
  gateway.kill();
  await once(gateway, "exit");
  rmSync(folder, { recursive: true, force: true });
}

/** The line that says what runs is written once every server had its chance. */
async function readUrl(output) {
  let text = "";
  for await (const chunk of output) {
    text += chunk;
    const found = /"endpoints":\[\{"name":"mcp","url":"([^"]+)\/mcp"/.exec(text);
    if (found) return found[1];
  }
  throw new Error("The gateway did not start.");
}

async function makeCalls(url) {
  const call = (path, body) =>
    fetch(`${url}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  for (const a of [1, 2, 3, 4, 5, 6]) await call("everything/get-sum", { a, b: 7 });
  await call("memory/create_entities", {
    entities: [{ name: "Propylon", entityType: "gateway", observations: ["stands between"] }],
  });
  await call("memory/read_graph", {});
  await call("everything/get-sum", { a: "one" });
}

async function takeAll(url) {
  mkdirSync(join(root, "docs/images"), { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  for (const [width, height] of Object.entries(SIZES))
    for (const colorScheme of ["light", "dark"]) {
      const viewport = { width: Number(width), height };
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
      const page = await context.newPage();
      for (const [name, path] of Object.entries(PAGES)) {
        await page.goto(`${url}/ui${path}`);
        await page.getByText("live", { exact: true }).waitFor();
        await page.locator('main [aria-busy="true"]').first().waitFor({ state: "detached" });
        if (name === "logs") await page.locator("ol.log").waitFor({ timeout: 40_000 });
        await page.screenshot({
          path: join(root, `docs/images/${name}-${width}-${colorScheme}.png`),
        });
      }
      await context.close();
    }
  await browser.close();
}
