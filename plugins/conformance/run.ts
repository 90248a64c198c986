import { open, writeFile } from "node:fs/promises";
import { GatewayError } from "propylon";
import { parseDuration } from "propylon/kit";
import { EXIT, isHttpUrl } from "propylon/cli";
import { junitOf } from "./junit.ts";
import { isConformant, type ContractLevel, type Report } from "./report.ts";
import { PROBES, type Probes, type RuntimeKitOptions } from "./runtime/options.ts";
import { summaryOf, tableOf } from "./table.ts";

/** Flags that the kits share. */
export interface ReportFlags {
  readonly apiKey?: string;
  readonly timeout: string;
  readonly json?: string;
  readonly junit?: string;
}

/** Flags of `propylon conformance runtime`. */
export interface RuntimeFlags extends ReportFlags, Partial<Probes> {
  /** Names and values. */
  readonly env?: readonly (readonly [string, string])[];
  readonly level: string;
  readonly startupTimeout: string;
  readonly grace: string;
  readonly rounds: string;
  readonly characters: string;
}

/** Flags of `propylon conformance mcp`. */
export interface McpFlags extends ReportFlags {
  readonly era: "legacy" | "modern" | "both";
}

/** Flags of `propylon conformance fixture`. */
export interface FixtureFlags {
  readonly port: number;
  readonly stdio?: boolean;
}

/** Checks a runtime of contract v1. Returns the exit code: 0 when the level is reached, 1 when not. */
export async function conformanceRuntime(
  url: string | undefined,
  flags: RuntimeFlags,
  command: readonly string[] | undefined,
): Promise<number> {
  if (url === undefined && command === undefined)
    throw new GatewayError("invalid", "There is no runtime to check.", {
      hint: "Give its URL, or its command: propylon conformance runtime -- node my-agent.mjs.",
    });
  const options = runtimeOptions(url, flags, command);
  await checkFiles(flags);
  const { checkRuntime } = await import("./runtime/kit.ts");
  return publish(await checkRuntime(options), flags);
}

function runtimeOptions(
  url: string | undefined,
  flags: RuntimeFlags,
  command: readonly string[] | undefined,
): RuntimeKitOptions {
  return {
    level: Number(flags.level) as ContractLevel,
    url: url === undefined ? undefined : readUrl(url),
    command,
    env: Object.fromEntries(flags.env ?? []),
    headers: headersOf(flags),
    probes: { ...PROBES, ...probesOf(flags) },
    filling: {
      rounds: readCount("--rounds", flags.rounds),
      characters: readCount("--characters", flags.characters),
    },
    timeout: readDuration("--timeout", flags.timeout),
    startup: readDuration("--startup-timeout", flags.startupTimeout),
    grace: readDuration("--grace", flags.grace),
  };
}

function probesOf(flags: RuntimeFlags): Partial<Probes> {
  const names = ["message", "failing", "slow", "remember", "recall"] as const;
  return Object.fromEntries(
    names.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]]),
  );
}

/** Checks an MCP endpoint. Returns the exit code: 0 when nothing failed, 1 when something did. */
export async function conformanceMcp(url: string, flags: McpFlags): Promise<number> {
  await checkFiles(flags);
  const { checkMcp } = await import("./mcp/kit.ts");
  const report = await checkMcp({
    url: readUrl(url),
    eras: flags.era === "both" ? ["legacy", "modern"] : [flags.era],
    headers: headersOf(flags),
    timeout: readDuration("--timeout", flags.timeout),
  });
  return publish(report, flags);
}

/** Runs the fixture server until the process is told to end. Over HTTP it prints its URL as one line of JSON. */
export async function conformanceFixture(flags: FixtureFlags): Promise<void> {
  const { serveFixture, speakFixture } = await import("./mcp/fixture/serve.ts");
  if (flags.stdio) return speakFixture();
  const { url } = await serveFixture(flags.port);
  console.log(JSON.stringify({ url }));
}

/**
 * Whether the report can be written, before the checks, which may take minutes.
 * @throws {GatewayError} `invalid`
 */
async function checkFiles({ json, junit }: ReportFlags): Promise<void> {
  if (json === "-" && junit === "-")
    throw new GatewayError("invalid", "--json and --junit cannot both write to standard output.", {
      hint: "Give one of them a file.",
    });
  for (const file of [json, junit]) {
    if (file === undefined || file === "-") continue;
    await open(file, "a").then(
      (handle) => handle.close(),
      (error: NodeJS.ErrnoException) => {
        throw new GatewayError("invalid", `No report can be written to ${file} (${error.code}).`, {
          hint: "Give a file in a folder that is there and may be written.",
        });
      },
    );
  }
}

/** Writes the report where it is wanted; what goes to standard output stands there alone. */
async function publish(report: Report, { json, junit }: ReportFlags): Promise<number> {
  await write(json, () => `${JSON.stringify(report, null, 2)}\n`);
  await write(junit, () => junitOf(report));
  if (json === "-" || junit === "-") console.error(summaryOf(report));
  else console.log(tableOf(report));
  return isConformant(report) ? EXIT.ok : EXIT.invalid;
}

async function write(file: string | undefined, render: () => string): Promise<void> {
  if (file === "-") process.stdout.write(render());
  else if (file !== undefined) await writeFile(file, render());
}

function headersOf({ apiKey }: ReportFlags): Readonly<Record<string, string>> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

function readUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new GatewayError("invalid", `${text} is not a URL.`, {
    hint: "Write e.g. http://127.0.0.1:8080.",
  });
}

function readCount(flag: string, text: string): number {
  const count = Number(text);
  if (/^\d{1,6}$/.test(text) && count >= 1) return count;
  throw new GatewayError("invalid", `${flag} ${text} is not a whole number of at least 1.`);
}

function readDuration(flag: string, text: string): number {
  const ms = parseDuration(text, "s");
  if (ms !== undefined && ms > 0) return ms;
  throw new GatewayError("invalid", `${flag} ${text} is not a duration.`, {
    hint: "Write e.g. 30s, 1500ms or 2m.",
  });
}
