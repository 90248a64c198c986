import { z } from "zod";
import { administration } from "./administration.ts";

/** What the pages of the web interface read besides: rows with what belongs to them, and what stands beside a change. */
export const PAGES = {
  users: administration({
    method: "GET",
    path: "/pages/users",
    words: "Users with their tokens and roles, as their page shows them.",
  }),
  libraries: administration({
    method: "GET",
    path: "/pages/libraries",
    access: "principal",
    words: "Libraries with those who have a role for them.",
  }),
  tokens: administration({
    method: "GET",
    path: "/pages/tokens",
    access: "principal",
    words: "Tokens with their states, and the users for whom one can be made.",
  }),
  scopes: administration({
    method: "GET",
    path: "/pages/tokens/:id/libraries",
    access: "principal",
    words: "The libraries that a token has or may have.",
  }),
  teams: administration({
    method: "GET",
    path: "/pages/teams",
    words: "Teams with the libraries that they see.",
  }),
  accounts: administration({
    method: "GET",
    path: "/pages/accounts",
    words: "Service accounts with their states.",
  }),
  audit: administration({
    method: "GET",
    path: "/pages/audit",
    access: "operator",
    words: "The newest rows of the audit.",
  }),
  verdict: administration({
    method: "GET",
    path: "/pages/audit/verdict",
    access: "operator",
    words: "Say whether the chain of the audit is whole.",
  }),
  hits: administration({
    method: "GET",
    path: "/pages/hits",
    access: "principal",
    words: "Whom a change hits, before it is made.",
    input: z.looseObject({
      of: z.string().max(64),
      value: z.string().max(32_768).optional(),
    }),
  }),
};
