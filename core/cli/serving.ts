import type { McpoFlags } from "./mcpo.ts";
import { Option, type Command } from "commander";
import { collect, keyReader, readDuration, readPort } from "./readers.ts";

const LOG_LEVELS = ["silent", "fatal", "error", "warn", "info", "debug", "trace"];

/** The commands that run a gateway. */
export function describeServing(program: Command, command: readonly string[] | undefined): void {
  serving(
    program
      .command("start [config]")
      .description("Run a gateway. Default: gateway.yaml in this folder."),
  )
    .option("--watch", "reload when the config, .env or a local plugin changes")
    .action(async (config: string | undefined, options: Record<string, unknown>) => {
      const { start } = await import("./start.ts");
      await start({ ...options, file: config, command });
    });
  serving(
    program
      .command("dev [config]")
      .description("Run a gateway that reloads on every change, with a readable log."),
  ).action(async (config: string | undefined, options: Record<string, unknown>) => {
    const { start } = await import("./start.ts");
    await start({ ...options, file: config, command, watch: true, pretty: true });
  });
  likeMcpo(program.command("mcpo")).action(async (options: McpoFlags) => {
    const { mcpo } = await import("./mcpo.ts");
    await mcpo(options, command);
  });
}

function serving(command: Command): Command {
  return ruling(command)
    .option("--port <port>", "port of the listener", readPort)
    .option("--host <address>", "address of the listener")
    .option("--listener <name>", "listener that --port and --host are for (default: the first)")
    .option(
      "--allowed-host <name>",
      "name or address in Host headers besides the listener's own (repeatable)",
      collect,
    )
    .addOption(
      new Option("--api-key <key>", "bearer token clients must send")
        .env("PROPYLON_API_KEY")
        .argParser(keyReader("--api-key")),
    )
    .addOption(
      new Option("--log-level <level>", "least severe level of the log").choices(LOG_LEVELS),
    )
    .option("--insecure", "allow a listener that is open to the network without authentication")
    .option(
      "--read-only",
      "refuse every request that changes anything (also MCPO_READ_ONLY, MCPQ_READ_ONLY or GATEWAY_READ_ONLY = 1, true or yes)",
    )
    .option("--no-management", "take the management API away")
    .option("--plugin <name>", "switch a plugin on, e.g. openapi (repeatable)", collect)
    .option("--allow-unsafe-commands", "let admins add servers with any command");
}

/** What `start` and `mcpo` say alike about calls and changes. */
function ruling(command: Command): Command {
  return command
    .option("--allow-mutations", "let the management API change things")
    .option(
      "--tool-timeout <duration>",
      "longest run of a tool when nothing else is said, e.g. 30s (a bare number is seconds)",
      readDuration,
    )
    .option(
      "--tool-timeout-max <duration>",
      "longest run of a tool that may be asked for",
      readDuration,
    );
}

/** The command line of mcpo (docs/guide/from-mcpo.md). */
function likeMcpo(command: Command): Command {
  return ruling(command)
    .description("Run as mcpo does: every tool at POST /{server}/{tool}, with mcpo's own flags.")
    .helpOption("--help", "display help for command")
    .option("-c, --config <file>", "mcpServers file, as of Claude Desktop")
    .option("-p, --port <port>", "port", readPort, 8000)
    .option("-h, --host <address>", "address (default: 0.0.0.0 with a key, else 127.0.0.1)")
    .addOption(
      new Option("-k, --api-key <key>", "bearer token clients must send")
        .env("PROPYLON_API_KEY")
        .argParser(keyReader("--api-key")),
    )
    .option("--strict-auth", "accepted: the key protects everything anyway")
    .option("--hot-reload", "reload when the config changes")
    .option("-n, --name <name>", "name of the gateway")
    .option("-d, --description <text>", "usage notes for models")
    .option("-e, --env <NAME=value>", "variable for every command (repeatable)", collect)
    .option("--env-path <file>", "file of such variables")
    .option(
      "--server-type <type>",
      "of what stands behind --: stdio, sse, streamable-http",
      "stdio",
    )
    .addOption(new Option("--type <type>").hideHelp())
    .option("-H, --header <json>", "headers for the URL behind --, as a JSON object")
    .option("--cors-allow-origins <origin>", "origin of pages that may call (repeatable)", collect)
    .option("-t, --ssl-certfile <file>", "PEM certificate")
    .option("-K, --ssl-keyfile <file>", "PEM private key")
    .option("--log-level <level>", "DEBUG, INFO, WARNING, ERROR or CRITICAL")
    .option("--plugin <name>", "switch another plugin on, e.g. admin (repeatable)", collect)
    .option("--read-only", "refuse every request that changes anything")
    .option("--root-path <path>", "path at which a reverse proxy serves it")
    .option("--path-prefix <path>", "path in front of the names of servers")
    .option(
      "--client-header-forwarding <json>",
      'headers of clients that servers get, e.g. {"enabled": true, "whitelist": ["X-User-*"]}',
    )
    .option(
      "--allowed-host <name>",
      "without a key: name in Host headers besides the listener's own (repeatable)",
      collect,
    );
}
