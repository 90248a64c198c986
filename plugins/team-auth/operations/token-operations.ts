import { z } from "zod";
import {
  hashSchema,
  idSchema,
  instantSchema,
  librariesSchema,
  nameSchema,
} from "../tables/fields.ts";
import { administration } from "./administration.ts";

const tokenSchema = z.strictObject({
  user: idSchema.meta({ title: "User" }),
  name: nameSchema.meta({ description: "What it is for: a laptop, a program." }),
  kind: z.enum(["access", "admin"]).optional().meta({
    flag: "--admin",
    description: "it administrates for the user, and reads no library",
  }),
  libraries: librariesSchema.optional().meta({
    title: "Libraries",
    flag: "--library <uid>",
    description: "a library that it sees; repeatable, the first counts most",
    form: "Those that the user owns or manages. The first is preferred.",
  }),
  expires_at: instantSchema.optional().meta({
    title: "Ends",
    flag: "--expires <time>",
    description: "when it ends, e.g. 2030-01-31T00:00:00Z",
    form: "As 2030-01-31T00:00:00Z. Without it, it does not expire.",
  }),
});

/** Opaque tokens: of admins for everybody, of tokens that administrate for their users, and of others for themselves. */
export const TOKENS = {
  list: administration({
    name: "token list",
    method: "GET",
    path: "/tokens",
    access: "principal",
    words: "List tokens.",
    input: z.strictObject({
      user: idSchema.optional().meta({ flag: "--user <id>", description: "only this user's" }),
    }),
  }),
  create: administration({
    name: "token create",
    method: "POST",
    path: "/tokens",
    access: "principal",
    words: "Make a token and print it; it is shown this once.",
    input: tokenSchema,
    target: ["user", "name"],
    secret: "/secret",
  }),
  import: administration({
    method: "POST",
    path: "/tokens/import",
    words: "Take over tokens of another system by their SHA-256.",
    input: z.strictObject({
      tokens: z
        .array(tokenSchema.omit({ kind: true }).extend({ hash: hashSchema }))
        .max(1_000)
        .min(1),
    }),
  }),
  show: administration({
    method: "GET",
    path: "/tokens/:id",
    access: "principal",
    words: "Show a token.",
  }),
  change: administration({
    method: "PATCH",
    path: "/tokens/:id",
    access: "principal",
    words: "Change a token; `active: false` is for good.",
    input: tokenSchema
      .omit({ user: true, kind: true })
      .partial()
      .extend({ active: z.boolean().optional() }),
  }),
  scope: administration({
    name: "token scope",
    method: "PATCH",
    path: "/tokens/:id",
    access: "principal",
    words: "Replace the libraries of a token; none: it sees nothing.",
    input: z.strictObject({ libraries: tokenSchema.shape.libraries.default([]) }),
  }),
  replace: administration({
    name: "token replace",
    method: "POST",
    path: "/tokens/:id/replace",
    access: "principal",
    words: "Make a token in place of another, which is refused from now on.",
    confirm: "The token before stops working at once, and the new one is shown once.",
    secret: "/secret",
  }),
  revoke: administration({
    name: "token revoke",
    method: "DELETE",
    path: "/tokens/:id",
    access: "principal",
    words: "Refuse a token from now on, for good.",
    confirm: "A revoked token does not come back.",
  }),
};
