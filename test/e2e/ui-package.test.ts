import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../core/testing/index.ts";
import { cleanEnvironment } from "../create-gateway/creator.ts";
import { namesIn, serve } from "../core/build/kit.ts";
import { startRegistry, type Registry } from "../fixtures/registry.ts";
import { openPage } from "../plugins/ui/kit.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SETTLED = { timeout: 15_000 };

/** A plugin of somebody else, with a panel that is described and one that is a script. */
const FILES = {
  "package.json": JSON.stringify({
    name: "acme-weather",
    version: "1.0.0",
    type: "module",
    exports: "./index.js",
    files: ["index.js", "panel.js"],
    peerDependencies: { propylon: "*" },
  }),
  "index.js": `import { definePlugin } from "propylon";
const READ = { access: "viewer", mutates: false, management: true };
export default definePlugin({
  name: "acme-weather",
  setup(gateway) {
    gateway.route("GET", "/_meta/weather", READ, () => ({ ok: true, cities: [{ name: "Oslo", degrees: 4 }] }));
    const columns = [{ label: "City", value: "/name" }, { label: "Degrees", value: "/degrees", as: "number" }];
    const table = { from: "GET /_meta/weather", rows: "/cities", columns };
    gateway.panel({ id: "cities", title: "Weather", place: "page", access: "viewer", view: { table } });
    gateway.panel({ id: "map", title: "Map", place: "page", access: "viewer", module: new URL("./panel.js", import.meta.url) });
  },
});
`,
  "panel.js": `export default async (element, { fetch }) => {
  const { cities } = await (await fetch("_meta/weather")).json();
  element.textContent = "A map of " + cities[0].name;
  return () => document.documentElement.setAttribute("data-undone", "yes");
};
`,
};

let registry: Registry;
let work: string;
let project: string;

/** Both packages as npm makes them, installed as npm does it, from a registry that nobody else answers for. */
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "ui-package-"));
  registry = await startRegistry();
  const author = join(work, "acme-weather");
  project = join(work, "gateway");
  await Promise.all([mkdir(author), mkdir(project)]);
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(author, name), text);
  const tarballs = await Promise.all([ROOT, author].map(pack));
  await writeFile(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await npm(project, "install", "--no-audit", "--no-fund", ...tarballs);
}, 300_000);

afterAll(async () => {
  await registry?.close();
  if (work) await rm(work, { recursive: true, force: true });
});

async function npm(cwd: string, ...words: readonly string[]): Promise<string> {
  const env = cleanEnvironment({
    npm_config_registry: registry.url,
    npm_config_cache: join(work, "cache"),
    npm_config_fetch_retries: "0",
  }) as NodeJS.ProcessEnv;
  return (await run("npm", [...words], { cwd, env, maxBuffer: 64 * 1024 * 1024 })).stdout;
}

/** What is built already is packed as it is. */
async function pack(folder: string): Promise<string> {
  const stdout = await npm(
    folder,
    "pack",
    "--ignore-scripts",
    "--json",
    "--pack-destination",
    work,
  );
  return join(work, (JSON.parse(stdout) as { filename: string }[])[0]!.filename);
}

const config = (port: number, plugin: string): string => `listeners: { main: { port: ${port} } }
management: { mutations: true }
plugins:
  ui: {}
  admin: {}
  gating: { state: false }
  events: {}
${plugin}`;

/** The program of the package, in a folder that has nothing of this repository. */
async function start(plugin: string): Promise<{ readonly url: string; readonly file: string }> {
  const port = await freePort();
  const file = join(project, "gateway.yaml");
  await writeFile(file, config(port, plugin));
  const child = spawn(join(project, "node_modules/.bin/propylon"), ["start"], {
    cwd: project,
    env: cleanEnvironment({}),
    stdio: "ignore",
  });
  onTestFinished(async () => {
    child.kill();
    if (child.exitCode === null) await once(child, "exit");
  });
  const url = `http://127.0.0.1:${port}`;
  const isLive = (): Promise<boolean> =>
    fetch(`${url}/ui/`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isLive, SETTLED).toBe(true);
  return { url, file };
}

/** Looks at some pages. Resolves to what others than the gateway were asked for, and to what the browser complained about. */
async function visit(url: string): Promise<readonly string[]> {
  const { page, requests, complaints } = await openPage(`${url}/ui/`);
  for (const [path, heading] of [
    ["/", "Overview"],
    ["/servers", "Servers"],
    ["/config", "Config"],
    ["/clients", "Clients"],
  ] as const) {
    await page.goto(`${url}/ui${path}`);
    await page.getByRole("heading", { name: heading, exact: true }).waitFor();
  }
  await page.getByText("live", { exact: true }).waitFor();
  // Those of others are whole addresses.
  return [...requests.filter((request) => !request.startsWith("GET /")), ...complaints];
}

it("15: the installed package has the whole web interface, and asks nobody else for anything", async () => {
  const { url } = await start("");
  expect(await visit(url)).toEqual([]);
});

it("15: the one file of propylon build has it, too, alone in a folder", async () => {
  // A project that builds installs them beside the gateway.
  for (const name of ["rolldown", "unplugin"])
    await symlink(join(ROOT, "node_modules", name), join(project, "node_modules", name));
  await writeFile(join(project, "gateway.yaml"), config(0, ""));
  const env = cleanEnvironment({}) as NodeJS.ProcessEnv;
  await run(join(project, "node_modules/.bin/propylon"), ["build"], { cwd: project, env });
  const alone = join(work, "alone");
  await cp(join(project, ".output"), alone, { recursive: true });
  expect(await namesIn(alone)).toEqual(["gateway.yaml", "server.mjs"]);
  const served = await serve(alone);
  onTestFinished(async () => void (await served.stop()));
  expect(await visit(served.url)).toEqual([]);
});

it("12: a plugin from a packed tarball brings a described panel and a script, and a reload removes both without a trace", async () => {
  const { url, file } = await start("  acme-weather: {}\n");
  const { page, complaints } = await openPage(`${url}/ui/`);
  await page.getByRole("link", { name: "Weather" }).click();
  await page.getByRole("row").getByText("Oslo").waitFor();
  await page.getByRole("link", { name: "Map" }).click();
  await page.getByText("A map of Oslo").waitFor();
  expect(complaints).toEqual([]);

  await writeFile(file, (await readFile(file, "utf8")).replace("  acme-weather: {}\n", ""));
  const headers = { "content-type": "application/json" };
  expect((await fetch(`${url}/_meta/reload`, { method: "POST", headers })).status).toBe(200);
  await page.getByRole("link", { name: "Weather" }).waitFor({ state: "detached" });
  await expect
    .poll(() => page.evaluate("document.documentElement.dataset.undone"), SETTLED)
    .toBe("yes");
  expect(await page.getByText("A map of Oslo").count()).toBe(0);
  const about = (await (await fetch(`${url}/_meta/ui`)).json()) as {
    panels: object[];
    routes: { path: string }[];
    plugins: string[];
  };
  expect(about.panels.filter((panel) => JSON.stringify(panel).includes("acme"))).toEqual([]);
  expect(about.routes.filter(({ path }) => path.includes("weather"))).toEqual([]);
  expect(about.plugins).not.toContain("acme-weather");
  expect((await fetch(`${url}/_meta/weather`)).status).toBe(404);
  expect((await fetch(`${url}/_meta/ui/panels/acme-weather/map`)).status).toBe(404);
});
