import { durationSchema } from "propylon";
import { z } from "zod";
import {
  idSchema,
  nameSchema,
  passwordSchema,
  teamIdSchema,
  workspacesSchema,
} from "../tables/fields.ts";
import { administration } from "./administration.ts";

/** Longest time for which a replaced token still counts, in milliseconds. */
const MAX_GRACE_MS = 86_400_000;

/** Teams of every owner. */
export const TEAMS = {
  list: administration({ name: "team list", method: "GET", path: "/teams", words: "List teams." }),
  show: administration({
    name: "team show",
    method: "GET",
    path: "/teams/:id",
    words: "Show a team.",
  }),
  create: administration({
    name: "team create",
    method: "POST",
    path: "/teams",
    words: "Make a team and print its token; it is shown this once.",
    input: z.strictObject({
      id: teamIdSchema.meta({ description: "A UUID; it stays." }),
      name: nameSchema,
      owner: idSchema.optional().meta({ hidden: true }),
    }),
    target: ["id"],
    secret: "/jwt",
  }),
  rename: administration({
    method: "PATCH",
    path: "/teams/:id",
    words: "Rename a team.",
    input: z.strictObject({ name: nameSchema }),
  }),
  workspaces: administration({
    name: "team workspaces",
    method: "PUT",
    path: "/teams/:id/workspaces",
    words: "Replace the workspaces of a team; none: it sees nothing, and its token stays.",
    input: z.strictObject({ workspace_ids: workspacesSchema.meta({ title: "Workspaces" }) }),
  }),
  rotate: administration({
    name: "team rotate",
    method: "POST",
    path: "/teams/:id/rotate",
    words: "Make a new token and print it; the previous one is refused.",
    input: z.strictObject({
      grace: durationSchema()
        .refine((ms) => ms <= MAX_GRACE_MS, "expected at most 24h")
        .optional()
        .meta({
          flag: "--grace <duration>",
          description: "how long the previous one still counts, at most 24h; default: not at all",
          form: "How much longer the token before counts, as 10m; at most 24h. Without it, not at all.",
        }),
    }),
    secret: "/jwt",
  }),
  delete: administration({
    name: "team delete",
    method: "DELETE",
    path: "/teams/:id",
    words: "Switch a team off: its token is refused from now on.",
    confirm: "Agents of this team stop working at once.",
  }),
  reactivate: administration({
    name: "team reactivate",
    method: "POST",
    path: "/teams/:id/reactivate",
    words: "Switch a team on again, with the token it had.",
  }),
};

/** Keys that sign tokens. */
export const KEYS = {
  list: administration({ name: "key list", method: "GET", path: "/keys", words: "List keys." }),
  create: administration({
    name: "key create",
    method: "POST",
    path: "/keys",
    words: "Make a key that signs from now on; those before it only verify.",
    input: z.strictObject({
      alg: z.enum(["HS256", "EdDSA"]).optional().meta({
        flag: "--alg <algorithm>",
        description: "default: that of the config",
        form: "Without it, as the config says.",
      }),
    }),
  }),
  retire: administration({
    name: "key retire",
    method: "POST",
    path: "/keys/:kid/retire",
    words: "Refuse all tokens that a key signed, for good.",
    confirm: "A retired key does not come back.",
  }),
  reveal: administration({
    name: "key reveal",
    method: "POST",
    path: "/keys/:kid/reveal",
    words: "Print the secret of an HS256 key, for the console that signs per-turn tokens with it.",
    confirm: "The secret appears on this screen, and the audit says so.",
    secret: "/secret",
  }),
};

/** Service accounts of consoles. */
export const ACCOUNTS = {
  list: administration({
    name: "account list",
    method: "GET",
    path: "/accounts",
    words: "List service accounts.",
  }),
  create: administration({
    name: "account create",
    method: "POST",
    path: "/accounts",
    words: "Make a service account.",
    input: z.strictObject({
      name: idSchema,
      password: passwordSchema.meta({ format: "password" }),
    }),
    target: ["name"],
  }),
  change: administration({
    method: "PATCH",
    path: "/accounts/:name",
    words: "Change a service account.",
    input: z.strictObject({
      password: passwordSchema.optional().meta({ format: "password" }),
      active: z.boolean().optional(),
    }),
  }),
  disable: administration({
    name: "account disable",
    method: "PATCH",
    path: "/accounts/:name",
    words: "Refuse a service account from now on.",
    confirm: "The program with this account stops working at once.",
    body: { active: false },
  }),
  enable: administration({
    method: "PATCH",
    path: "/accounts/:name",
    words: "Let a service account in again.",
    body: { active: true },
  }),
};
