import type { CommandDefinition, CommandInput } from "propylon";
import { ASKING, asking, at, type Flags } from "./asking.ts";

export const ACCOUNT: CommandDefinition = {
  description: "Service accounts of consoles.",
  commands: {
    list: asking("List service accounts.", () => ({ path: "/accounts" })),
    create: {
      description: "Make a service account and print its password; it is shown this once.",
      arguments: "<name>",
      flags: ASKING,
      async run({ arguments: [name], flags }: CommandInput<Flags>) {
        const { createAccount } = await import("./verify.ts");
        await createAccount(flags, name!);
      },
    },
    disable: asking(
      "Refuse a service account from now on.",
      ([name]) => ({ method: "PATCH", path: at("/accounts", name), body: { active: false } }),
      { arguments: "<name>" },
    ),
  },
};

export const AUDIT: CommandDefinition = {
  description: "What was changed, by whom and when.",
  commands: {
    export: {
      description: "Print the audit as JSON lines.",
      flags: [
        { flag: "--after <seq>", description: "only rows behind this number" },
        { flag: "--since <time>", description: "only rows from this time on" },
        { flag: "--limit <count>", description: "rows at most" },
        ...ASKING,
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
        ...ASKING,
      ],
      async run({ flags }: CommandInput<Flags>) {
        const { verify } = await import("./verify.ts");
        return verify(flags, flags.head);
      },
    },
  },
};
