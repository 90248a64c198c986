// npm run screenshots: every page of the web interface, from a gateway that runs, into docs/images. Needs Chromium.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { build, root } from "../../playground/ready.mjs";
import { startModel } from "../fixtures/model/model.mjs";
import { CHROMIUM, findProgram } from "../fixtures/program-path.mjs";

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
  instances: "/panels/console/instances",
  workspaces: "/panels/console/workspaces",
  agents: "/panels/console/agents",
  chat: "/panels/console/chat?workspace=ws_work&settings=1",
  try: "/try/everything/get-sum",
  access: "/access?server=everything&tool=get-sum",
};
/** Pages of a gateway that issues tokens; its admin signs in. */
const ISSUER_PAGES = { tokens: "/panels/team-auth/tokens", teams: "/panels/team-auth/teams" };
const KEY = "ppk_screenshots_of_an_administrator";

const server = (name) =>
  join(root, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
const folder = mkdtempSync(join(tmpdir(), "screenshots-"));
const model = await startModel({
  script: ({ turn }) =>
    turn === 0
      ? { calls: [{ name: "memory_read_graph", args: {} }] }
      : { text: "Propylon is a gateway: it stands between clients and servers." },
});
const CONFIG = {
  store: `sqlite:${join(folder, "gateway.db")}`,
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
  agents: {
    research: {
      title: "Research Agent",
      description: "Looks things up, and says where it found them.",
      instructions: "Look things up.",
      servers: ["memory"],
    },
    planner: {
      title: "Planner",
      description: "Cuts a task into steps.",
      instructions: "Plan.",
      servers: ["thinking"],
    },
  },
  plugins: {
    agents: {
      providers: { scripted: { type: "openai-compatible", baseUrl: model.url } },
      model: "scripted/scripted",
    },
    registry: {},
    progress: {},
    sqlite: {},
    console: { allowedAddresses: ["127.0.0.1"], healthInterval: "1s" },
    ui: {},
    admin: { allowConfigEdits: true },
    access: {},
    gating: {},
    openapi: {},
    events: {},
    history: {},
    breaker: {},
    health: {},
  },
};

const ISSUER = {
  store: `sqlite:${join(folder, "issuer.db")}`,
  name: "issuer",
  listeners: { main: { host: "127.0.0.1", port: 0 } },
  management: { mutations: true },
  auth: {
    keys: {
      admin: {
        role: "admin",
        hash: `sha256:${createHash("sha256").update(KEY).digest("hex")}`,
      },
    },
  },
  plugins: {
    ui: {},
    admin: {},
    gating: { state: false },
    events: {},
    sessions: {},
    sqlite: {},
    "team-auth": { secretKeys: ["a secret of the pictures that is long enough"] },
  },
};

build();
try {
  await withGateway(CONFIG, async (url) => {
    await makeCalls(url);
    await makeTeam(url);
    await takeAll(url, PAGES, async () => {});
  });
  await withGateway(ISSUER, async (url) => {
    await makeDirectory(url);
    await takeAll(url, ISSUER_PAGES, signIn);
  });
} finally {
  await model.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Runs a gateway while something is done with it. */
async function withGateway(config, work) {
  const file = join(folder, `${config.name}.json`);
  writeFileSync(file, JSON.stringify(config));
  const gateway = spawn(process.execPath, [join(root, "dist/plugins/cli.js"), "start", file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await work(await readUrl(gateway.stdout));
  } finally {
    gateway.kill();
    await once(gateway, "exit");
  }
}

/** People, libraries, tokens and a team. */
async function makeDirectory(url) {
  const post = (path, body) =>
    fetch(`${url}/_meta/team-auth/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  for (const id of ["ada", "grace"]) await post("users", { id });
  for (const [uid, owner, workspace_id] of [
    ["papers", "ada", "ws-research"],
    ["contracts", "ada", "ws-legal"],
    ["handbook", "grace", "ws-research"],
  ])
    await post("libraries", { uid, owner, workspace_id });
  await post("tokens", { user: "ada", name: "laptop", libraries: ["papers", "contracts"] });
  await post("tokens", { user: "grace", name: "notebook", libraries: ["handbook"] });
  const id = "a3f10000-0000-4000-8000-00000000000a";
  await post("teams", { id, name: "Kottos" });
}

async function signIn(page, url) {
  await page.goto(`${url}/ui/`);
  await page.getByLabel("Key or token").fill(KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("live", { exact: true }).waitFor();
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

/** The console registers this gateway itself, whose agents are a team. */
async function makeTeam(url) {
  const headers = { "content-type": "application/json" };
  const create = async (path, value) => {
    const body = JSON.stringify(value);
    return (await fetch(`${url}/api/v1/${path}`, { method: "POST", headers, body })).json();
  };
  const { id } = await create("instances", { registry_url: url, name: "Kottos" });
  await create("workspaces", { id: "ws_work", name: "Work" });
  const attach = `${url}/api/v1/workspaces/ws_work/teams/${id}`;
  await fetch(attach, { method: "PUT", headers, body: "{}" });
}

/** A message and its answer, so that there is a chat to be seen. */
async function talk(page) {
  const message = page.getByLabel("Message", { exact: true });
  await message.fill("What is Propylon?");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("it stands between").waitFor();
}

async function takeAll(url, pages, prepare) {
  mkdirSync(join(root, "docs/images"), { recursive: true });
  const browser = await chromium.launch({
    executablePath: findProgram(...CHROMIUM),
    args: ["--no-sandbox"],
  });
  for (const [width, height] of Object.entries(SIZES))
    for (const colorScheme of ["light", "dark"]) {
      const viewport = { width: Number(width), height };
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
      const page = await context.newPage();
      await prepare(page, url);
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(`${url}/ui${path}`);
        await page.getByText("live", { exact: true }).waitFor();
        await page.locator('main [aria-busy="true"]').first().waitFor({ state: "detached" });
        if (name === "logs") await page.locator("ol.log").waitFor({ timeout: 40_000 });
        if (name === "chat") await talk(page);
        await page.screenshot({
          path: join(root, `docs/images/${name}-${width}-${colorScheme}.png`),
        });
      }
      await context.close();
    }
  await browser.close();
}
