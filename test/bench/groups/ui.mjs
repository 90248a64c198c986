import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { CHROMIUM, findProgram } from "../../fixtures/program-path.mjs";
import { Process, freePort } from "../process.mjs";
import { spread } from "../table.mjs";

const CLI = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));
const SERVERS = 20;
const TOOLS = 1_000;
/** Calls per second that the page Activity is told of. */
const RATE = 100;
/** How often the heap is looked at while they run. */
const LOOK_MS = 5_000;
/** Every twelfth look is told: one a minute. */
const LOGGED = 12;
const PLUGINS = { admin: {}, gating: {}, events: {}, history: {}, breaker: {} };
const MB = 2 ** 20;

/** The pages that show most: every server, every tool of one, every call. */
const HEAVIEST = { servers: "/servers", server: "/servers/s1", activity: "/activity" };

/** The web interface of a gateway with 20 servers of 1,000 tools each, in Chromium. */
export async function ui(bench) {
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox"] });
  const upstream = await bench.upstream();
  const url = (name) => `http://127.0.0.1:${upstream.port}/mcp?tools=${TOOLS}&server=${name}`;
  const names = Array.from({ length: SERVERS }, (_, index) => `s${index}`);
  const gateway = await bench.gateway({
    servers: {
      // What is called; the other servers have nothing of these names.
      called: { url: `http://127.0.0.1:${upstream.port}/mcp` },
      ...Object.fromEntries(names.map((name) => [name, { url: url(name) }])),
    },
    plugins: { ui: {}, ...PLUGINS },
  });
  await bench.drive(gateway, { dialect: "legacy", call: "echo", connections: 8, ms: 500 });
  const pages = `http://127.0.0.1:${gateway.port}/ui`;
  for (const [name, path] of Object.entries(HEAVIEST))
    await load(bench, browser, name, pages + path);
  await filter(bench, browser, `${pages}/servers/s1`);
  await stay(bench, browser, gateway, `${pages}/activity`);
  await browser.close();
  await bench.release([upstream, gateway]);
  await cost(bench);
}

function chromiumPath() {
  const path = findProgram(...CHROMIUM);
  if (!path) throw new Error("Chromium is not installed");
  return path;
}

/** What a page counts of itself: layout shifts that nobody caused (the sum of their scores). */
const COUNT_SHIFTS = `globalThis.shifts = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shifts += entry.value;
  }).observe({ type: "layout-shift", buffered: true });`;

/** Script time of a page from an empty cache to its first rows; its layout shifts and requests to the last. */
async function load(bench, browser, name, address) {
  const samples = [];
  for (let round = 0; round <= bench.options.rounds; round++) {
    const { page, session, context } = await open(browser);
    await page.addInitScript(COUNT_SHIFTS);
    let requests = 0;
    page.on("request", () => requests++);
    await page.goto(address);
    await shown(page);
    const script = (await metricsOf(session)).ScriptDuration * 1_000;
    await settled(page);
    const shifts = await page.evaluate("globalThis.shifts");
    if (round > 0) samples.push({ script, shifts, requests });
    await context.close();
  }
  const of = (figure) => samples.map((sample) => sample[figure]);
  bench.figure(`ui_${name}_script_ms`, of("script"));
  bench.figure(`ui_${name}_shifts`, of("shifts"));
  bench.figure(`ui_${name}_requests`, of("requests"));
  bench.options.log(`ui ${name}: ${JSON.stringify(spread(of("script")))} ms of script`);
}

/** From a key in the search field to the next picture, in a list of 1,000 tools. */
async function filter(bench, browser, address) {
  const { page, context } = await open(browser);
  await page.goto(address);
  await settled(page);
  const field = page.locator("input[type=search]").first();
  await field.focus();
  await page.evaluate(`document.querySelector("input[type=search]").addEventListener("input", (event) => {
    requestAnimationFrame(() => setTimeout(() => (globalThis.times ??= []).push(performance.now() - event.timeStamp)));
  })`);
  for (const key of "tool_999".repeat(3)) await field.press(key);
  await page.waitForFunction("globalThis.times?.length === 24");
  // The first key meets code that was never run.
  bench.figure("ui_filter_ms", (await page.evaluate("globalThis.times")).slice(1));
  await context.close();
}

/** The heap of a page that is told of 100 calls a second: at the end, and what it grows by. */
async function stay(bench, browser, gateway, address) {
  const ms = bench.options.long ? 3_600_000 : bench.options.quick ? 30_000 : 180_000;
  const { page, session, context } = await open(browser);
  await page.goto(address);
  await settled(page);
  const looks = [];
  const began = performance.now();
  let isOver = false;
  const look = async () => {
    while (!isOver) {
      await session.send("HeapProfiler.collectGarbage");
      const { usedSize } = await session.send("Runtime.getHeapUsage");
      looks.push([performance.now() - began, usedSize / MB, (await metricsOf(session)).Nodes]);
      await setTimeout(LOOK_MS);
    }
  };
  const looking = look();
  await bench.drive(gateway, { dialect: "legacy", call: "echo", connections: 8, rate: RATE, ms });
  isOver = true;
  await looking;
  // The first third fills caches.
  const steady = looks.slice(Math.floor(looks.length / 3));
  bench.figure("ui_heap_mb", [looks.at(-1)[1]]);
  bench.figure("ui_heap_growth_mb", [slopeOf(steady) * 600_000]);
  for (const [at, heap, nodes] of looks.filter((_, index) => index % LOGGED === 0))
    bench.options.log(`ui ${Math.round(at / 1_000)} s: ${heap.toFixed(2)} MB, ${nodes} nodes`);
  await context.close();
}

/** Least squares. */
function slopeOf(points) {
  const mean = (index) => points.reduce((sum, point) => sum + point[index], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const over = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0);
  return over / points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
}

async function open(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  // CPU time of the page's thread: other work on the machine does not make it longer.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return { page, session, context };
}

/** The first rows are there. */
async function shown(page) {
  await page.locator("main tr, main .card").nth(5).waitFor();
}

/** All rows are there, and the page hears of changes. */
async function settled(page) {
  await shown(page);
  await page.getByText("live", { exact: true }).waitFor();
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: "detached" });
}

async function metricsOf(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
}

/** What the plugin costs a gateway that nobody looks at. */
async function cost(bench) {
  const folder = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  const startWith = async (plugins) => {
    const port = await freePort();
    const file = join(folder, "gateway.json");
    const config = { listeners: { main: { port } }, plugins, log: { level: "warn" } };
    writeFileSync(file, JSON.stringify(config));
    const started = await Process.launch([CLI, "start", file], { port });
    const sample = { wall: started.startWall, cpu: started.startCpu * 1_000, rss: started.rss() };
    await started.stop();
    return sample;
  };
  const samples = await bench.interleave("start with the web interface", {
    "without ui": () => startWith(PLUGINS),
    "with ui": () => startWith({ ui: {}, ...PLUGINS }),
  });
  const added = (figure) =>
    samples["with ui"].map(
      (sample, round) => sample[figure] - samples["without ui"][round][figure],
    );
  bench.figure(
    "ui_start_ms",
    added("cpu").map((cpu) => cpu / 1_000),
  );
  bench.figure("ui_rss_mb", added("rss"));
  rmSync(folder, { recursive: true });
}
