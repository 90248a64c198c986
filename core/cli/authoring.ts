import type { CommandDefinition, CommandInput } from "../plugin/command.ts";
import type { KeyOptions } from "./new-key.ts";

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
        flag: "--explain <plugin>",
        description: "print what a plugin brings, and how it is joined to the others",
      },
      { flag: "--json", description: "print JSON" },
    ],
    async run({ arguments: [config], flags }: CommandInput<CheckFlags>) {
      if (flags.explain !== undefined) {
        const { explain } = await import("./plugin-explanation.ts");
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
      const { graph } = await import("./flow-chart.ts");
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
      const { build } = await import("./build-report.ts");
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
  key: {
    description: "Make a key with a role: prints it once, and the line for the config.",
    flags: [
      {
        flag: "--role <role>",
        description: "what its holder may do",
        choices: ["viewer", "caller", "operator", "admin", "service"],
        required: true,
      },
      {
        flag: "--name <name>",
        description: "name of the key in the config, logs and audit",
        required: true,
      },
      { flag: "--json", description: "print JSON" },
    ],
    async run({ flags }: CommandInput<KeyOptions>) {
      const { printKey } = await import("./new-key.ts");
      printKey(flags);
    },
  },
};
