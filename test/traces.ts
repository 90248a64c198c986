import { readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import { afterAll, afterEach, assert, vi } from "vitest";
import { descendantsOf, isAlive } from "./fixtures/processes.ts";
import { isBrowser } from "./fixtures/chromium.ts";

/** Files share a process, but for those of `alone`: what one leaves behind in it would be the fault of another. */
const before = { env: { ...process.env }, folder: process.cwd() };

/** How long the end of a child may take, in milliseconds. */
const END_MS = 15_000;

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

afterAll(async () => {
  const now = { env: { ...process.env }, folder: process.cwd() };
  assert.deepEqual(now, before, "A test file left another environment or folder behind.");
  // Threads of unit share the process that starts all workers.
  if (!isMainThread) return;
  try {
    await vi.waitFor(expectNoChildren, { timeout: END_MS, interval: 20 });
  } finally {
    // They are the fault of this file alone.
    for (const pid of children()) kill(pid);
  }
}, END_MS + 5_000);

/** The browser stays for the next file. */
function children(): readonly number[] {
  return descendantsOf(process.pid, isBrowser).filter((pid) => isAlive(pid));
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

function expectNoChildren(): void {
  assert.deepEqual(children().map(commandOf), [], "A test file left children behind.");
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 300);
  } catch {
    return `${pid}`;
  }
}
