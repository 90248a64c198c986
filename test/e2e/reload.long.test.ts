import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import {
  createFileGateway,
  createGateway,
  type GatewayOptions,
  type GatewayConfig,
  type GatewayConfigInput,
  type GatewayError,
  type Gateway,
  definePlugin,
} from "propylon";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { replaceFile } from "../../core/kit/replace-file.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { Speaker, type Era, type OpenStream } from "./speaker.ts";

const SERVER = fileURLToPath(new URL("../fixtures/process/scripted-server.mjs", import.meta.url));
const CACHE = fileURLToPath(new URL("../../node_modules/.cache/propylon", import.meta.url));
const RELOADS = 50;
const ERAS: readonly Era[] = ["legacy", "modern"];
const WORKERS = 6;

const greeter = definePlugin({
  name: "local",
  config: z.strictObject({ greeting: z.string() }),
  setup(gateway) {
    const { greeting } = gateway.config;
    gateway.tool("greet", { description: "Greets.", run: () => greeting });
  },
});

/** The same as a file. */
const PLUGIN_FILE = `
import { z } from "zod";
export default {
  name: "local",
  config: z.strictObject({ greeting: z.string() }),
  setup: (gateway) => gateway.tool("greet", { description: "Greets.", run: () => gateway.config.greeting }),
};
`;

let web: ChildProcess;
let webUrl: string;

beforeAll(async () => {
  web = spawn(process.execPath, [SERVER, "--http", "--name", "web"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface({ input: web.stdout! }), "line")) as [string];
  webUrl = (JSON.parse(line) as { url: string }).url;
});
afterAll(() => web.kill("SIGKILL"));

/** Configs of which every one differs from the one before in its plugin, and in a server that is changed, added or removed. */
function configOf(round: number): GatewayConfigInput {
  const stdio = (name: string, ...more: string[]) => ({
    command: process.execPath,
    args: [SERVER, "--name", name, ...more],
  });
  return {
    listeners: { main: { port: 0 } },
    endpoints: { mcp: { naming: "server" } },
    servers: {
      steady: stdio("steady"),
      web: { url: webUrl },
      changing: stdio("changing", "--instructions", `round ${Math.floor(round / 5)}`),
      ...(round % 4 > 1 && { guest: stdio("guest") }),
    },
    plugins: { local: { greeting: `hello ${round}` } },
  };
}

async function startGateway(
  config: GatewayConfigInput | GatewayConfig,
  options: GatewayOptions = { plugins: { local: greeter } },
): Promise<Gateway> {
  const gateway = await createGateway(config, { ...options, log: pino({ level: "silent" }) });
  await gateway.listen();
  await expect
    .poll(() => [...gateway.servers.values()].map(({ status }) => status.state))
    .not.toContain("connecting");
  return gateway;
}

/** Calls everything that every config has, until told to stop. */
class Load {
  calls = 0;
  readonly failures: string[] = [];
  #stopped = false;
  readonly #workers: Promise<void>[];

  constructor(speakers: readonly Speaker[]) {
    this.#workers = Array.from({ length: WORKERS }, (_, n) =>
      this.#work(speakers[n % speakers.length]!, n),
    );
  }

  async #work(speaker: Speaker, worker: number): Promise<void> {
    const targets = ["steady__echo", "web__echo", "changing__echo", "local__greet"];
    for (let n = worker; !this.#stopped; n++) {
      const target = targets[n % targets.length]!;
      const text = `${worker}-${n}`;
      try {
        const said = await speaker.call(target, target === "local__greet" ? {} : { text });
        const right = target === "local__greet" ? /^hello \d+$/.test(said) : said === text;
        if (!right) this.failures.push(`${target} said ${said}`);
      } catch (error) {
        this.failures.push(String(error));
      }
      this.calls++;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#workers);
  }
}

async function factsOf(
  speaker: Speaker,
  server: string,
): Promise<{ pid: number; session?: string }> {
  return JSON.parse(await speaker.call(`${server}__facts`)) as { pid: number; session?: string };
}

describe("acceptance 5: reload under load", () => {
  it(
    `${RELOADS} reloads: no failed call, no dropped stream, unchanged servers keep process and session`,
    { timeout: PATIENCE * 120_000 },
    async () => {
      const gateway = await startGateway(configOf(0));
      const url = gateway.endpoints[0]!.url;
      const speakers = await Promise.all(ERAS.map((era) => Speaker.open(url, era)));
      const [legacy, modern] = speakers as [Speaker, Speaker];
      const before = await Promise.all([factsOf(legacy, "steady"), factsOf(legacy, "web")]);
      const streams: OpenStream[] = await Promise.all(speakers.map((speaker) => speaker.listen()));
      let finished = 0;
      const long = speakers.flatMap((speaker) =>
        ["steady", "web"].map(async (server) => {
          const reply = await speaker.request("tools/call", {
            name: `${server}__progress`,
            arguments: { count: 100, every: 30 },
            _meta: { progressToken: `${server}-long` },
          });
          finished++;
          return reply;
        }),
      );
      const load = new Load(speakers);
      for (let round = 1; round <= RELOADS; round++) {
        const report = await gateway.apply(configOf(round));
        expect(report.servers.unchanged).toEqual(expect.arrayContaining(["steady", "web"]));
        expect(report.plugins.changed).toEqual(["local"]);
        const done = load.calls + 40;
        await expect.poll(() => load.calls, { interval: 5 }).toBeGreaterThan(done);
      }
      expect(gateway.info.generation).toBe(RELOADS + 1);
      const replies = await Promise.all(long);
      await load.stop();
      expect(load.failures.slice(0, 5)).toEqual([]);
      expect(finished).toBe(4);
      for (const { messages } of replies) {
        const steps = messages
          .filter(({ method }) => method === "notifications/progress")
          .map(({ params }) => (params as { progress: number }).progress);
        expect(steps).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
        expect(messages.at(-1)).toMatchObject({ result: { content: [{ text: "done" }] } });
      }
      expect(streams.map(({ ended }) => ended)).toEqual([false, false]);
      for (const { text } of streams) expect(text).toContain("notifications/tools/list_changed");
      expect(await Promise.all([factsOf(legacy, "steady"), factsOf(modern, "web")])).toMatchObject(
        before.map(({ pid, session }) => ({ pid, ...(session !== undefined && { session }) })),
      );
      expect(await legacy.call("local__greet")).toBe(`hello ${RELOADS}`);
      for (const stream of streams) stream.close();
      await Promise.all(speakers.map((speaker) => speaker.close()));
      await gateway.close({ grace: 2_000 });
    },
  );

  it(
    "50 corrupt or empty configs: the old one serves, each error names its place, the next good one is taken",
    { timeout: PATIENCE * 60_000 },
    async () => {
      // Inside the repository, so that the plugin finds zod.
      await mkdir(CACHE, { recursive: true });
      const folder = await mkdtemp(join(CACHE, "reload-"));
      const file = join(folder, "gateway.yaml");
      const write = (greeting: string): string =>
        `listeners:\n  main: { port: 0 }\nservers: {}\nplugins:\n  ./local.mjs:\n    greeting: ${greeting}\n`;
      await writeFile(join(folder, "local.mjs"), PLUGIN_FILE);
      await writeFile(file, write("first"));
      const gateway = await createFileGateway(file, { log: pino({ level: "silent" }) });
      await gateway.listen();
      const speaker = await Speaker.open(gateway.endpoints[0]!.url, "legacy");
      const failures: GatewayError[] = [];
      gateway.hook("reload:failed", (error) => void failures.push(error));
      const watcher = await gateway.watch();
      const broken = corruptions(write("second"));
      expect(broken).toHaveLength(50);
      const quiet: string[] = [];
      for (const [index, text] of broken.entries()) {
        // As a whole: the watcher would see, and tell of, a file that is half written.
        await replaceFile(file, text);
        await watcher.look();
        expect(failures).toHaveLength(index + 1);
        const { code, place, message } = failures[index]!;
        expect(code).toBe("reload_failed");
        const named = place?.file !== undefined && (text.trim() === "" || place.line !== undefined);
        if (!named) quiet.push(`${JSON.stringify(text)}: ${message}`);
        expect(await speaker.call("greet")).toBe("first");
      }
      expect(quiet).toEqual([]);
      expect(gateway.info.generation).toBe(1);
      await writeFile(file, write("third"));
      await watcher.look();
      expect(await speaker.call("greet")).toBe("third");
      expect(failures).toHaveLength(50);
      await speaker.close();
      await gateway.close({ grace: 1_000 });
      await rm(folder, { recursive: true });
    },
  );
});

/** Fifty ways to spoil a file, each certain to be no config; no two the same. */
function corruptions(good: string): string[] {
  const lines = good.trimEnd().split("\n");
  const inserted = [
    "\tx: 1",
    "  - x",
    ": :",
    "}",
    "]",
    '"',
    "servers: {}",
    "%%%",
    "@x",
    "`x`",
    "serverz: {}",
    "plugin: {}",
    "limits: { body: fast }",
    "log: { level: loud }",
  ];
  const insertions = inserted.flatMap((noise) =>
    [
      [noise, ...lines],
      [...lines, noise],
    ].map((all) => `${all.join("\n")}\n`),
  );
  const replacements: readonly (readonly [string, string])[] = [
    ["port: 0", "port: zero"],
    ["port: 0", "port: -1"],
    ["port: 0", "port: 70000"],
    ["port: 0", "prot: 0"],
    ["{ port: 0 }", "{ port: 0"],
    ["{ port: 0 }", "port: 0 }"],
    ["servers: {}", "servers: []"],
    ["servers: {}", "servers: 7"],
    ["servers: {}", "servers: { a: { comand: x } }"],
    ["servers: {}", "servers: { a: { url: nowhere } }"],
    ["greeting: second", "greeting: [1]"],
    ["greeting: second", "greetings: second"],
    ["greeting: second", "greeting: ${NOBODY_SET_THIS}"],
    ["plugins:", "plugins: !!js/function x"],
    ["plugins:", "plugins"],
    ["  ./local.mjs:", "  ./nobody.mjs:"],
  ];
  const whole = ["", "\n", "# nothing\n", "null\n", "42\n", "[]\n", "hello\n", "\0\0\0"];
  return [
    ...whole,
    ...replacements.map(([from, to]) => good.replace(from, to)),
    ...insertions,
  ].slice(0, 50);
}
