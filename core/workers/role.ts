import { availableParallelism } from "node:os";

/** Set in the environment of a worker: its number. */
export const WORKER_VARIABLE = "PROPYLON_WORKER";

/** Whether this process was started as a worker. */
export function isWorker(): boolean {
  return process.env[WORKER_VARIABLE] !== undefined && process.send !== undefined;
}

/** How many processes a config wants. */
export function workerCount(workers: number | "auto"): number {
  return workers === "auto" ? availableParallelism() : workers;
}
