import { z } from "zod";

/** Where bytes lie, and under which name. */
export const bytesSchema = z.object({
  /** Names these very bytes. */
  token: z.uuid(),
  place: z.enum(["store", "folder", "bucket"]),
  /** How many values hold them in the store. */
  pieces: z.int().min(0),
});

/** A payload in the index. */
export const entrySchema = bytesSchema.extend({
  id: z.string(),
  info: z.object({
    size: z.int().min(0),
    stored: z.int().min(0),
    mimeType: z.string(),
    owner: z.string(),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime().exactOptional(),
  }),
  /** Lengths of the gzip members. */
  members: z.array(z.int().min(0)).max(1_000_000),
  /** SHA-256 of the bytes in a bucket. */
  digest: z.string().exactOptional(),
});

/** What is written or removed, noted before. */
export const workSchema = z.object({
  replica: z.string(),
  id: z.string(),
  bytes: z.array(bytesSchema).max(100_000),
});

/** {@link bytesSchema} read. */
export type Bytes = z.output<typeof bytesSchema>;
/** {@link entrySchema} read. */
export type IndexEntry = z.output<typeof entrySchema>;
/** {@link workSchema} read. */
export type PayloadWork = z.output<typeof workSchema>;

/** How many bytes an entry has. */
export function lengthOf({ members }: Pick<IndexEntry, "members">): number {
  return members.reduce((sum, length) => sum + length, 0);
}
