import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { type PluginDefinition, createGateway, GatewayError } from "propylon";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { z } from "zod";
import { isDuration } from "../../core/kit/units.ts";
import { retry, type Attempt } from "../../plugins/agents/models/retries.ts";
import { makeFolder } from "../kit/folder.ts";
import { until } from "../kit/until.ts";

const FOLDER = new URL("../../plugins/", import.meta.url);
const SCRIPT = fileURLToPath(new URL("../fixtures/process/scripted-server.mjs", import.meta.url));
const LONG = "30d";
const server = { command: process.execPath, args: [SCRIPT] };
const provider = { type: "openai-compatible", baseUrl: "http://127.0.0.1:9/v1", retries: 1 };

type Options = Readonly<Record<string, unknown>>;
const agents = {
  providers: { p: provider },
  model: "p/m",
  agents: { helper: { description: "Helps." } },
};
/** The plugins that are told times, each with an entry of every list and record that holds one. */
const OPTIONS: Readonly<Record<string, Options>> = {
  a2a: {
    // One of its own would have a fixed port.
    listener: "main",
    skills: [
      { id: "s", description: "Echoes.", tool: { server: "s", name: "echo", argument: "text" } },
    ],
  },
  agents,
  breaker: {},
  console: {
    issuer: { url: "http://127.0.0.1:9", password: "p" },
    secretKeys: ["a key of the tests, long enough for it"],
  },
  gating: { timeouts: { servers: { s: LONG }, tools: { "s/echo": LONG } } },
  health: {},
  lifecycle: {},
  metrics: {},
  "oauth-resource": {
    issuers: {
      i: { issuer: "http://127.0.0.1:9", introspection: { clientId: "g", clientSecret: "s" } },
    },
  },
  "oauth-client": {},
  openapi: {},
  payloads: {
    results: { above: "1KiB" },
    bucket: {
      endpoint: "http://127.0.0.1:9",
      bucket: "payloads",
      accessKeyId: "id",
      secretAccessKey: "secret",
    },
  },
  progress: {},
  ratelimit: {
    rates: { r: { per: "server", rate: 10 } },
    concurrency: { c: { per: "server", maxRunning: 1 } },
  },
  sessions: {},
  sidecar: {
    name: "coder",
    nats: { url: "nats://127.0.0.1:9" },
    runtime: { url: "http://127.0.0.1:9" },
  },
  tasks: { after: LONG, tools: { "s.echo": { after: LONG } } },
};
/** These say themselves what is too long. */
const BOUNDED = ["events", "oauth", "team-auth", "telemetry"];
/** What these cannot do without. */
const NEEDED: Readonly<Record<string, Options>> = {
  oauth: {
    provider: { issuer: "http://127.0.0.1:9", clientId: "gateway" },
    roles: { caller: "everyone" },
    secretKeys: ["a key of the tests, long enough for it"],
  },
};
/** These have tables. */
const STORED: ReadonlySet<string> = new Set(["console", "payloads"]);
/** These have no times; those of servers stand in the entries of `servers`. */
const TIMELESS = [
  "keys",
  "access",
  "nats",
  "postgres",
  "redis",
  "sqlite",
  "client",
  "conformance",
  "admin",
  "history",
  "registry",
  "mcp",
  "servers",
  "a2a-client",
  "rest",
  "ui",
];

interface Part {
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly valueType?: z.core.$ZodType;
  readonly element?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
}

const partOf = (schema: z.core.$ZodType): Part => schema._zod.def as Part;
const isObject = (value: unknown): value is Options => typeof value === "object" && value !== null;

/** A day is too long for them, as their own tests show. */
const SHORT = new Set(["presignedTtl"]);

/** Options with every duration set to a long one. */
function prolong(schema: z.core.$ZodType, value: unknown): unknown {
  const { innerType, in: input, shape, valueType, element, options } = partOf(schema);
  if (isDuration(schema)) return LONG;
  const inner = innerType ?? input ?? options?.find((option) => partOf(option).shape);
  if (inner) return prolong(inner, value);
  if (Array.isArray(value) && element) return value.map((each) => prolong(element, each));
  const members = isObject(value) ? value : {};
  const longer = Object.entries(shape ?? mapped(members, valueType)).map(
    ([name, part]) => [name, SHORT.has(name) ? undefined : prolong(part, members[name])] as const,
  );
  const told = longer.filter(([, each]) => each !== undefined);
  return told.length > 0 || isObject(value) ? { ...members, ...Object.fromEntries(told) } : value;
}

function mapped(members: Options, part: z.core.$ZodType | undefined) {
  return part ? Object.fromEntries(Object.keys(members).map((name) => [name, part])) : {};
}

function fileStore(): string {
  const folder = makeFolder();
  return `sqlite:${join(folder, "gateway.db")}`;
}

/** A gateway with a plugin, from its start to a call and its end. */
async function exercise(name: string): Promise<void> {
  const plugin = await load(name);
  const options = OPTIONS[name] ?? NEEDED[name] ?? {};
  const long = plugin.config ? prolong(plugin.config, options) : options;
  const config = {
    listeners: { main: { port: 0 } },
    servers: { s: server },
    ...(STORED.has(name) && { store: fileStore() }),
    plugins: {
      ...(name === "lifecycle" && { agents }),
      ...(STORED.has(name) && { sqlite: {} }),
      [name]: long,
    },
  };
  const gateway = await createGateway(config, {
    log: pino({ enabled: false }),
    resolvePlugin: load,
  });
  onTestFinished(() => gateway.close({ grace: 0 }));
  await gateway.listen();
  await until(() => gateway.servers.get("s")?.status.state === "ready");
  const call = { server: "s", name: "echo", source: "local", args: { text: "x" } } as const;
  expect((await gateway.call(call)).result).toMatchObject({ content: [{ text: "x" }] });
}

async function load(name: string): Promise<PluginDefinition> {
  const module = (await import(new URL(`${name}/index.ts`, FOLDER).href)) as {
    default: PluginDefinition;
  };
  return module.default;
}

describe("issue 42: thirty days in every duration", () => {
  it("is asked of every plugin that has one", () => {
    const all = [...Object.keys(OPTIONS), ...BOUNDED, ...TIMELESS];
    const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect(all.toSorted()).toEqual(folders.map(({ name }) => name).toSorted());
  });

  it.each(BOUNDED)("are refused by plugin %s", async (plugin) => {
    await expect(exercise(plugin)).rejects.toThrow(
      /must be .*\b1(?:[hdm]|0m)\.(?: \(and \d+ more\))?$/,
    );
  });

  it.each(TIMELESS)("are none of plugin %s", async (plugin) => {
    const { config } = await load(plugin);
    expect(JSON.stringify(config && prolong(config, {})) ?? "").not.toContain(LONG);
  });

  it.each(Object.keys(OPTIONS))("of plugin %s make no timer fire at once", async (plugin) => {
    vi.stubEnv("STARTUP_TIMEOUT", LONG);
    onTestFinished(() => void vi.unstubAllEnvs());
    const overflows: string[] = [];
    const onWarning = ({ name, message }: Error): void => {
      if (name === "TimeoutOverflowWarning") overflows.push(message);
    };
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    await exercise(plugin);
    // Node warns in a later turn.
    await new Promise(setImmediate);
    expect(overflows).toEqual([]);
  });
});

it("issue 42: a model's retry waits thirty days where that is what is configured", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const month = 30 * 86_400_000;
  const failure = {
    error: new GatewayError("upstream_error", "No."),
    transient: true,
    retryAfter: month,
  };
  const attempt = vi.fn<() => Promise<Attempt<never>>>(async () => ({ failure }));
  const stop = new AbortController();
  const policy = { retries: 3, backoff: month, maxWait: month };
  const asked = retry(attempt, policy, () => true, stop.signal);
  await vi.advanceTimersByTimeAsync(86_400_000);
  expect(attempt).toHaveBeenCalledTimes(1);
  stop.abort(new Error("stopped"));
  await expect(asked).rejects.toThrow("stopped");
});
