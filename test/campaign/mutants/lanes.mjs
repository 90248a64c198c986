/** Processes that run tests, each in a copy of its own. */
import { fork } from "node:child_process";
import { join } from "node:path";
import { root } from "../../../playground/ready.mjs";

const LANE = join(root, "test/campaign/mutants/lane.mjs");

/** A process with a vitest that stays, in its own copy. */
export class Lane {
  #folder;
  #child;

  constructor(folder) {
    this.#folder = folder;
  }

  async #start() {
    const output = process.env.MUTANT_LOG ? "inherit" : "ignore";
    this.#child = fork(LANE, {
      cwd: this.#folder,
      detached: true,
      stdio: ["ignore", output, output, "ipc"],
    });
    await new Promise((resolve, reject) => {
      this.#child.once("message", resolve);
      this.#child.once("exit", () =>
        reject(new Error("vitest did not start; MUTANT_LOG=1 shows why.")),
      );
    });
  }

  /** @returns `errors` of the tests; `isLate` if they took too long */
  async run(job, limit) {
    if (!this.#child) await this.#start();
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => end({ ms: limit, errors: [], isLate: true }), limit);
      const end = (result) => {
        clearTimeout(timer);
        child.removeAllListeners();
        if (result.isLate) this.close();
        resolve(result);
      };
      child.once("message", end);
      child.once("exit", () =>
        end({ ms: 0, errors: [{ test: "the run", message: "vitest ended" }], isLate: true }),
      );
      child.send(job, (error) => error && reject(error));
    });
  }

  close() {
    try {
      if (this.#child) process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
    this.#child = undefined;
  }
}

/** Gives each item to the next lane that is free. */
export async function spread(lanes, items, work) {
  const left = [...items];
  await Promise.all(
    lanes.map(async (lane) => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(lane, item);
    }),
  );
}
