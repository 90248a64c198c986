import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort } from "../../core/testing/index.ts";
import { mortal } from "../fixtures/process/mortal.mjs";

const RUNTIME = fileURLToPath(new URL("../fixtures/runtime/runtime.mjs", import.meta.url));

/** A program that tests kill and start again. */
export class Mortal {
  readonly #args: () => readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  /** Lines of stdout and stderr of all its lives. */
  readonly lines: string[] = [];
  #onLine: (line: string) => void = () => undefined;

  /** @param args of Node, asked anew at each start */
  constructor(args: () => readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#args = args;
    this.#env = env;
  }

  get isAlive(): boolean {
    return this.#child !== undefined;
  }

  start(): void {
    if (this.#child) throw new Error("It runs already.");
    const child = spawn(...mortal(process.execPath, this.#args()), {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...this.#env },
    });
    this.#child = child;
    for (const output of [child.stdout, child.stderr])
      createInterface(output).on("line", (line) => {
        this.lines.push(line);
        this.#onLine(line);
      });
    child.once("exit", () => {
      if (this.#child === child) this.#child = undefined;
    });
  }

  /** Resolves with the next line that says this; rejects when it ends before. */
  async line(text: string): Promise<string> {
    const exited = once(this.#child!, "exit").then(() => {
      throw new Error(`It ended before it said "${text}":\n${this.lines.join("\n")}`);
    });
    const said = new Promise<string>((resolve) => {
      this.#onLine = (line) => {
        if (line.includes(text)) resolve(line);
      };
    });
    exited.catch(() => undefined);
    return Promise.race([said, exited]);
  }

  /** Resolves with its exit code when it is gone; at once when it is not there. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<number | null> {
    const child = this.#child;
    if (!child) return null;
    const gone = once(child, "exit") as Promise<[number | null]>;
    child.kill(signal);
    return (await gone)[0];
  }

  /** Sends a signal that it lives on with, such as SIGSTOP. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Resolves with its exit code when it died by itself. */
  async death(): Promise<number | null> {
    const [code] = this.#child ? ((await once(this.#child, "exit")) as [number | null]) : [null];
    return code;
  }
}

/** The runtime of test/fixtures/runtime, on one port over all its lives. */
export class RuntimeProcess extends Mortal {
  readonly #place: { port: number };

  constructor(history: string, flags: readonly string[] = []) {
    const place = { port: 0 };
    super(() => [RUNTIME, "--port", String(place.port), "--history", history, ...flags]);
    this.#place = place;
  }

  get port(): number {
    return this.#place.port;
  }

  /** Resolves when it listens. */
  async begin(): Promise<void> {
    this.#place.port ||= await freePort();
    this.start();
    await this.line('"url"');
  }
}
