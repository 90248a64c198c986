import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { appendFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { parse } from "yaml";
import { freePort } from "../../core/testing/index.ts";
import { mortal } from "../fixtures/process/mortal.mjs";
import { requireProgram } from "../fixtures/programs.ts";
import { until } from "../kit/until.ts";
import {
  createProject,
  readKey,
  remove,
  runScript,
  succeed,
  openWorkshop,
  type Workshop,
} from "./template-project.ts";
import { workFolder } from "./build.ts";

/** What a project has besides, as its owner would add it. */
export interface Additions {
  /** Text of a plugin's module. */
  readonly plugin: string;
  /** Lines of the config's plugins. */
  readonly config: string;
  /** Variables that its build needs. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Something that takes a moment, as a tool and over A2A. */
export const WORK: Additions = {
  plugin: `
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
`,
  config: `  ./plugins/work.ts: {}
  a2a:
    listener: main
    workDir: ./data
    # All are of one principal, and each is read again in the end.
    tasks: { maxTasks: 100000, maxShare: 1 }
    skills:
      - { id: work, description: Works., tool: { server: work, name: work, argument: text } }
`,
};

/** {@link WORK}, done by whichever gateway has room. */
export const QUEUED_WORK: Additions = {
  ...WORK,
  // That of the project hands out no work, which its build refuses.
  env: { STORE: "nats://127.0.0.1:4222" },
  config: WORK.config.replace("    workDir:", "    execution: queue\n    workDir:"),
};

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
  #child: ChildProcess | undefined;
  /** What it said on its standard error. */
  log = "";
  readonly url: string;

  constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.#env = env;
    this.url = `http://${env["GATEWAY_HOST"]}:${env["PORT"]}`;
    onTestFinished(async () => void (await this.end("SIGKILL")));
  }

  /** Resolves when it is ready. @param more variables of this life */
  async start(more: Readonly<Record<string, string>> = {}): Promise<void> {
    const child = spawn(...mortal(process.execPath, ["server.mjs"]), {
      cwd: this.#folder,
      env: {
        PATH: [join(this.#folder, "node_modules/.bin"), process.env["PATH"]].join(delimiter),
        HOME: this.#folder,
        NODE_ENV: "production",
        ...this.#env,
        ...more,
      },
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
    return fetch(`${this.url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Resolves with its exit code; `null` when a signal ended it. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
    return child.exitCode;
  }
}

/** The projects of a test file. */
export class Projects {
  readonly #built = new Map<Additions, Promise<string>>();
  #workshop: Promise<Workshop> | undefined;

  /** A project that is built, as nobody has used it. To build it is more work than to run it: that is done once. */
  async make(additions: Additions): Promise<string> {
    const built = this.#built.get(additions) ?? this.#build(additions);
    this.#built.set(additions, built);
    const folder = await workFolder();
    onTestFinished(() => remove(folder));
    const directory = join(folder, "gw");
    await cp(await built, directory, { recursive: true, verbatimSymlinks: true });
    symlinkSync(join(directory, "node_modules"), join(directory, ".output/node_modules"));
    return directory;
  }

  async #build({ plugin, config, env }: Additions): Promise<string> {
    this.#workshop ??= workFolder().then(openWorkshop);
    const workshop = await this.#workshop;
    const flags = ["--yes", "--with=cluster", "--no-git"];
    const directory = await createProject(workshop, `gw-${this.#built.size}`, flags);
    writeFileSync(join(directory, "plugins/work.ts"), plugin);
    appendFileSync(join(directory, "gateway.yaml"), config);
    await succeed(runScript(directory, "build", env));
    return directory;
  }

  async remove(): Promise<void> {
    const workshop = await this.#workshop;
    if (workshop) await remove(workshop.folder);
  }
}

/** Those of the file that calls it. */
export function useProjects(): Projects {
  const projects = new Projects();
  afterAll(() => projects.remove());
  return projects;
}

/** What compose.yaml of a project of `--with cluster` starts, as processes of this machine: its configs are the ones that it mounts. */
export interface Cluster {
  /** Of the balancer. */
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly gateways: readonly Gateway[];
}

/** @param store address of the store */
export async function startCluster(
  projects: Projects,
  store: string,
  additions = WORK,
): Promise<Cluster> {
  requireProgram("haproxy");
  const directory = await projects.make(additions);
  const key = await readKey(directory);
  const { services } = parse(readFileSync(join(directory, "compose.yaml"), "utf8")) as Compose;
  const { balancer, ...others } = services;
  const names = Object.keys(others).filter((name) => name.startsWith("gateway"));
  // One port for all as in containers, on addresses of loopback.
  const port = String(await freePort());
  // The gateways have it at other addresses: until the balancer starts, another test could take it at this one.
  const holder = createServer().listen(Number(port), "127.0.0.1");
  onTestFinished(() => void holder.close());
  const scrape = String(await freePort());
  const hosts = new Map(names.map((name, index) => [name, `127.0.0.${index + 2}`]));
  const gateways = names.map((name) => {
    const own = { GATEWAY_HOST: hosts.get(name)!, PORT: port, STORE: store, PROXIES: "127.0.0.1" };
    const env = { ...others[name]!.environment, ...own, SCRAPE_PORT: scrape, GATEWAY_KEY: key };
    return new Gateway(join(directory, ".output"), { ...env, POSTGRES_PASSWORD: "of-no-use" });
  });
  // They share a folder here, in which gating looks for a state file of before, one gateway at a time.
  for (const gateway of gateways) await gateway.start();
  const given = Object.entries(balancer!.environment).map(([name, value]) => [
    name,
    hosts.get(value) ?? value,
  ]);
  holder.close();
  await once(holder, "close");
  const listen = { LISTEN: `127.0.0.1:${port}`, GATEWAY_PORT: port };
  const url = `http://127.0.0.1:${port}`;
  await startBalancer(join(directory, "deploy/haproxy.cfg"), url, {
    ...(Object.fromEntries(given) as Record<string, string>),
    ...listen,
  });
  return { url, headers: { authorization: `Bearer ${key}` }, gateways };
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
