import { Option, type Command } from "commander";
import type { McpFlags, RuntimeFlags } from "./conformance.ts";
import { keyReader, readPort, readVariable } from "./readers.ts";

/** The commands below `propylon conformance`. */
export function describeConformance(
  conformance: Command,
  command: readonly string[] | undefined,
): void {
  conformance.description("Check a runtime or a gateway against what it promises.");
  ofRuntime(conformance.command("runtime [url]")).action(
    async (url: string | undefined, options: RuntimeFlags) => {
      const { conformanceRuntime } = await import("./conformance.ts");
      process.exitCode = await conformanceRuntime(url, options, command);
    },
  );
  reporting(conformance.command("mcp <url>"))
    .description(
      "Check an MCP endpoint with clients of both eras, best with the fixture behind it.",
    )
    .addOption(
      new Option("--era <era>", "only clients of one era")
        .choices(["legacy", "modern", "both"])
        .default("both"),
    )
    .action(async (url: string, options: McpFlags) => {
      const { conformanceMcp } = await import("./conformance.ts");
      process.exitCode = await conformanceMcp(url, options);
    });
  conformance
    .command("fixture")
    .description("Run the MCP server that a gateway is checked with: http, or stdio.")
    .option("--port <port>", "port on 127.0.0.1", readPort, 0)
    .option("--stdio", "speak on standard input and output")
    .action(async (options: { readonly port: number; readonly stdio?: boolean }) => {
      const { conformanceFixture } = await import("./conformance.ts");
      await conformanceFixture(options);
    });
}

function ofRuntime(command: Command): Command {
  return reporting(command)
    .description("Check a runtime of contract v1: at a URL, or started with the command behind --.")
    .addOption(
      new Option("--level <level>", "highest level to check").choices(["1", "2", "3"]).default("1"),
    )
    .option("--startup-timeout <duration>", "longest wait for /health", "60s")
    .option("--grace <duration>", "TERMINATION_GRACE_PERIOD of the command", "30s")
    .option(
      "--env <variable>",
      "NAME or NAME=value for the command; repeatable. It sees no other variable of ours",
      readVariable,
    )
    .option("--message <text>", "something that any task can answer")
    .option("--failing <text>", "something that makes a task fail (default: a message of no parts)")
    .option("--slow <text>", "something that takes at least four seconds")
    .option("--remember <text>", "something that tells {word}, to be remembered")
    .option("--recall <text>", "something that asks for the word")
    .option("--rounds <count>", "most messages until a context is compacted", "20")
    .option("--characters <count>", "length of each of them", "4000");
}

function reporting(command: Command): Command {
  return command
    .addOption(
      new Option("--api-key <key>", "bearer token to send")
        .env("PROPYLON_API_KEY")
        .argParser(keyReader("--api-key")),
    )
    .option("--timeout <duration>", "longest wait for an answer", "60s")
    .option("--json <file>", "write the report as JSON; - is standard output")
    .option("--junit <file>", "write the report as JUnit XML; - is standard output");
}
