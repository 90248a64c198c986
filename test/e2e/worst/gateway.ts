import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../core/testing/index.ts";
import { mortal } from "../../fixtures/process/mortal.mjs";
import { until } from "../../kit/until.ts";
import { main, workFolder } from "../build.ts";

const PROBE = fileURLToPath(new URL("probe.mjs", import.meta.url));
/** What every gateway of a small machine has, in MiB. */
const HEAP_MIB = 512;

/** What the probe measured since it was last asked: milliseconds of CPU of the main thread, bytes. */
export interface Measured {
  /** The longest time that the event loop was held. */
  readonly held: number;
  readonly total: number;
  /** Most memory of the process. */
  readonly rss: number;
}

/** A gateway with little memory and a probe inside. */
export class ProbedGateway {
  readonly url: string;
  readonly #folder: string;
  readonly #child: ChildProcess;
  #said = "";
  #exit: string | undefined;

  private constructor(url: string, folder: string, child: ChildProcess) {
    this.url = url;
    this.#folder = folder;
    this.#child = child;
    for (const stream of [child.stdout!, child.stderr!])
      stream.on("data", (chunk: Buffer) => {
        this.#said = (this.#said + chunk.toString()).slice(-100_000);
      });
    child.once("exit", (code, signal) => (this.#exit = `${code ?? signal}`));
  }

  static async start(configOf: (port: number, folder: string) => object): Promise<ProbedGateway> {
    const folder = await mkdtemp(join(await workFolder(), "worst-"));
    const port = await freePort();
    const file = join(folder, "gateway.json");
    await writeFile(file, JSON.stringify(configOf(port, folder)));
    const node = [`--max-old-space-size=${HEAP_MIB}`, "--import", PROBE, main, "start", file];
    const child = spawn(...mortal(process.execPath, node), {
      cwd: folder,
      env: { PATH: process.env["PATH"], PROBE: join(folder, "probe") },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const gateway = new ProbedGateway(`http://127.0.0.1:${port}`, folder, child);
    await until(() => gateway.isReady(), 30_000);
    return gateway;
  }

  /** @throws with its last output when it ended */
  assertAlive(): void {
    if (this.#exit !== undefined)
      throw new Error(`The gateway ended: ${this.#exit}\n${this.#said}`);
  }

  async isReady(): Promise<boolean> {
    this.assertAlive();
    return fetch(`${this.url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Asks the probe; what is measured from then on is for the next one who asks. */
  async ask(): Promise<Measured> {
    const socket = connect(join(this.#folder, "probe"));
    return (await json(socket)) as Measured;
  }

  /** Does something and measures it, to the end of what it leads to. */
  async measure(work: () => Promise<unknown>): Promise<Measured & { readonly grown: number }> {
    const { rss: before } = await this.ask();
    await work();
    let held = 0;
    let total = 0;
    let rss = 0;
    for (let quiet = 0; quiet < 2;) {
      const found = await this.ask();
      held = Math.max(held, found.held);
      rss = Math.max(rss, found.rss);
      total += found.total;
      quiet = found.total < 2 ? quiet + 1 : 0;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return { held, total, rss, grown: rss - before };
  }

  /** Sends SIGTERM. @returns how it ended */
  async stop(): Promise<string> {
    if (this.#exit === undefined) {
      const gone = once(this.#child, "exit");
      this.#child.kill("SIGTERM");
      await gone;
    }
    await rm(this.#folder, { recursive: true, force: true });
    return this.#exit!;
  }
}
