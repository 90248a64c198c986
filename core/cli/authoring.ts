import type { CommandDefinition, CommandInput } from "../plugin/command.ts";
import { relative } from "node:path";
import type { BuildRequest } from "../build/build.ts";
import { isDefault } from "../config/defaults.ts";

/** Flags of `check`. */
interface CheckFlags {
  readonly connect?: boolean;
  readonly explain?: string;
  readonly json?: boolean;
}

/** The commands that work on a config and its plugins. */
export const AUTHORING_COMMANDS: Readonly<Record<string, CommandDefinition>> = {
  check: {
    description: "Check a config, its plugins and its names; prints one line for every problem.",
    arguments: "[config]",
    flags: [
      { flag: "--connect", description: "also connect to every server" },
      {
        flag: "--explain <name>",
        description:
          "print what a plugin brings and how it is joined, who takes a service, or where the values at a path come from",
      },
      { flag: "--json", description: "print JSON" },
    ],
    async run({ arguments: [config], flags }: CommandInput<CheckFlags>) {
      if (flags.explain !== undefined) {
        const { explain } = await import("./composed.ts");
        return explain(flags.explain, config, flags);
      }
      const { check } = await import("./check-report.ts");
      return check(config, flags);
    },
  },
  plugin: {
    description: "Work on plugins of your own.",
    commands: {
      new: {
        description: "Add a plugin to a gateway: its file, a test, and its line in the config.",
        arguments: "<name> [config]",
        async run({ arguments: [name, config] }) {
          const { newPlugin } = await import("./plugin-new.ts");
          await newPlugin(name!, config);
        },
      },
    },
  },
  graph: {
    description: "Print the composed gateway as a Mermaid flow chart.",
    arguments: "[config]",
    async run({ arguments: [config] }) {
      const { graph } = await import("./composed.ts");
      await graph(config);
    },
  },
  build: {
    description: "Build a gateway to one file that runs without node_modules.",
    arguments: "[config]",
    flags: [
      { flag: "--out <folder>", description: "folder to write", default: ".output" },
      { flag: "--readable", description: "leave names and spaces as they are" },
      { flag: "--sourcemap", description: "write a source map too" },
    ],
    async run({ arguments: [config], flags }) {
      await build({ ...flags, config });
    },
  },
  schema: {
    description:
      "Print the JSON Schema of the config; with a config also of the options of its plugins.",
    arguments: "[config]",
    async run({ arguments: [config] }) {
      const { schema } = await import("./schema-text.ts");
      await schema(config);
    },
  },
};

/** Builds a gateway and tells what came out. */
async function build(request: BuildRequest): Promise<void> {
  const { buildGateway } = await import("../build/build.ts");
  const started = performance.now();
  const { file, size, parts } = await buildGateway(request);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  const path = relative(process.cwd(), file);
  const plugins = [...parts.plugins.keys()].filter((key) => !isDefault(key));
  console.log(`${path}: ${(size / 1024 / 1024).toFixed(2)} MiB in ${seconds} s.`);
  console.log(`Plugins: ${plugins.length === 0 ? "none" : plugins.join(", ")}.`);
  console.log(`Run it with: node ${path}`);
}
