import { Option, type Command } from "commander";
import type { KeyOptions } from "./key.ts";

/** Flags of `check`. */
interface CheckFlags {
  readonly connect?: boolean;
  readonly explain?: string;
  readonly json?: boolean;
}

/** The commands that work on a config and its plugins. */
export function describeAuthoring(program: Command): void {
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
}
