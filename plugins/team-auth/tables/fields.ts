import { z } from "zod";

/** No control characters: names stand in log lines, headers and tables on a screen. */
const text = (max: number): z.ZodString =>
  z
    .string()
    .min(1)
    .max(max)
    // eslint-disable-next-line no-control-regex -- these are what is refused
    .regex(/^[^\u0000-\u001f\u007f]*$/, "expected no control characters");

/** Names a user, an account or an owner: stands in `ref`, so it has no spaces. */
export const idSchema = text(128).regex(/^\S+$/, "expected no spaces");
/** Names a library or a workspace. */
export const uidSchema = text(64).regex(/^\S+$/, "expected no spaces");
/** For people to read. */
export const nameSchema = text(200);
/** Of a team: the id of the instance it is, in lower case. */
export const teamIdSchema = z.uuid().transform((id) => id.toLowerCase());
/** Libraries of a token: ordered, each once. */
export const librariesSchema = z
  .array(uidSchema)
  .max(1_000)
  .transform((uids) => [...new Set(uids)]);
/** Workspaces of a team: in the order given, each once. */
export const workspacesSchema = z
  .array(uidSchema)
  .max(1_000)
  .transform((ids) => [...new Set(ids)]);
/** When something ends. */
export const instantSchema = z.iso
  .datetime({ offset: true })
  .transform((at) => new Date(at).toISOString());
/** SHA-256 in hex. */
export const hashSchema = z
  .string()
  .regex(/^[0-9a-f]{64}$/i, "expected a SHA-256 in hex")
  .transform((hash) => hash.toLowerCase());
/** A password of a service account. */
export const passwordSchema = z.string().min(16).max(1_024);
