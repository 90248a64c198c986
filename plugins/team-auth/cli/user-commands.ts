import type { CommandDefinition, CommandFlag } from "propylon";
import { asking, at, type Flags, given, post } from "./asking.ts";

const LIBRARY: CommandFlag = {
  flag: "--library <uid>",
  description: "a library that it sees; repeatable, the first counts most",
  repeatable: true,
};

const scope = ({ library }: Flags): unknown => library ?? [];

export const USER: CommandDefinition = {
  description: "Users, whose tokens see libraries.",
  commands: {
    list: asking("List users.", () => ({ path: "/users" })),
    create: asking("Make a user.", ([id], { name }) => post("/users", given({ id, name })), {
      arguments: "<id>",
      flags: [{ flag: "--name <name>", description: "for people; default: the id" }],
    }),
    disable: asking(
      "Refuse all tokens of a user from now on.",
      ([id]) => ({ method: "PATCH", path: at("/users", id), body: { active: false } }),
      { arguments: "<id>" },
    ),
    enable: asking(
      "Let the tokens of a user count again.",
      ([id]) => ({ method: "PATCH", path: at("/users", id), body: { active: true } }),
      { arguments: "<id>" },
    ),
  },
};

export const LIBRARIES: CommandDefinition = {
  description: "Libraries, which tokens and teams see.",
  commands: {
    list: asking("List libraries.", () => ({ path: "/libraries" })),
    create: asking(
      "Make a library.",
      ([uid], { name, workspace, owner }) =>
        post("/libraries", given({ uid, name, owner, workspace_id: workspace })),
      {
        arguments: "<uid>",
        flags: [
          { flag: "--name <name>", description: "for people; default: the uid" },
          { flag: "--workspace <id>", description: "teams of this workspace see it" },
          { flag: "--owner <user>", description: "its first owner" },
        ],
      },
    ),
  },
};

export const TOKEN: CommandDefinition = {
  description: "Opaque tokens of users.",
  commands: {
    list: asking("List tokens.", (_, { user }) => ({ path: "/tokens", query: { user } }), {
      flags: [{ flag: "--user <id>", description: "only this user's" }],
    }),
    create: asking(
      "Make a token and print it; it is shown this once.",
      ([user, name], flags) =>
        post(
          "/tokens",
          given({
            user,
            name,
            kind: flags.admin === true ? "admin" : undefined,
            libraries: scope(flags),
            expires_at: flags.expires,
          }),
        ),
      {
        arguments: "<user> <name>",
        flags: [
          { flag: "--admin", description: "it administrates for the user, and reads no library" },
          LIBRARY,
          { flag: "--expires <time>", description: "when it ends, e.g. 2030-01-31T00:00:00Z" },
        ],
      },
    ),
    scope: asking(
      "Replace the libraries of a token; none: it sees nothing.",
      ([id], flags) => ({
        method: "PATCH",
        path: at("/tokens", id),
        body: { libraries: scope(flags) },
      }),
      { arguments: "<id>", flags: [LIBRARY] },
    ),
    replace: asking(
      "Make a token in place of another, which is refused from now on.",
      ([id]) => post(`${at("/tokens", id)}/replace`),
      { arguments: "<id>" },
    ),
    revoke: asking(
      "Refuse a token from now on, for good.",
      ([id]) => ({ method: "DELETE", path: at("/tokens", id) }),
      { arguments: "<id>" },
    ),
  },
};

export const MEMBER: CommandDefinition = {
  description: "Who owns, manages and reads a library.",
  commands: {
    list: asking(
      "List memberships.",
      (_, { user, library }) => ({
        path: "/memberships",
        query: given({ user, library }) as Record<string, string>,
      }),
      {
        flags: [
          { flag: "--user <id>", description: "only this user's" },
          { flag: "--library <uid>", description: "only those of this library" },
        ],
      },
    ),
    grant: asking(
      "Give a user a role: owner, manager or reader.",
      ([user, library, role]) => post("/memberships", { user, library, role }),
      { arguments: "<user> <library> <role>" },
    ),
    revoke: asking(
      "Remove a role; a library keeps its last owner.",
      ([user, library, role]) => ({
        method: "DELETE",
        path: "/memberships",
        query: { user, library, role },
      }),
      { arguments: "<user> <library> <role>" },
    ),
  },
};
