import type { CommandDefinition } from "../plugin/command.ts";
import { API_KEY_FLAG, LOG_LEVEL_FLAG, RUN_FLAGS } from "./common-flags.ts";

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
  { flag: "--no-management", description: "take the management API away" },
  {
    flag: "--plugin <name>",
    description: "switch a plugin on, e.g. openapi (repeatable)",
    repeatable: true,
  },
  { flag: "--allow-unsafe-commands", description: "let admins add servers with any command" },
] as const satisfies CommandDefinition["flags"];

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
