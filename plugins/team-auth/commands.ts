import type { CommandDefinition, CommandInput } from "propylon";
import { ACCOUNT, AUDIT } from "./cli/account-commands.ts";
import { ASKING } from "./cli/asking.ts";
import type { BackfillFlags } from "./cli/backfill.ts";
import { KEY, TEAM } from "./cli/team-commands.ts";
import { LIBRARIES, MEMBER, TOKEN, USER } from "./cli/user-commands.ts";

/** The administration of team-auth, over the routes of a running gateway. */
export const commands = {
  "team-auth": {
    description: "Administer users, libraries, tokens and teams of a running gateway.",
    commands: {
      user: USER,
      library: LIBRARIES,
      token: TOKEN,
      team: TEAM,
      key: KEY,
      member: MEMBER,
      account: ACCOUNT,
      audit: AUDIT,
      backfill: {
        description: "Give libraries without an owner one. Can be run again.",
        flags: [
          { flag: "--owner <user>", description: "owner of those that the map does not name" },
          { flag: "--map <file>", description: "lines of library,user" },
          { flag: "--dry-run", description: "only print what would be done" },
          ...ASKING,
        ],
        async run({ flags }: CommandInput<BackfillFlags>) {
          const { backfill } = await import("./cli/backfill.ts");
          return backfill(flags);
        },
      },
    },
  },
} satisfies Readonly<Record<string, CommandDefinition>>;
