import { toGatewayError } from "propylon";
import { backoffDelay, pause } from "propylon/kit";
import { type Child, spawnChild } from "propylon/process";
import type { Settings } from "../settings.ts";

const RETRY = { initial: 500, max: 30_000 };
/** A child that ran this long is not one that fails at every start, in milliseconds. */
const STEADY_MS = 60_000;

/** What the container interface of contract v1 says to a runtime; the rest of our environment is not its business. */
const CONTRACT_VARIABLES = [
  "WORK_DIR",
  "GITHUB_TOKEN",
  "TERMINATION_GRACE_PERIOD",
  "STARTUP_TIMEOUT",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/** Whom it tells. */
export interface ChildReports {
  readonly info: (data: object, message: string) => void;
  readonly warn: (data: object, message: string) => void;
}

/** The runtime as a child of ours: started, started again when it ends, and ended with all that it started. */
export class RuntimeChild {
  readonly #settings: Settings["runtime"];
  readonly #cwd: string;
  readonly #reports: ChildReports;
  readonly #leaving = new AbortController();
  #child: Child | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(settings: Settings["runtime"], cwd: string, reports: ChildReports) {
    this.#settings = settings;
    this.#cwd = cwd;
    this.#reports = reports;
  }

  /** Process id while it runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** SIGTERM to the whole group, SIGKILL after `stop`. Resolves when nothing is left of it. */
  async end(): Promise<void> {
    this.#leaving.abort();
    await this.#child?.close(0);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#leaving;
    for (let failures = 1; !signal.aborted; failures++) {
      const begun = performance.now();
      try {
        const child = await this.#spawn();
        const { code, signal: by } = await child.exited;
        await child.close(0);
        this.#child = undefined;
        if (!signal.aborted) this.#reports.warn({ code, signal: by }, "the runtime ended");
      } catch (error) {
        const { message, hint } = toGatewayError(error);
        this.#reports.warn({ hint }, message);
      }
      if (performance.now() - begun > STEADY_MS) failures = 1;
      await pause(backoffDelay(failures, RETRY), signal);
    }
  }

  async #spawn(): Promise<Child> {
    const [command = "", ...args] = this.#settings.command ?? [];
    const launch = {
      name: "runtime",
      command,
      args,
      cwd: this.#cwd,
      env: variablesOf(this.#settings),
    };
    const child = await spawnChild(launch, { term: this.#settings.stopTimeout });
    // What it writes is its log, not ours. Node does not end our stdout and stderr when the child's end.
    child.stdout.pipe(process.stdout);
    child.stderr.pipe(process.stderr);
    this.#child = child;
    if (this.#leaving.signal.aborted) await child.close(0);
    else this.#reports.info({ pid: child.pid }, "the runtime was started");
    return child;
  }
}

/** What is declared for it and what the contract says, with the port that we look for it at. */
function variablesOf({ url, env }: Settings["runtime"]): Record<string, string> {
  const said = CONTRACT_VARIABLES.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(said), ...env, A2A_PORT: new URL(url).port || "80" };
}
