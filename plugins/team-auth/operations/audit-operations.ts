import { z } from "zod";
import { hashSchema, instantSchema } from "../tables/fields.ts";
import { administration } from "./administration.ts";

const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** The audit: for operators. */
export const AUDIT = {
  read: administration({
    method: "GET",
    path: "/audit",
    access: "operator",
    words: "The audit as JSON lines, oldest first; with `newest`, the newest first.",
    input: z.strictObject({
      after: count.optional(),
      since: instantSchema.optional(),
      limit: count.min(1).optional(),
    }),
  }),
  verify: administration({
    method: "GET",
    path: "/audit/verify",
    access: "operator",
    words: "Check that no row was changed, removed or moved.",
    input: z.strictObject({ seq: count.min(1).optional(), hash: hashSchema.optional() }),
  }),
};
