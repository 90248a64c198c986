import { setTimeout as pause } from "node:timers/promises";
import { GatewayError } from "propylon";
import { freePort, isPortFree } from "propylon/cli";
import { demand, runChecks, sentenceOf, type Check } from "../check.ts";
import { levelReached, withoutCredentials, type CheckResult, type Report } from "../report.ts";
import { describeExit, startChild, type Child } from "./child.ts";
import { startCollector, type Collector } from "./collector.ts";
import { claims } from "./claims.ts";
import { DOCUMENTS, MANIFEST } from "./documents.ts";
import { NoAnswer } from "./exchange.ts";
import { EXPIRY, RUNNING, endingChecks, withoutProcess } from "./level2.ts";
import { LEVEL_3 } from "./level3.ts";
import type { RuntimeKitOptions } from "./options.ts";
import { createScene, type Scene } from "./scene.ts";
import { Subject } from "./subject.ts";
import { TASKS } from "./tasks.ts";

/** Between two looks at a runtime that is not ready yet, in milliseconds. */
const LOOK_MS = 100;
/** Grace period that a slow task outlasts, in milliseconds. */
const SHORT_GRACE_MS = 1_000;

/**
 * Looks at a runtime of contract v1, at the level asked for and all below it.
 *
 * @throws {GatewayError} `upstream_error` when it cannot be reached, `invalid` when its command cannot be started
 */
export async function checkRuntime(options: RuntimeKitOptions): Promise<Report> {
  const began = performance.now();
  const startedAt = new Date().toISOString();
  const stage = new Stage(options);
  try {
    const results = await perform(stage, options.level);
    return {
      kit: "runtime",
      target: withoutCredentials(stage.url),
      startedAt,
      duration: Math.round(performance.now() - began),
      levels: { asked: options.level, reached: levelReached(results) },
      results,
    };
  } finally {
    await stage.clear();
  }
}

/** Runs everything on one process, and what needs another grace period on a second one. */
async function perform(stage: Stage, level: number): Promise<readonly CheckResult[]> {
  const scene = await stage.set(stage.options.grace);
  const checks = [...DOCUMENTS, ...TASKS];
  if (scene.subject.manifest?.status === 200) checks.push(MANIFEST);
  if (level >= 2) checks.push(...RUNNING);
  if (level >= 3) checks.push(...LEVEL_3);
  const results = [...(await runChecks(checks, scene))];
  if (level >= 2) results.push(...(await performEnd(stage, scene)));
  const { manifest } = scene.subject;
  if (manifest?.status === 200)
    results.push(
      ...(await runChecks([claims(manifest.text, results, stage.options.level)], scene)),
    );
  return results.toSorted((a, b) => (a.level ?? 0) - (b.level ?? 0));
}

async function performEnd(stage: Stage, scene: Scene): Promise<readonly CheckResult[]> {
  const ending = endingChecks();
  if (!scene.child) return runChecks(withoutProcess([...ending, ...EXPIRY]), scene);
  const results = await runChecks<Scene>(ending, scene);
  const expiry = await stage.set(SHORT_GRACE_MS).then(
    // The same message on the same program: it is not sent a third time.
    (again) => runChecks<Scene>(EXPIRY, { ...again, undisturbed: scene.undisturbed }),
    // What was found by now counts, whatever comes of a second process.
    (error: unknown) => runChecks(failing(EXPIRY, sentenceOf(error)), scene),
  );
  return [...results, ...expiry];
}

/** Checks that all fail for one reason. */
function failing(checks: readonly Check<Scene>[], why: string): readonly Check<Scene>[] {
  return checks.map((check) => ({ ...check, run: () => demand(false, why) }));
}

/** Starts what a run needs, and clears it away. */
class Stage {
  readonly options: RuntimeKitOptions;
  url: string;
  #collector: Collector | undefined;
  #child: Child | undefined;

  constructor(options: RuntimeKitOptions) {
    this.options = options;
    this.url = options.url ?? "http://127.0.0.1";
  }

  /** A runtime that is ready, or at least answers; the one just before it is ended. */
  async set(grace: number): Promise<Scene> {
    await this.#child?.destroy();
    if (this.options.command) await this.#start(this.options.command, grace);
    const subject = new Subject(this.url, this.options, this.#child);
    await this.#ready(subject);
    const options = { ...this.options, grace };
    return createScene({ subject, options, child: this.#child, collector: this.#collector });
  }

  async clear(): Promise<void> {
    await this.#child?.destroy();
    this.#collector?.close();
  }

  async #start(command: readonly string[], grace: number): Promise<void> {
    this.#collector ??= await startCollector();
    const port = await this.#port();
    const { startup, env = {} } = this.options;
    this.#child = await startChild(command, {
      port,
      grace,
      startup,
      collector: this.#collector.url,
      env,
    });
  }

  /** Where the command is to listen. What listens there already would be looked at in its place. */
  async #port(): Promise<number> {
    if (this.options.url === undefined) {
      const port = await freePort();
      this.url = `http://127.0.0.1:${port}`;
      return port;
    }
    const port = Number(new URL(this.url).port);
    if (await isPortFree(port)) return port;
    throw new GatewayError("invalid", `Port ${port} is in use before the command was started.`, {
      hint: "End what listens there, or leave the URL out to have a free port.",
    });
  }

  /** Waits for 200 of `/health`. One that answers otherwise until the time is over is looked at as it is. */
  async #ready(subject: Subject): Promise<void> {
    const until = performance.now() + (this.#child ? this.options.startup : 0);
    let failure: unknown;
    do {
      const status = await subject.health().then(
        (reply) => ((failure = undefined), reply.status),
        (error: unknown) => void (failure = error),
      );
      if (status === 200 || (status !== undefined && performance.now() >= until)) break;
      await pause(LOOK_MS);
    } while (performance.now() < until && !this.#child?.hasEnded());
    if (this.#child?.hasEnded()) failure = new NoAnswer(describeExit(await this.#child.exit));
    if (failure !== undefined) throw this.#unreachable(failure);
    await subject.findPaths();
  }

  #unreachable(failure: unknown): GatewayError {
    const why = failure instanceof NoAnswer ? failure.why : sentenceOf(failure);
    return new GatewayError(
      "upstream_error",
      `The runtime at ${withoutCredentials(this.url)} cannot be reached: ${why}.`,
      {
        hint: this.#child
          ? "It must listen on $A2A_PORT; wait longer with --startup-timeout."
          : "Start it, or give its command behind --.",
      },
    );
  }
}
