import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { createGateway, configSchema, type GatewayConfigInput } from "propylon";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { setTicker, setTimer, timeoutSignal } from "../../core/kit.ts";
import { MAX_DELAY_MS } from "../../core/kit/timers.ts";
import { limitsSchema, timeoutsSchema } from "../../core/config/bounds.ts";
import { until } from "../kit/until.ts";

const SCRIPT = fileURLToPath(new URL("../fixtures/process/scripted-server.mjs", import.meta.url));
const LONG = "30d";

afterEach(() => void vi.useRealTimers());

it("issue 42: a time beyond what Node can hold is not over at once", () => {
  vi.useFakeTimers();
  const [once, again] = [vi.fn<() => void>(), vi.fn<() => void>()];
  const timers = [setTimer(once, 2 ** 40), setTicker(again, Number.POSITIVE_INFINITY)];
  vi.advanceTimersByTime(MAX_DELAY_MS - 1);
  expect([once.mock.calls.length, again.mock.calls.length]).toEqual([0, 0]);
  vi.advanceTimersByTime(1);
  expect([once.mock.calls.length, again.mock.calls.length]).toEqual([1, 1]);
  for (const timer of timers) clearInterval(timer);
  expect(timeoutSignal(2 ** 40).aborted).toBe(false);
});

/** The options of a section that take a duration, each set to a long one. */
function longTimes(section: "limits" | "timeouts"): Record<string, string> {
  const names = Object.keys({ limits: limitsSchema, timeouts: timeoutsSchema }[section].shape);
  const times = names.filter((name) => configSchema.safeParse({ [section]: { [name]: LONG } }).success); // prettier-ignore
  return Object.fromEntries(times.map((name) => [name, LONG]));
}

it("issue 42: every duration of the config may be thirty days", async () => {
  const overflows: string[] = [];
  const onWarning = ({ name, message }: Error): void => {
    if (name === "TimeoutOverflowWarning") overflows.push(message);
  };
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const [limits, timeouts] = [longTimes("limits"), longTimes("timeouts")];
  expect(Object.keys({ ...limits, ...timeouts })).toEqual(
    expect.arrayContaining(["headersTimeout", "requestTimeout", "sessionIdle", "default", "grace"]),
  );
  const times = {
    connectTimeout: LONG,
    timeout: LONG,
    ping: LONG,
    backoff: { initial: LONG, max: LONG },
  };
  const config: GatewayConfigInput = {
    listeners: { main: { port: 0 } },
    limits,
    timeouts,
    servers: {
      s: { command: process.execPath, args: [SCRIPT], ...times },
      gone: { url: "http://127.0.0.1:9/mcp", ...times },
    },
  };
  const gateway = await createGateway(config, { log: pino({ enabled: false }) });
  onTestFinished(() => gateway.close({ grace: 0 }));
  await gateway.listen();
  await until(() => gateway.servers.get("s")?.status.state === "ready");
  await until(() => gateway.servers.get("gone")?.status.state === "backoff");
  const answer = await gateway.call({
    server: "s",
    name: "echo",
    source: "local",
    args: { text: "x" },
  });
  expect(answer.result).toMatchObject({ content: [{ text: "x" }] });
  await gateway.apply({ ...config, name: "again" });
  // Node warns in a later turn.
  await new Promise(setImmediate);
  expect(overflows).toEqual([]);
  expect(gateway.servers.get("gone")?.status.attempts).toBe(1);
});
