import type { CommandFlag } from "../plugin/command.ts";

/** The key that clients of what a command runs must send. */
export const API_KEY_FLAG: CommandFlag = {
  flag: "--api-key <key>",
  description: "bearer token clients must send",
  env: "PROPYLON_API_KEY",
  read: "key",
};

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
    description:
      "longest run of a tool when nothing else is said, e.g. 30s (a bare number is seconds)",
    read: "duration",
  },
  {
    flag: "--tool-timeout-max <duration>",
    description: "longest run of a tool that may be asked for",
    read: "duration",
  },
];
