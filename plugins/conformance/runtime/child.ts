import { spawn, type ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { GatewayError } from "propylon";
import { childEnvironment } from "propylon/cli";

/** What ends the kit: Ctrl-C, a CI system, a terminal that is closed. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** `performance.now()` of its end. */
  readonly at: number;
  /** Whether it was told to end. */
  readonly isTold: boolean;
}

/** How a process ended, in the middle of a sentence. */
export function describeExit({ code, signal, isTold }: Exit): string {
  const how = code === null ? `by ${signal}` : `with code ${code}`;
  return `its process ended ${isTold ? "" : "on its own "}${how}`;
}

/** A runtime that the kit started. */
export interface Child {
  /** What it wrote to standard output, line by line. */
  readonly lines: readonly string[];
  /** Tells `line` and `exit`. */
  readonly events: EventEmitter;
  readonly exit: Promise<Exit>;
  readonly hasEnded: () => boolean;
  /** Sends SIGTERM to the process itself, as Kubernetes does, and not to its children. */
  terminate(): void;
  /** Ends it and its children at once, and removes its folder. */
  destroy(): Promise<void>;
}

/** What a container gets from the platform. Times are milliseconds. */
export interface ChildEnvironment {
  readonly port: number;
  readonly grace: number;
  readonly startup: number;
  /** Collector for telemetry. */
  readonly collector: string;
  /** Variables of its own. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Starts the command of a runtime with the variables of the container interface.
 * @throws {GatewayError} `invalid` when it cannot be started
 */
export async function startChild(
  command: readonly string[],
  around: ChildEnvironment,
): Promise<Child> {
  const folder = mkdtempSync(join(tmpdir(), "propylon-conformance-"));
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "inherit"],
    // A group of its own, so that what the command starts can be ended with it.
    detached: true,
    env: childEnvironment({ ...around.env, ...variablesOf(around, folder) }),
  });
  // A process that was killed a moment ago may still write.
  const clean = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  try {
    await once(child, "spawn");
  } catch (error) {
    clean();
    throw new GatewayError(
      "invalid",
      `${program} cannot be started: ${(error as Error).message}.`,
      {
        hint: "Write the command of the runtime behind --.",
      },
    );
  }
  return watched(child, clean, endWith(child, clean));
}

/** A process in a group of its own hears nothing of Ctrl-C, and would outlive the kit. @returns ends this */
function endWith(child: ChildProcess, clean: () => void): () => void {
  const end = (): void => {
    endGroup(child.pid);
    clean();
  };
  const leave = (signal: NodeJS.Signals): void => process.exit(128 + constants.signals[signal]);
  process.on("exit", end);
  for (const signal of SIGNALS) process.on(signal, leave);
  return () => {
    process.off("exit", end);
    for (const signal of SIGNALS) process.off(signal, leave);
  };
}

function variablesOf(
  { port, grace, startup, collector }: ChildEnvironment,
  folder: string,
): Record<string, string> {
  return {
    A2A_PORT: String(port),
    WORK_DIR: folder,
    TERMINATION_GRACE_PERIOD: `${Math.ceil(grace / 1_000)}s`,
    STARTUP_TIMEOUT: `${Math.ceil(startup / 1_000)}s`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
    // Spans are waited for; the default delay is 5 s.
    OTEL_BSP_SCHEDULE_DELAY: "200",
  };
}

function watched(child: ChildProcess, clean: () => void, release: () => void): Child {
  let isTold = false;
  const lines: string[] = [];
  const events = new EventEmitter().setMaxListeners(0);
  createInterface({ input: child.stdout! }).on("line", (line) => {
    lines.push(line);
    events.emit("line");
  });
  const exit = once(child, "exit").then(([code, signal]): Exit => {
    events.emit("exit");
    const at = performance.now();
    return { code: code as number | null, signal: signal as string | null, at, isTold };
  });
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    lines,
    events,
    exit,
    hasEnded,
    terminate() {
      isTold = true;
      child.kill("SIGTERM");
    },
    async destroy() {
      isTold = true;
      endGroup(child.pid);
      await exit;
      clean();
      release();
    },
  };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has ended already.
  }
}
