import { ConfigFile } from "../file/config-file.ts";
import { check, type CheckedConfig } from "../gateway/check/check.ts";
import type { Config } from "../config/config.ts";
import { findConfig, loadConfig } from "../file/load.ts";
import { parseConfig } from "../gateway/check/parse.ts";
import type { GatewayConfigInput } from "../config/schema.ts";
import { RESERVED_SERVERS } from "../config/names.ts";
import { PluginSource } from "../gateway/check/resolve.ts";
import { GatewayError } from "../kit/errors.ts";
import { withContainer } from "../file/container.ts";
import { applyFlags, type ServeFlags } from "./flags.ts";

/** A config file, or `gateway.yaml` in this folder; flags are applied whenever it is loaded. */
export function configFile(file: string | undefined, flags: ServeFlags): ConfigFile {
  return new ConfigFile(file ?? findConfig(process.cwd()), {
    adjust: (value) => applyFlags(value, flags),
  });
}

/** The config of a file, or of this folder, with what the container around it says. */
export function loadHere(file: string | undefined): ReturnType<typeof loadConfig> {
  return loadConfig(file ?? findConfig(process.cwd()), { adjust: withContainer });
}

/**
 * Checks a config and its plugins.
 *
 * @param cwd where paths in it start from
 */
export function checkHere(config: Config, cwd: string): Promise<CheckedConfig> {
  return check(config, new PluginSource(cwd));
}

/** Checks a config that no file holds: paths in it start from this folder. */
export async function checkValue(value: GatewayConfigInput): Promise<CheckedConfig> {
  const source = new PluginSource(process.cwd());
  return check(await parseConfig(value, source, "command line"), source);
}

/**
 * The config of a gateway around a single server, for `propylon -- npx some-server`.
 *
 * @throws {GatewayError} `invalid` when nothing follows `--`, or a flag is wrong
 */
export function commandConfig(words: readonly string[], flags: ServeFlags): GatewayConfigInput {
  const [command, ...args] = words;
  if (command === undefined)
    throw new GatewayError("invalid", "No command follows --.", {
      hint: "Write the command of a server, e.g. propylon -- npx -y @modelcontextprotocol/server-everything.",
    });
  return applyFlags({ servers: { [serverName(words)]: { command, args } } }, flags);
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
function serverName(words: readonly string[]): string {
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
