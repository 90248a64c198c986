import { Option, type Command } from "commander";
import { keyReader } from "./readers.ts";

/** The commands that talk to a running gateway. */
export function describeTalking(program: Command): void {
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
}

function asClient(command: Command): Command {
  return command
    .addOption(
      new Option("--api-key <key>", "bearer token to send")
        .env("PROPYLON_API_KEY")
        .argParser(keyReader("--api-key")),
    )
    .option("--timeout <duration>", "longest wait, e.g. 30s (a bare number is seconds)", "60s")
    .option("--json", "print JSON");
}
