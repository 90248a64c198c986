import { afterAll, afterEach, assert, vi } from "vitest";

/** Files of unit and parts share a process: what one leaves behind in it would be the fault of another. */
const before = { env: { ...process.env }, folder: process.cwd() };

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

afterAll(() => {
  const now = { env: { ...process.env }, folder: process.cwd() };
  assert.deepEqual(now, before, "A test file left another environment or folder behind.");
});
