import type { CommandDefinition, CommandInput } from "propylon";
import { API_KEY_FLAG, RUN_FLAGS } from "propylon/cli";
import type { McpoFlags } from "./mcpo/mcpo.ts";

/** The command line of mcpo (docs/guide/from-mcpo.md). */
export const commands = {
  mcpo: {
    description: "Run as mcpo does: every tool at POST /{server}/{tool}, with mcpo's own flags.",
    flags: [
      ...RUN_FLAGS,
      { flag: "-c, --config <file>", description: "mcpServers file, as of Claude Desktop" },
      { flag: "-p, --port <port>", description: "port", read: "port", default: 8000 },
      {
        flag: "-h, --host <address>",
        description: "address (default: 0.0.0.0 with a key, else 127.0.0.1)",
      },
      { ...API_KEY_FLAG, flag: "-k, --api-key <key>" },
      { flag: "--strict-auth", description: "accepted: the key protects everything anyway" },
      { flag: "--hot-reload", description: "reload when the config changes" },
      { flag: "-n, --name <name>", description: "name of the gateway" },
      { flag: "-d, --description <text>", description: "usage notes for models" },
      {
        flag: "-e, --env <NAME=value>",
        description: "variable for every command (repeatable)",
        repeatable: true,
      },
      { flag: "--env-path <file>", description: "file of such variables" },
      {
        flag: "--server-type <type>",
        description: "transport of the server behind --: stdio, sse, streamable-http",
        default: "stdio",
      },
      { flag: "--type <type>", description: "as --server-type", hidden: true },
      {
        flag: "-H, --header <json>",
        description: "headers for the URL behind --, as a JSON object",
      },
      {
        flag: "--cors-allow-origins <origin>",
        description: "origin of pages that may call (repeatable)",
        repeatable: true,
      },
      { flag: "-t, --ssl-certfile <file>", description: "PEM certificate" },
      { flag: "-K, --ssl-keyfile <file>", description: "PEM private key" },
      { flag: "--log-level <level>", description: "DEBUG, INFO, WARNING, ERROR or CRITICAL" },
      {
        flag: "--plugin <name>",
        description: "switch another plugin on, e.g. admin (repeatable)",
        repeatable: true,
      },
      { flag: "--read-only", description: "refuse every request that changes anything" },
      { flag: "--root-path <path>", description: "path at which a reverse proxy serves it" },
      { flag: "--path-prefix <path>", description: "path in front of the names of servers" },
      {
        flag: "--client-header-forwarding <json>",
        description:
          'headers of clients that servers get, e.g. {"enabled": true, "whitelist": ["X-User-*"]}',
      },
      {
        flag: "--allowed-host <name>",
        description: "without a key: name in Host headers besides the listener's own (repeatable)",
        repeatable: true,
      },
    ],
    async run({ flags, rest }: CommandInput<McpoFlags>) {
      const { mcpo } = await import("./mcpo/mcpo.ts");
      await mcpo(flags, rest);
    },
  },
} satisfies Record<string, CommandDefinition>;
