import type { CommandDefinition, CommandInput, Operation } from "propylon";
import { ASKING_FLAGS, operationCommands } from "propylon/cli";
import { AUDIT_COMMANDS, CREATE_ACCOUNT } from "./cli/account-commands.ts";
import type { BackfillFlags } from "./cli/backfill.ts";
import { ACCOUNTS, KEYS, TEAMS } from "./operations/team-operations.ts";
import { TOKENS } from "./operations/token-operations.ts";
import { LIBRARIES, MEMBERSHIPS, USERS } from "./operations/user-operations.ts";

/** The administration of team-auth, over the routes of a running gateway. */
export const commands = {
  "team-auth": {
    description: "Administer users, libraries, tokens and teams of a running gateway.",
    commands: {
      user: group("Users, whose tokens see libraries.", USERS),
      library: group("Libraries, which tokens and teams see.", LIBRARIES),
      token: group("Opaque tokens of users.", TOKENS),
      team: group("Teams, each with one token that lives ten years.", TEAMS),
      key: group("Keys that sign tokens.", KEYS),
      member: group("Who owns, manages and reads a library.", MEMBERSHIPS),
      // A password that nobody chose: one on the command line would be in the shell's history.
      account: group("Service accounts of consoles.", ACCOUNTS, { create: CREATE_ACCOUNT }),
      audit: AUDIT_COMMANDS,
      backfill: {
        description: "Give libraries without an owner one. Can be run again.",
        flags: [
          { flag: "--owner <user>", description: "owner of those that the map does not name" },
          { flag: "--map <file>", description: "lines of library,user" },
          { flag: "--dry-run", description: "only print what would be done" },
          ...ASKING_FLAGS,
        ],
        async run({ flags }: CommandInput<BackfillFlags>) {
          const { backfill } = await import("./cli/backfill.ts");
          return backfill(flags);
        },
      },
    },
  },
} satisfies Readonly<Record<string, CommandDefinition>>;

function group(
  description: string,
  operations: Readonly<Record<string, Operation>>,
  others: CommandDefinition["commands"] = {},
): CommandDefinition {
  const made = operationCommands("team-auth", Object.values(operations));
  return { description, commands: { ...made, ...others } };
}
