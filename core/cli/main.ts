#!/usr/bin/env node
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../config/units.ts";
import { VERSION } from "../version.ts";
import { describeConformance } from "./conformance-flags.ts";
import { EXIT, tellFailure } from "./exit.ts";
import { describeSidecar } from "./sidecar-flags.ts";
import type { KeyOptions } from "./key.ts";
import type { McpoFlags } from "./mcpo.ts";

const LOG_LEVELS = ["silent", "fatal", "error", "warn", "info", "debug", "trace"];

/** Flags of `check`. */
interface CheckFlags {
  readonly connect?: boolean;
  readonly explain?: string;
  readonly json?: boolean;
}

/** What stands behind `--`: the command of a server to run without a config. */
interface Split {
  readonly own: string[];
  readonly command: string[] | undefined;
}

function splitAtDashes(words: readonly string[]): Split {
  const index = words.indexOf("--");
  return index === -1
    ? { own: [...words], command: undefined }
    : { own: words.slice(0, index), command: words.slice(index + 1) };
}

function createProgram(command: readonly string[] | undefined): Command {
  const program = new Command("propylon")
    .description("Gateway for MCP and A2A.")
    .version(VERSION)
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      "after",
      "\nWithout a config: propylon -- npx -y @modelcontextprotocol/server-everything\nExit codes: 0 ok, 1 wrong usage or config, 2 unreachable, 3 refused credentials, 5 the tool reported an error.",
    );

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
  program
    .command("check [config]")
    .description("Check a config, its plugins and its names; prints one line for every problem.")
    .option("--connect", "also connect to every server")
    .option("--explain <plugin>", "print what a plugin brings, and how it is joined to the others")
    .option("--json", "print JSON")
    .action(async (config: string | undefined, options: CheckFlags) => {
      if (options.explain !== undefined) {
        const { explain } = await import("./explain.ts");
        return explain(options.explain, config, options);
      }
      const { check } = await import("./check.ts");
      process.exitCode = await check(config, options);
    });
  program
    .command("plugin")
    .description("Work on plugins of your own.")
    .command("new <name> [config]")
    .description("Add a plugin to a gateway: its file, a test, and its line in the config.")
    .action(async (name: string, config: string | undefined) => {
      const { newPlugin } = await import("./plugin-new.ts");
      await newPlugin(name, config);
    });
  program
    .command("graph [config]")
    .description("Print the composed gateway as a Mermaid flow chart.")
    .action(async (config: string | undefined) => {
      const { graph } = await import("./graph.ts");
      await graph(config);
    });
  program
    .command("build [config]")
    .description("Build a gateway to one file that runs without node_modules.")
    .option("--out <folder>", "folder to write", ".output")
    .option("--readable", "leave names and spaces as they are")
    .option("--sourcemap", "write a source map too")
    .action(async (config: string | undefined, options: Record<string, unknown>) => {
      const { build } = await import("./build.ts");
      await build({ ...options, config });
    });
  program
    .command("schema [config]")
    .description(
      "Print the JSON Schema of the config; with a config also of the options of its plugins.",
    )
    .action(async (config: string | undefined) => {
      const { schema } = await import("./schema.ts");
      await schema(config);
    });
  asClient(
    program
      .command("tools [target]")
      .description("List the tools of a running gateway. The target is a URL or a config."),
  ).action(async (target: string | undefined, options: Record<string, unknown>) => {
    const { tools } = await import("./tools.ts");
    process.exitCode = await tools({ ...options, target });
  });
  asClient(
    program
      .command("call <tool> [arguments...]")
      .description("Call a tool of a running gateway. Arguments: JSON, or key=value ..."),
  )
    .option("--target <url|config>", "gateway to call")
    .action(async (tool: string, words: string[], options: Record<string, unknown>) => {
      const { call } = await import("./call.ts");
      process.exitCode = await call({ ...options, tool, words });
    });
  program
    .command("client-config <client> [target]")
    .description("Print what to put into claude, cursor or vscode to use the gateway.")
    .option("--key", "the gateway wants a key (known when the target is a config)")
    .option("--json", "print only the JSON")
    .action(
      async (
        client: string,
        target: string | undefined,
        options: { json?: boolean; key?: boolean },
      ) => {
        const { clientConfig } = await import("./client-config.ts");
        await clientConfig(client, target, options);
      },
    );
  program
    .command("import <program> [folder]")
    .description("Print a config made from the files of another program: pallas.")
    .action(async (from: string, folder: string | undefined) => {
      const { importConfig } = await import("./import.ts");
      await importConfig(from, folder ?? process.cwd());
    });
  program
    .command("key")
    .description("Make a key with a role: prints it once, and the line for the config.")
    .addOption(
      new Option("--role <role>", "what its holder may do")
        .choices(["viewer", "caller", "operator", "admin", "service"])
        .makeOptionMandatory(),
    )
    .requiredOption("--name <name>", "name of the key in the config, logs and audit")
    .option("--json", "print JSON")
    .action(async (options: KeyOptions) => {
      const { printKey } = await import("./key.ts");
      printKey(options);
    });
  describeConformance(program.command("conformance"), command);
  describeSidecar(program.command("sidecar"), command);
  return program;
}

function serving(command: Command): Command {
  return command
    .option("--port <port>", "port of the listener", readPort)
    .option("--host <address>", "address of the listener")
    .option("--listener <name>", "listener that --port and --host are for (default: the first)")
    .addOption(
      new Option("--api-key <key>", "bearer token clients must send").env("PROPYLON_API_KEY"),
    )
    .addOption(
      new Option("--log-level <level>", "least severe level of the log").choices(LOG_LEVELS),
    )
    .option("--insecure", "allow a listener that is open to the network without authentication")
    .option(
      "--read-only",
      "refuse every request that changes anything (also MCPO_READ_ONLY, MCPQ_READ_ONLY or GATEWAY_READ_ONLY = 1, true or yes)",
    )
    .option("--allow-mutations", "let the management API change things")
    .option("--no-management", "take the management API away")
    .option(
      "--tool-timeout <duration>",
      "longest run of a tool when nothing else is said, e.g. 30s (a bare number is seconds)",
      readDuration,
    )
    .option(
      "--tool-timeout-max <duration>",
      "longest run of a tool that may be asked for",
      readDuration,
    )
    .option("--plugin <name>", "switch a plugin on, e.g. openapi (repeatable)", collect)
    .option("--allow-unsafe-commands", "let admins add servers with any command");
}

/** The command line of mcpo (docs/guide/from-mcpo.md). */
function likeMcpo(command: Command): Command {
  return command
    .description("Run as mcpo does: every tool at POST /{server}/{tool}, with mcpo's own flags.")
    .helpOption("--help", "display help for command")
    .option("-c, --config <file>", "mcpServers file, as of Claude Desktop")
    .option("-p, --port <port>", "port", readPort, 8000)
    .option("-h, --host <address>", "address (default: 0.0.0.0 with a key, else 127.0.0.1)")
    .addOption(
      new Option("-k, --api-key <key>", "bearer token clients must send").env("PROPYLON_API_KEY"),
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
    .addOption(new Option("--root-path <path>").hideHelp())
    .addOption(new Option("--path-prefix <path>").hideHelp())
    .addOption(new Option("--client-header-forwarding <json>").hideHelp());
}

function asClient(command: Command): Command {
  return command
    .addOption(new Option("--api-key <key>", "bearer token to send").env("PROPYLON_API_KEY"))
    .option("--timeout <duration>", "longest wait, e.g. 30s (a bare number is seconds)", "60s")
    .option("--json", "print JSON");
}

function collect(word: string, before: readonly string[] = []): readonly string[] {
  return [...before, word];
}

function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError("It must be a number from 0 to 65535.");
  return Number(text);
}

function readDuration(text: string): string {
  if (parseDuration(text, "s") === undefined)
    throw new InvalidArgumentError("It must be a duration such as 30s, 1500ms or 10m.");
  return text;
}

/** Runs the command line; never throws. */
async function main(words: readonly string[]): Promise<void> {
  const { own, command } = splitAtDashes(words);
  const program = createProgram(command);
  // `propylon -- npx server` is `propylon start -- npx server`.
  const first = own.find((word) => !word.startsWith("-"));
  const isNamed = program.commands.some((known) => known.name() === first);
  try {
    await program.parseAsync(command !== undefined && !isNamed ? ["start", ...own] : own, {
      from: "user",
    });
  } catch (error) {
    // Commander has printed its sentence already; its code is 0 for --help and --version.
    if (error instanceof CommanderError)
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.invalid;
    else process.exitCode = tellFailure(error);
  }
}

await main(process.argv.slice(2));
