import { GatewayError } from "../kit/errors.ts";
import type { CommandDefinition, CommandFlag } from "../plugin/command.ts";

/** Variable that holds a key where no flag does. */
const KEY_VARIABLE = "PROPYLON_API_KEY";

/** The key that clients of what a command runs must send. */
export const API_KEY_FLAG: CommandFlag = {
  flag: "--api-key <key>",
  description: "bearer token clients must send",
  env: KEY_VARIABLE,
  read: "key",
};

/**
 * The key that clients must send, of the variables of a process; for a gateway that runs without the command line.
 *
 * @throws {GatewayError} as {@link readKey}
 */
export function keyOf(environment: NodeJS.ProcessEnv): string | undefined {
  const key = environment[KEY_VARIABLE];
  return key === undefined ? undefined : readKey(key, KEY_VARIABLE);
}

/**
 * Reads a key. One with a line break at its end, for example, cannot be sent.
 *
 * @param from flag or variable that it comes from
 * @throws {GatewayError} `invalid` for characters that no header can hold
 */
export function readKey(text: string, from: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  throw new GatewayError("invalid", `The key of ${from} has characters that no header can hold.`, {
    hint: "Look for a line break, also where it comes from a variable.",
  });
}

/** The key for what a command talks to. */
export const SEND_KEY_FLAG: CommandFlag = { ...API_KEY_FLAG, description: "bearer token to send" };

/** How much is logged. */
export const LOG_LEVEL_FLAG: CommandFlag = {
  flag: "--log-level <level>",
  description: "least severe level of the log",
  choices: ["silent", "fatal", "error", "warn", "info", "debug", "trace"],
};

/** Whether changes are allowed, and how long calls may run: what every command that runs a gateway takes alike. */
export const RUN_FLAGS: readonly CommandFlag[] = [
  { flag: "--allow-mutations", description: "let the management API change things" },
  {
    flag: "--tool-timeout <duration>",
    description: "longest run of a tool by default, e.g. 30s (a bare number is seconds)",
    read: "duration",
  },
  {
    flag: "--tool-timeout-max <duration>",
    description: "longest run of a tool that may be asked for",
    read: "duration",
  },
];

const SERVING = [
  ...RUN_FLAGS,
  { flag: "--port <port>", description: "port of the listener", read: "port" },
  { flag: "--host <address>", description: "address of the listener" },
  {
    flag: "--listener <name>",
    description: "listener that --port and --host are for (default: the first)",
  },
  {
    flag: "--allowed-host <name>",
    description: "name or address in Host headers besides the listener's own (repeatable)",
    repeatable: true,
  },
  API_KEY_FLAG,
  LOG_LEVEL_FLAG,
  {
    flag: "--insecure",
    description: "allow a listener that is open to the network without authentication",
  },
  {
    flag: "--read-only",
    description:
      "refuse every request that changes anything (also MCPO_READ_ONLY, MCPQ_READ_ONLY or GATEWAY_READ_ONLY = 1, true or yes)",
  },
  { flag: "--no-management", description: "remove the management API" },
  {
    flag: "--plugin <name>",
    description: "switch a plugin on, e.g. openapi (repeatable)",
    repeatable: true,
  },
  { flag: "--allow-unsafe-commands", description: "let admins add servers with any command" },
] as const satisfies CommandDefinition["flags"];

function readWorkers(text: string): number | "auto" {
  if (text === "auto") return text;
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 256) return Number(text);
  throw new Error("It must be a number from 1 to 256, or auto.");
}

/** The commands that run a gateway. */
export const SERVING_COMMANDS: Readonly<Record<string, CommandDefinition>> = {
  start: {
    description: "Run a gateway. Default: gateway.yaml in this folder.",
    arguments: "[config]",
    flags: [
      ...SERVING,
      {
        flag: "--watch",
        description: "reload when the config, .env or a local plugin changes",
      },
      {
        flag: "--workers <count>",
        description: "processes that serve together, e.g. 4, or auto for one per core",
        read: readWorkers,
      },
    ],
    async run({ arguments: [file], flags, rest }) {
      const { start } = await import("./start.ts");
      await start({ ...flags, file, command: rest });
    },
  },
  dev: {
    description: "Run a gateway that reloads on every change, with a readable log.",
    arguments: "[config]",
    flags: SERVING,
    async run({ arguments: [file], flags, rest }) {
      const { start } = await import("./start.ts");
      await start({ ...flags, file, command: rest, watch: true, pretty: true });
    },
  },
};
