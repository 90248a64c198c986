import type { CommandDefinition, CommandInput } from "propylon";
import { ASKING_FLAGS, type ClientFlags } from "propylon/cli";

/** Flags of these commands. */
interface Flags extends ClientFlags {
  readonly after?: string;
  readonly since?: string;
  readonly limit?: string;
  readonly head?: string;
}

export const CREATE_ACCOUNT: CommandDefinition = {
  description: "Make a service account and print its password; it is shown this once.",
  arguments: "<name>",
  flags: ASKING_FLAGS,
  async run({ arguments: [name], flags }: CommandInput<Flags>) {
    const { createAccount } = await import("./verify.ts");
    await createAccount(flags, name!);
  },
};

export const AUDIT_COMMANDS: CommandDefinition = {
  description: "What was changed, by whom and when.",
  commands: {
    export: {
      description: "Print the audit as JSON lines.",
      flags: [
        { flag: "--after <seq>", description: "only rows behind this number" },
        { flag: "--since <time>", description: "only rows from this time on" },
        { flag: "--limit <count>", description: "rows at most" },
        ...ASKING_FLAGS,
      ],
      async run({ flags: { after, since, limit, ...flags } }: CommandInput<Flags>) {
        const { askLines } = await import("./ask.ts");
        const query = { after, since, limit };
        await askLines(flags, { path: "/audit", query }, (piece) => process.stdout.write(piece));
      },
    },
    verify: {
      description: "Check that no row was changed, removed or moved. Exit code 1 when one was.",
      flags: [
        { flag: "--head <seq:hash>", description: "a row that was written down before" },
        ...ASKING_FLAGS,
      ],
      async run({ flags }: CommandInput<Flags>) {
        const { verify } = await import("./verify.ts");
        return verify(flags, flags.head);
      },
    },
  },
};
