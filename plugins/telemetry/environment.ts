import type { SenderSettings } from "./spans/otlp-sender.ts";
import type { AttributeLimits } from "./spans/otlp-text.ts";
import type { SamplerSettings } from "./spans/sampler.ts";
import type { QueueSettings } from "./spans/span-queue.ts";

/** Variables, as those of a process. */
type Environment = NodeJS.ProcessEnv;

/** What `OTEL_TRACES_SAMPLER` may say. Without a ratio it is in `OTEL_TRACES_SAMPLER_ARG`. */
const SAMPLERS: ReadonlyMap<string, Partial<SamplerSettings>> = new Map([
  ["always_on", { ratio: 1, followsCaller: false }],
  ["always_off", { ratio: 0, followsCaller: false }],
  ["traceidratio", { followsCaller: false }],
  ["parentbased_always_on", { ratio: 1 }],
  ["parentbased_always_off", { ratio: 0 }],
  ["parentbased_traceidratio", {}],
]);

/** Which traces are kept; with no word of it all, and those of a caller as that says. */
export function readSampler(environment: Environment): SamplerSettings {
  const named = SAMPLERS.get(textOf(environment, "OTEL_TRACES_SAMPLER") ?? "") ?? { ratio: 1 };
  const share = numberOf(environment, "OTEL_TRACES_SAMPLER_ARG") ?? 1;
  const ratio = share >= 0 && share <= 1 ? share : 1;
  return { ratio, followsCaller: true, ...named };
}

/** How much of attributes is kept. */
export function readLimits(environment: Environment): AttributeLimits {
  const limit = (name: string): number | undefined =>
    numberOf(environment, `OTEL_SPAN_${name}`) ?? numberOf(environment, `OTEL_${name}`);
  const length = limit("ATTRIBUTE_VALUE_LENGTH_LIMIT") ?? Infinity;
  return { count: limit("ATTRIBUTE_COUNT_LIMIT") ?? 128, length: length > 0 ? length : Infinity };
}

/** How spans wait. */
export function readQueue(environment: Environment): QueueSettings {
  const count = (name: string, fallback: number, least: number): number => {
    const value = Math.trunc(numberOf(environment, `OTEL_BSP_${name}`) ?? fallback);
    return value >= least ? value : fallback;
  };
  const maxQueue = count("MAX_QUEUE_SIZE", 2_048, 1);
  return {
    delay: count("SCHEDULE_DELAY", 5_000, 0),
    maxQueue,
    maxBatch: Math.min(maxQueue, count("MAX_EXPORT_BATCH_SIZE", 512, 1)),
  };
}

/** Where spans go to. The longest export is the shorter one of that of a request and that of a batch. */
export function readSender(
  {
    endpoint,
    headers,
  }: { endpoint: string | undefined; headers: Readonly<Record<string, string>> },
  environment: Environment,
): SenderSettings {
  const of = (name: string): readonly (string | undefined)[] =>
    ["TRACES_", ""].map((signal) => textOf(environment, `OTEL_EXPORTER_OTLP_${signal}${name}`));
  const [own, general] = of("HEADERS");
  const url = new URL(endpoint === undefined ? urlOf(of("ENDPOINT")) : `${endpoint}/v1/traces`);
  const sources = [credentialsOf(url), pairsOf(general), pairsOf(own), headers];
  // A later one counts, however its name is written.
  const lower = sources.flatMap((each) =>
    Object.entries(each).map(([name, value]) => [name.toLowerCase(), value] as const),
  );
  return {
    url: url.href,
    headers: Object.fromEntries(lower),
    timeout: Math.min(
      timeoutOf(of("TIMEOUT")),
      timeoutOf([textOf(environment, "OTEL_BSP_EXPORT_TIMEOUT")], 30_000),
    ),
    isCompressed: of("COMPRESSION").find((each) => each === "gzip" || each === "none") === "gzip",
  };
}

/** That of traces is whole, the other one a base. */
function urlOf([own, base]: readonly (string | undefined)[]): string {
  const below = base && `${base.replace(/\/$/, "")}/v1/traces`;
  return (
    [own, below].find((url) => url !== undefined && URL.canParse(url)) ??
    "http://localhost:4318/v1/traces"
  );
}

/** User and password of a URL are a header, as everywhere. */
function credentialsOf({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === "" && password === "") return {};
  const pair = `${decoded(username)}:${decoded(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** A `%` that begins no escape is one of the password. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function timeoutOf(texts: readonly (string | undefined)[], fallback = 10_000): number {
  const values = texts.map((text) => (text === undefined ? Number.NaN : Number(text)));
  return values.find((value) => value > 0 && value < Infinity) ?? fallback;
}

/** `name=value` pairs, percent-encoded, with commas between them; what is malformed is left out. */
function pairsOf(text = ""): Readonly<Record<string, string>> {
  const pairs = text.split(",").flatMap((entry) => {
    const [, name, value] = /^\s*([^=;]+?)\s*=\s*([^;]*[^;\s])/.exec(entry) ?? [];
    if (name === undefined || value === undefined) return [];
    try {
      return [[decodeURIComponent(name), decodeURIComponent(value)] as const];
    } catch {
      return [];
    }
  });
  return Object.fromEntries(pairs);
}

function numberOf(environment: Environment, name: string): number | undefined {
  const value = Number(textOf(environment, name) ?? Number.NaN);
  return Number.isNaN(value) ? undefined : value;
}

function textOf(environment: Environment, name: string): string | undefined {
  const text = environment[name]?.trim();
  return text === "" ? undefined : text;
}
