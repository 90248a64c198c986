import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { freePort } from "../../core/testing/index.ts";
import { mortal } from "../fixtures/process/mortal.mjs";
import { until } from "../kit/until.ts";
import { main } from "./build.ts";

/** A gateway of a fleet, as a process of its own. */
export class Program {
  /** Of its listener. */
  readonly origin: string;
  /** Of its endpoint. */
  readonly url: string;
  readonly #config: string;
  #child: ChildProcess | undefined;
  isUp = false;

  constructor(
    folder: string,
    port: number,
    store: string,
    { plugins, servers }: { readonly plugins: object; readonly servers: object },
  ) {
    this.origin = `http://127.0.0.1:${port}`;
    this.url = `${this.origin}/mcp`;
    this.#config = join(folder, `gateway-${port}.json`);
    const config = { listeners: { main: { port } }, store, plugins, servers };
    writeFileSync(this.#config, JSON.stringify(config));
    onTestFinished(() => this.kill());
  }

  /** Of its process, while it has one. */
  get pid(): number {
    return this.#child!.pid!;
  }

  async start(): Promise<void> {
    const args = [main, "start", this.#config, "--log-level", "fatal"];
    const child = spawn(...mortal(process.execPath, args), {
      stdio: ["ignore", "ignore", "inherit"],
    });
    this.#child = child;
    const answers = (): Promise<boolean> =>
      fetch(this.url, { method: "OPTIONS" }).then(Boolean, () => false);
    await until(() => child.exitCode !== null || answers(), 60_000);
    if (child.exitCode !== null) throw new Error(`The gateway ended with ${child.exitCode}.`);
    this.isUp = true;
  }

  /** Sends a signal that it goes on after, e.g. SIGSTOP. */
  send(signal: NodeJS.Signals): void {
    this.#child!.kill(signal);
  }

  kill(): Promise<void> {
    return this.end("SIGKILL");
  }

  /** Resolves when it is gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.isUp = false;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }
}

/**
 * Starts gateways that share a plugin.
 *
 * @param plugin text of a module
 * @param stores address of the store, for each of them
 * @param others plugins by name, with their options
 * @param servers entries of servers
 */
export async function startFleet(
  plugin: string,
  stores: readonly string[],
  others: object = {},
  servers: object = {},
): Promise<Program[]> {
  // Below the package, so that the plugin finds it.
  const folder = mkdtempSync(
    join(fileURLToPath(new URL("../..", import.meta.url)), "node_modules/.fleet-"),
  );
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "tools.mjs"), plugin);
  const fleet: Program[] = [];
  const parts = { plugins: { "./tools.mjs": {}, ...others }, servers };
  for (const store of stores) fleet.push(new Program(folder, await freePort(), store, parts));
  await Promise.all(fleet.map((program) => program.start()));
  return fleet;
}
