import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Who lets a wait pass: a timer of this process. */
const TIMER = "a timer of this process";

/**
 * Every retry of the product, by the file that computes its pause, and the test that sees it wait. Where it is handed to a timer of
 * this process, that is the proof: only what leaves the process can be read as something else, as NATS read a fraction for nothing.
 */
const RETRIES: Readonly<Record<string, readonly [file: string, title: string] | typeof TIMER>> = {
  "core/server/sdk/refresher.ts": [
    "core/server/refresher.unit.test.ts",
    "of what cannot be reached is tried again soon, then ever later, up to a minute",
  ],
  "core/store/connection.ts": TIMER,
  "core/workers/supervisor.ts": TIMER,
  "plugins/a2a/standard/push/outbox.ts": TIMER,
  "plugins/a2a/standard/push/webhook-records.ts": TIMER,
  "plugins/agents/models/retries.ts": [
    "plugins/agents-loop/models.test.ts",
    "waits as long as Retry-After says",
  ],
  "plugins/breaker/circuit.ts": [
    "plugins/breaker/circuit.unit.test.ts",
    "stays open for 30 s, 60 s ... and at most 300 s, less up to half",
  ],
  "plugins/console/reconciler.ts": TIMER,
  "plugins/nats/link/link.ts": TIMER,
  "plugins/payloads/bucket.ts": [
    "plugins/payloads/bucket.long.test.ts",
    "waits as long as it is asked, within its deadline",
  ],
  "plugins/payloads/leftovers.ts": TIMER,
  "plugins/postgres/listener.ts": TIMER,
  "plugins/redis/driver.ts": TIMER,
  "plugins/telemetry/spans/otlp-sender.ts": [
    "plugins/telemetry/spans.test.ts",
    "is sent once more after",
  ],
  "plugins/servers/http/http-stream.ts": TIMER,
  "plugins/servers/upstream/listing.ts": [
    "plugins/servers/odd-output.test.ts",
    "bugs-mcp 24: a first tools/list that fails is tried again after backoff.initial, then after longer waits",
  ],
  "plugins/servers/connection/server-task.ts": TIMER,
  "plugins/servers/upstream/subscriptions.ts": TIMER,
  "plugins/servers/upstream/supervision.ts": [
    "plugins/servers/supervision.test.ts",
    "waits 2, 4, 8 ... seconds up to the cap, visible with reason, attempts and next attempt",
  ],
  "plugins/sidecar/execution/execution.ts": [
    "plugins/sidecar/retry-pauses.long.test.ts",
    "a task that a runtime does not take waits as documented before each delivery",
  ],
  "plugins/sidecar/runtime/child.ts": TIMER,
};

/** What hands a pause to a timer, here or in the library that reconnects. */
const WAITS =
  /\bpause\(|setTimer\(|setTimeout\(|retryStrategy|#interval\b|#later\(|\bdue:|clock\.after/;

/** Delays that other programs keep for us, and the test that sees each kept. */
const ELSEWHERE: readonly (readonly [what: string, file: string, title: string])[] = [
  [
    "giveBack of the store's queue, and of a delivery of NATS",
    "../core/testing/store-queues.ts",
    "waits for the whole of a delay of %s ms",
  ],
  [
    "Retry-After of a server over HTTP",
    "plugins/servers/supervision.test.ts",
    "Retry-After is honoured up to the cap",
  ],
  [
    "Retry-After of a listener that drains",
    "core/http/listener.test.ts",
    "answers 503 with Retry-After before the first app and while draining",
  ],
  [
    "the grace period",
    "core/cli/run-process.unit.test.ts",
    "exits within 2 s after the grace period, whatever hangs",
  ],
  [
    "ackWait",
    "plugins/sidecar/faults.long.test.ts",
    "runs a task that takes longer than ackWait once",
  ],
  [
    "the lease of a leader",
    "core/store/lease.test.ts",
    "a holder that is cut off has lost it before another one gets it",
  ],
  [
    "the lease of team-auth",
    "plugins/team-auth/replicas.long.test.ts",
    "nobody is let in by a memory older than the lease; keys of the config are",
  ],
  [
    "the idle end of sessions",
    "plugins/mcp/sessions.alone.test.ts",
    "ends sessions that were idle too long, and only those",
  ],
];

const sources = (): string[] =>
  ["core", "plugins"].flatMap((folder) =>
    readdirSync(ROOT + folder, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => `${folder}/${path}`),
  );
const read = (path: string): string => readFileSync(ROOT + path, "utf8");

it("issue line 14: every retry of the product stands in the table", () => {
  const found = sources().filter(
    (path) => path !== "core/kit/backoff.ts" && read(path).includes("backoffDelay("),
  );
  expect(Object.keys(RETRIES).toSorted()).toEqual(found.toSorted());
});

it.each(Object.entries(RETRIES))("issue line 14: the pause of %s is waited for", (path, seen) => {
  const isWaited =
    seen === TIMER ? WAITS.test(read(path)) : read(`test/${seen[0]}`).includes(seen[1]);
  expect(isWaited).toBe(true);
});

it.each(ELSEWHERE)("issue line 14: %s is kept, as a test sees", (_, file, title) => {
  expect(read(file.startsWith("../") ? file.slice(3) : `test/${file}`)).toContain(title);
});
