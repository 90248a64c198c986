import { z } from "zod";
import { idSchema, nameSchema, uidSchema } from "../tables/fields.ts";
import { administration } from "./administration.ts";

/** Users: for admins. */
export const USERS = {
  list: administration({ name: "user list", method: "GET", path: "/users", words: "List users." }),
  create: administration({
    name: "user create",
    method: "POST",
    path: "/users",
    words: "Make a user.",
    input: z.strictObject({
      id: idSchema.meta({ description: "Without spaces; it stays." }),
      name: nameSchema.optional().meta({
        description: "for people; default: the id",
        form: "For people. Without it, the id.",
      }),
    }),
    target: ["id"],
  }),
  show: administration({ method: "GET", path: "/users/:id", words: "Show a user." }),
  change: administration({
    method: "PATCH",
    path: "/users/:id",
    words: "Change a user; all tokens of an inactive user are refused.",
    input: z.strictObject({ name: nameSchema.optional(), active: z.boolean().optional() }),
  }),
  disable: administration({
    name: "user disable",
    method: "PATCH",
    path: "/users/:id",
    words: "Refuse all tokens of a user from now on.",
    confirm: "Clients with a token of this user stop working at once.",
    body: { active: false },
  }),
  enable: administration({
    name: "user enable",
    method: "PATCH",
    path: "/users/:id",
    words: "Let the tokens of a user count again.",
    body: { active: true },
  }),
  remove: administration({
    method: "DELETE",
    path: "/users/:id",
    words: "Remove a user, with tokens and memberships.",
    confirm: "Neither the user nor the tokens come back.",
  }),
};

const libraryChange = z.strictObject({
  name: nameSchema.optional().meta({ description: "For people." }),
  workspace_id: uidSchema.nullable().optional().meta({
    title: "Workspace",
    flag: "--workspace <id>",
    description: "teams of this workspace see it",
    form: "Teams of this workspace see it.",
  }),
});

/** Libraries: made by admins, changed by their owners. */
export const LIBRARIES = {
  list: administration({
    name: "library list",
    method: "GET",
    path: "/libraries",
    access: "principal",
    words: "List libraries.",
    input: z.strictObject({ scopable: idSchema.optional().meta({ hidden: true }) }),
  }),
  create: administration({
    name: "library create",
    method: "POST",
    path: "/libraries",
    words: "Make a library.",
    input: z.strictObject({
      uid: uidSchema.meta({ description: "It stays." }),
      ...libraryChange.shape,
      name: nameSchema.optional().meta({
        description: "for people; default: the uid",
        form: "For people. Without it, the uid.",
      }),
      owner: idSchema
        .optional()
        .meta({ flag: "--owner <user>", description: "its first owner", form: "Its first owner." }),
    }),
    target: ["uid"],
  }),
  show: administration({ method: "GET", path: "/libraries/:uid", words: "Show a library." }),
  change: administration({
    method: "PATCH",
    path: "/libraries/:uid",
    access: "principal",
    words: "Change a library; for its owners.",
    input: libraryChange,
  }),
  take: administration({
    method: "PATCH",
    path: "/libraries/:uid",
    access: "principal",
    words: "Take a library from its workspace.",
    body: { workspace_id: null },
  }),
  remove: administration({
    method: "DELETE",
    path: "/libraries/:uid",
    access: "principal",
    words: "Remove a library; for its owners.",
    confirm: "The library does not come back: all who see it lose it.",
  }),
};

const membershipSchema = z.strictObject({
  user: idSchema,
  library: uidSchema,
  role: z.enum(["owner", "manager", "reader"]),
});

/** Who owns, manages and reads what. */
export const MEMBERSHIPS = {
  list: administration({
    name: "member list",
    method: "GET",
    path: "/memberships",
    access: "principal",
    words: "List memberships.",
    input: z.strictObject({
      user: idSchema.optional().meta({ flag: "--user <id>", description: "only this user's" }),
      library: uidSchema
        .optional()
        .meta({ flag: "--library <uid>", description: "only those of this library" }),
    }),
  }),
  grant: administration({
    name: "member grant",
    method: "POST",
    path: "/memberships",
    access: "principal",
    words: "Give a user a role: owner, manager or reader.",
    input: membershipSchema,
    target: ["user", "library", "role"],
  }),
  revoke: administration({
    name: "member revoke",
    method: "DELETE",
    path: "/memberships",
    access: "principal",
    words: "Remove a role; a library keeps its last owner.",
    confirm: "The user can no longer do what this role allows.",
    input: membershipSchema,
  }),
};
