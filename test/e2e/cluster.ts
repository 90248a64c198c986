import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { parse } from "yaml";
import { freePort } from "../../core/testing/index.ts";
import { mortal } from "../fixtures/process/mortal.mjs";
import { requireProgram } from "../fixtures/programs.ts";
import { until } from "../fixtures/until.ts";
import { createProject, readKey, remove, run, succeed, openWorkshop } from "./template-project.ts";
import { workFolder } from "./build.ts";

/** What a project has besides, as its owner would add it: something that takes a moment, as a tool and over A2A. */
const PLUGIN = `
import { setTimeout } from "node:timers/promises";
import { definePlugin } from "propylon";
import { z } from "zod";
export default definePlugin({
  name: "work",
  setup(gateway) {
    gateway.tool("work", {
      description: "Says what it was told, after a while.",
      input: z.object({ text: z.string() }),
      async run({ text }) {
        await setTimeout(50 + Math.random() * 400);
        return text;
      },
    });
  },
});
`;
const PLUGINS = `  ./plugins/work.ts: {}
  a2a:
    listener: main
    workDir: ./data
    skills:
      - { id: work, description: Works., tool: { server: work, name: work, argument: text } }
`;

/** What compose.yaml of a project says of its services. */
interface Compose {
  readonly services: Readonly<
    Record<string, { readonly environment: Readonly<Record<string, string>> }>
  >;
}

/** A process that is started again when it was killed. */
export class Gateway {
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #ready: string;
  #child: ChildProcess | undefined;
  /** What it said on its standard error. */
  log = "";

  constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.#env = env;
    this.#ready = `http://${env["GATEWAY_HOST"]}:${env["PORT"]}/readyz`;
    onTestFinished(() => this.end("SIGKILL"));
  }

  /** Resolves when it is ready. */
  async start(): Promise<void> {
    const child = spawn(...mortal(process.execPath, ["server.mjs"]), {
      cwd: this.#folder,
      env: { PATH: process.env["PATH"], HOME: this.#folder, NODE_ENV: "production", ...this.#env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    child.stderr.on("data", (chunk: Buffer) => (this.log += chunk.toString()));
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`The gateway ended: ${this.log}`);
      return this.isReady();
    }, 60_000);
  }

  isReady(): Promise<boolean> {
    return fetch(this.#ready).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }
}

/** What compose.yaml of a project of `--with cluster` starts, as processes of this machine: its configs are the ones that it mounts. */
export interface Cluster {
  /** Of the balancer. */
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly gateways: readonly Gateway[];
}

/** @param store address of the store */
export async function startCluster(store: string): Promise<Cluster> {
  requireProgram("haproxy");
  const directory = await makeProject();
  const key = await readKey(directory);
  const { services } = parse(readFileSync(join(directory, "compose.yaml"), "utf8")) as Compose;
  const { balancer, ...others } = services;
  const names = Object.keys(others).filter((name) => name.startsWith("gateway"));
  // One port for all as in containers, on addresses of loopback.
  const port = String(await freePort());
  const scrape = String(await freePort());
  const hosts = new Map(names.map((name, index) => [name, `127.0.0.${index + 2}`]));
  const gateways = names.map((name) => {
    const own = { GATEWAY_HOST: hosts.get(name)!, PORT: port, STORE: store, PROXIES: "127.0.0.1" };
    const env = { ...others[name]!.environment, ...own, SCRAPE_PORT: scrape, GATEWAY_KEY: key };
    return new Gateway(join(directory, ".output"), { ...env, POSTGRES_PASSWORD: "of-no-use" });
  });
  await Promise.all(gateways.map((gateway) => gateway.start()));
  const given = Object.entries(balancer!.environment).map(([name, value]) => [
    name,
    hosts.get(value) ?? value,
  ]);
  const listen = { LISTEN: `127.0.0.1:${port}`, GATEWAY_PORT: port };
  const url = `http://127.0.0.1:${port}`;
  await startBalancer(join(directory, "deploy/haproxy.cfg"), url, {
    ...(Object.fromEntries(given) as Record<string, string>),
    ...listen,
  });
  return { url, headers: { authorization: `Bearer ${key}` }, gateways };
}

async function makeProject(): Promise<string> {
  const workshop = await openWorkshop(await workFolder());
  onTestFinished(() => remove(workshop.folder));
  const directory = await createProject(workshop, "gw", ["--yes", "--with=cluster", "--no-git"]);
  writeFileSync(join(directory, "plugins/work.ts"), PLUGIN);
  appendFileSync(join(directory, "gateway.yaml"), PLUGINS);
  await succeed(run(directory, ["npm", "run", "--silent", "build"]));
  symlinkSync(join(directory, "node_modules"), join(directory, ".output/node_modules"));
  return directory;
}

async function startBalancer(
  config: string,
  url: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const child = spawn(...mortal("haproxy", ["-db", "-f", config]), {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`HAProxy ended: ${said}`);
    return fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
}
