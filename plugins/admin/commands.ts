import type { CommandDefinition, CommandInput } from "propylon";
import { ASKING_FLAGS, readCount } from "propylon/cli";
import type { CallsFlags, StderrFlags } from "./watch-commands.ts";

/** What a running gateway is doing, from the command line. */
export const commands = {
  calls: {
    description: "List the calls that a running gateway is working on, or end one.",
    flags: [
      { flag: "--cancel <id>", description: "end this call in place of a list" },
      { flag: "--server <name>", description: "only calls of this server" },
      ...ASKING_FLAGS,
    ],
    async run({ flags }: CommandInput<CallsFlags>) {
      const { calls } = await import("./watch-commands.ts");
      await calls(flags);
    },
  },
  stderr: {
    description: "Print what the child of a server of a running gateway wrote last.",
    arguments: "<server>",
    flags: [
      {
        flag: "--lines <count>",
        description: "how many lines, up to 1000",
        default: 200,
        read: readCount,
      },
      ...ASKING_FLAGS,
    ],
    async run({ arguments: [server], flags }: CommandInput<StderrFlags>) {
      const { stderr } = await import("./watch-commands.ts");
      await stderr(server!, flags);
    },
  },
} satisfies Readonly<Record<string, CommandDefinition>>;
