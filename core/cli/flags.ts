import { OBJECT_NAMES } from "../config/names.ts";
import { isPlainObject } from "../kit/json.ts";
import { GatewayError } from "../kit/errors.ts";
import { withContainer } from "../file/container.ts";

/** Flags of `start` and `dev` that override the config. */
export interface ServeFlags {
  readonly port?: number;
  readonly host?: string;
  readonly listener?: string;
  /** Names under which clients may address the listener. */
  readonly allowedHost?: readonly string[];
  readonly apiKey?: string;
  readonly logLevel?: string;
  readonly insecure?: boolean;
  /** Refuse every change. */
  readonly readOnly?: boolean;
  /** Whether the management API may change things. */
  readonly allowMutations?: boolean;
  /** `false` removes the management API. */
  readonly management?: boolean;
  /** Durations for the gating plugin. */
  readonly toolTimeout?: string;
  readonly toolTimeoutMax?: string;
  /** Lets the admin plugin add servers with any command. */
  readonly allowUnsafeCommands?: boolean;
  readonly pretty?: boolean;
  /** Processes, or `auto`. */
  readonly workers?: number | "auto";
  /** Plugins switched on besides those of the config. */
  readonly plugin?: readonly string[];
  /** Changes the config before the flags do, e.g. what a command takes over from another program. */
  readonly amend?: (value: Record<string, unknown>) => Record<string, unknown>;
}

/** Variables that mean `--read-only`. */
const READ_ONLY = ["MCPO_READ_ONLY", "MCPQ_READ_ONLY", "GATEWAY_READ_ONLY"] as const;

/**
 * A config value with flags on top, whatever it says itself.
 *
 * @throws {GatewayError} `invalid` for a flag that does not fit the config
 */
export function applyFlags(
  written: Record<string, unknown>,
  flags: ServeFlags,
): Record<string, unknown> {
  const value = withContainer(flags.amend?.(written) ?? written);
  const result = { ...value };
  const { port, host, listener, allowedHost } = flags;
  if ([port, host, listener, allowedHost].some((flag) => flag !== undefined)) {
    result["listeners"] = withListener(value["listeners"], flags);
  }
  if (flags.apiKey !== undefined)
    result["auth"] = { ...asMap(value["auth"]), apiKey: flags.apiKey };
  if (flags.insecure) result["insecure"] = true;
  if (flags.workers !== undefined) result["workers"] = flags.workers;
  const log = {
    ...(flags.logLevel !== undefined && { level: flags.logLevel }),
    ...(flags.pretty && { format: "pretty" }),
  };
  if (Object.keys(log).length > 0) result["log"] = { ...asMap(value["log"]), ...log };
  return withPlugins(withManagement(result, flags), flags);
}

function withListener(
  listeners: unknown,
  { port, host, listener, allowedHost }: ServeFlags,
): unknown {
  if (listeners !== undefined && !isPlainObject(listeners)) return listeners;
  const known = listeners ?? { main: {} };
  const name = listener ?? Object.keys(known)[0] ?? "main";
  if (!Object.hasOwn(known, name))
    throw new GatewayError("invalid", `There is no listener "${name}".`, {
      hint: `There are: ${Object.keys(known).join(", ")}.`,
    });
  const written = asMap(known[name]);
  const allowed = Array.isArray(written["allowedHosts"])
    ? (written["allowedHosts"] as unknown[])
    : [];
  return {
    ...known,
    [name]: {
      ...written,
      ...(allowedHost && { allowedHosts: [...allowed, ...allowedHost] }),
      ...(port !== undefined && { port }),
      ...(host !== undefined && { host }),
    },
  };
}

function asMap(value: unknown): Record<string, unknown> {
  return isPlainObject(value) ? value : {};
}

function withManagement(
  value: Record<string, unknown>,
  flags: ServeFlags,
): Record<string, unknown> {
  const management = {
    ...((flags.readOnly || isReadOnly(process.env)) && { readOnly: true }),
    ...(flags.allowMutations && { mutations: true }),
    ...(flags.management === false && { enabled: false }),
  };
  if (Object.keys(management).length === 0) return value;
  return { ...value, management: { ...asMap(value["management"]), ...management } };
}

/** An unknown word is an error: the user who set it meant to protect something. */
function isReadOnly(environment: NodeJS.ProcessEnv): boolean {
  return READ_ONLY.some((name) => {
    const word = environment[name]?.trim().toLowerCase() ?? "";
    if (["1", "true", "yes"].includes(word)) return true;
    if (["", "0", "false", "no"].includes(word)) return false;
    throw new GatewayError(
      "invalid",
      `The variable ${name} must be 1, true, yes, 0, false or no.`,
      {
        hint: "Correct or unset it.",
      },
    );
  });
}

function withPlugins(value: Record<string, unknown>, flags: ServeFlags): Record<string, unknown> {
  const timeouts = {
    ...(flags.toolTimeout !== undefined && { default: flags.toolTimeout }),
    ...(flags.toolTimeoutMax !== undefined && { max: flags.toolTimeoutMax }),
  };
  const plugins = asMap(value["plugins"]);
  const asked = (flags.plugin ?? []).map((name) => {
    // Where the config is checked, some of these names are gone already.
    if (OBJECT_NAMES.has(name)) throw noPlugin(name);
    return [name, plugins[name] || {}] as const;
  });
  const result = { ...plugins, ...Object.fromEntries(asked) };
  if (Object.keys(timeouts).length > 0) {
    if (plugins["gating"] === false)
      throw usage("--tool-timeout and --tool-timeout-max need the plugin gating", "gating: false");
    const gating = asMap(plugins["gating"]);
    result["gating"] = { ...gating, timeouts: { ...asMap(gating["timeouts"]), ...timeouts } };
  }
  if (flags.allowUnsafeCommands) {
    if (!Object.hasOwn(plugins, "admin") || plugins["admin"] === false)
      throw usage("--allow-unsafe-commands needs the plugin admin", "no admin");
    result["admin"] = { ...asMap(plugins["admin"]), allowUnsafeCommands: true };
  }
  return Object.keys(result).length === 0 ? value : { ...value, plugins: result };
}

function noPlugin(name: string): GatewayError {
  return new GatewayError("invalid", `There is no plugin "${name}".`, {
    hint: "Give the name of a plugin, e.g. --plugin openapi.",
  });
}

function usage(need: string, config: string): GatewayError {
  return new GatewayError("invalid", `${need}, but the config says ${config}.`, {
    hint: "Leave the flag out, or add the plugin to the config.",
  });
}
