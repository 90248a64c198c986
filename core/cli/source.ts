import { checkConfig } from "../config/checks.ts";
import { invalidConfig } from "../config/issue.ts";
import { ConfigFile } from "../config/file.ts";
import { findConfig, type LoadedConfig } from "../config/load.ts";
import { validateConfig } from "../config/validate.ts";
import { isPlainObject } from "../config/environment.ts";
import { RESERVED_SERVERS } from "../config/checks.ts";
import { GatewayError } from "../errors.ts";

/** Flags of `start` and `dev` that override the config. */
export interface ServeFlags {
  readonly port?: number;
  readonly host?: string;
  readonly listener?: string;
  readonly apiKey?: string;
  readonly logLevel?: string;
  readonly insecure?: boolean;
  readonly pretty?: boolean;
}

/** A config file, or `gateway.yaml` in this folder; flags are applied whenever it is loaded. */
export function configFile(file: string | undefined, flags: ServeFlags): ConfigFile {
  return new ConfigFile(file ?? findConfig(process.cwd()), {
    adjust: (value) => applyFlags(value, flags),
  });
}

/**
 * The config of a gateway around a single server, for `propylon -- npx some-server`.
 *
 * @throws {GatewayError} `invalid` when nothing stands behind `--`, or a flag is wrong
 */
export function commandConfig(words: readonly string[], flags: ServeFlags): LoadedConfig {
  const [command, ...args] = words;
  if (command === undefined)
    throw new GatewayError("invalid", "Nothing stands behind --.", {
      hint: "Write the command of a server, e.g. propylon -- npx -y @modelcontextprotocol/server-everything.",
    });
  const value = applyFlags({ servers: { [serverName(words)]: { command, args } } }, flags);
  const { config, issues } = validateConfig(value);
  const cwd = process.cwd();
  const place: LoadedConfig["place"] = ({ message, hint }) => ({
    message,
    hint,
    place: { file: "command line" },
  });
  const problems = config === undefined ? issues : checkConfig(config, { cwd });
  if (config === undefined || problems.length > 0) throw invalidConfig(problems.map(place));
  return { config, file: "", cwd, version: "", warnings: [], secrets: new Set(), place };
}

const RUNNERS = new Set([
  "npx",
  "bunx",
  "uvx",
  "pnpx",
  "pnpm",
  "yarn",
  "npm",
  "uv",
  "bun",
  "deno",
  "node",
  "python",
  "python3",
  "tsx",
  "docker",
]);
const SUBCOMMANDS = new Set(["exec", "dlx", "run", "tool", "x"]);

/** A server is named after what it runs: `npx -y @scope/server-files@1 /tmp` is `server-files`. */
export function serverName(words: readonly string[]): string {
  const [command = "", ...rest] = words;
  const base = baseName(command);
  const target = RUNNERS.has(base)
    ? rest.find((word) => !word.startsWith("-") && !SUBCOMMANDS.has(word))
    : undefined;
  const name = baseName(target ?? command)
    .replaceAll(/[^A-Za-z0-9_.-]/g, "-")
    .slice(0, 50);
  if (name === "" || RESERVED_SERVERS.has(name)) return `${name || "stdio"}-server`;
  return name;
}

function baseName(word: string): string {
  const last = word.split(/[\\/]/).at(-1) ?? word;
  return last.replace(/(?<=.)@[^@]*$/, "").replace(/\.(?:[cm]?[jt]s|py|exe|cmd)$/, "");
}

function applyFlags(value: Record<string, unknown>, flags: ServeFlags): Record<string, unknown> {
  const result = { ...value };
  if (flags.port !== undefined || flags.host !== undefined || flags.listener !== undefined) {
    result["listeners"] = withListener(value["listeners"], flags);
  }
  if (flags.apiKey !== undefined)
    result["auth"] = { ...asMap(value["auth"]), apiKey: flags.apiKey };
  if (flags.insecure) result["insecure"] = true;
  const log = {
    ...(flags.logLevel !== undefined && { level: flags.logLevel }),
    ...(flags.pretty && { format: "pretty" }),
  };
  if (Object.keys(log).length > 0) result["log"] = { ...asMap(value["log"]), ...log };
  return result;
}

function withListener(listeners: unknown, { port, host, listener }: ServeFlags): unknown {
  if (listeners !== undefined && !isPlainObject(listeners)) return listeners;
  const known = listeners ?? { main: {} };
  const name = listener ?? Object.keys(known)[0] ?? "main";
  if (!Object.hasOwn(known, name))
    throw new GatewayError("invalid", `There is no listener "${name}".`, {
      hint: `There are: ${Object.keys(known).join(", ")}.`,
    });
  return {
    ...known,
    [name]: {
      ...asMap(known[name]),
      ...(port !== undefined && { port }),
      ...(host !== undefined && { host }),
    },
  };
}

function asMap(value: unknown): Record<string, unknown> {
  return isPlainObject(value) ? value : {};
}
