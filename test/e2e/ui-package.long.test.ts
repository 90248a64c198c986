import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../core/testing/index.ts";
import { cleanEnvironment } from "../create-gateway/creator.ts";
import { mortal } from "../fixtures/process/mortal.mjs";
import { namesIn, serve } from "../core/build/kit.ts";
import { unpack } from "../fixtures/untar.ts";
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
import { Panels } from "propylon/panels";
const READ = { access: "viewer", mutates: false, management: true };
export default definePlugin({
  name: "acme-weather",
  setup(gateway) {
    gateway.route("GET", "/_meta/weather", READ, () => ({ ok: true, cities: [{ name: "Oslo", degrees: 4 }] }));
    const columns = [{ label: "City", value: "/name" }, { label: "Degrees", value: "/degrees", as: "number" }];
    const table = { from: "GET /_meta/weather", rows: "/cities", columns };
    gateway.add(Panels, { id: "cities", title: "Weather", place: "page", access: "viewer", view: { table } });
    gateway.add(Panels, { id: "map", title: "Map", place: "page", access: "viewer", module: new URL("./panel.js", import.meta.url) });
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

let work: string;
let project: string;

/** Both packages as npm makes them; that npm installs them is a test of the release. */
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "ui-package-"));
  const author = join(work, "acme-weather");
  project = join(work, "gateway");
  await Promise.all([mkdir(author), mkdir(project)]);
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(author, name), text);
  await writeFile(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await Promise.all([ROOT, author].map(async (folder) => unpackInto(await pack(folder))));
  await linkDependencies();
}, 300_000);

afterAll(async () => {
  if (work) await rm(work, { recursive: true, force: true });
});

/** What is built already is packed as it is. */
async function pack(folder: string): Promise<string> {
  const words = ["pack", "--ignore-scripts", "--json", "--offline", "--pack-destination", work];
  const env = cleanEnvironment({}) as NodeJS.ProcessEnv;
  const { stdout } = await run("npm", words, { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 });
  return join(work, (JSON.parse(stdout) as { filename: string }[])[0]!.filename);
}

async function unpackInto(tarball: string): Promise<void> {
  const unpacked = await mkdtemp(join(work, "unpacked-"));
  unpack(tarball, unpacked);
  const { name } = await readManifest(join(unpacked, "package"));
  await mkdir(join(project, "node_modules"), { recursive: true });
  await rename(join(unpacked, "package"), join(project, "node_modules", name));
}

/** Those that propylon names, and no other package of the repository. */
async function linkDependencies(): Promise<void> {
  const { dependencies } = await readManifest(join(project, "node_modules/propylon"));
  for (const name of Object.keys(dependencies)) {
    const link = join(project, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(ROOT, "node_modules", name), link);
  }
}

async function readManifest(folder: string) {
  const text = await readFile(join(folder, "package.json"), "utf8");
  return JSON.parse(text) as { name: string; dependencies: Record<string, string> };
}

/** The program of the package. */
const program = (): string => join(project, "node_modules/propylon/dist/plugins/cli.js");

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
  const child = spawn(...mortal(process.execPath, [program(), "start"]), {
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
  await run(process.execPath, [program(), "build"], { cwd: project, env });
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
