import type { CommandInput } from "propylon";
import { ROLES } from "propylon/kit";
import type { KeyOptions } from "./print-key.ts";

/** Commands of the plugin. */
export const commands = {
  key: {
    description: "Make a key with a role: prints it once, and the line for the config.",
    flags: [
      {
        flag: "--role <role>",
        description: "what its holder may do",
        choices: ROLES,
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
      const { printKey } = await import("./print-key.ts");
      printKey(flags);
    },
  },
} as const;
