import { boundedRecord } from "propylon/kit";
import { GatewayError } from "propylon";
import { z } from "zod";
import { endSchema, sizeOfEnd, type TaskEnd, toEnd } from "./end.ts";

/** Form in which tasks are stored. */
export const ownTaskSchema = z.object({
  id: z.uuid(),
  /** `ref` of its owner. */
  owner: z.string(),
  server: z.string(),
  name: z.string(),
  format: z.string().optional(),
  state: z.enum(["working", "completed", "failed", "cancelled"]),
  createdAt: z.iso.datetime(),
  endedAt: z.iso.datetime().optional(),
  end: endSchema.optional(),
  /** The task of its server, while it is at work. */
  origin: z
    .object({ id: z.string(), capabilities: boundedRecord(z.string(), z.unknown(), 10_000) })
    .optional(),
  /** The one that works on it, or did. */
  replica: z.string(),
});

/** A task as it is stored. */
export type OwnTaskRecord = Readonly<z.output<typeof ownTaskSchema>>;

/** Largest end that is stored, in bytes. */
const MAX_STORED = 3 * 1024 * 1024;

/** An end that fits into the store, for the time after a restart. */
export function toStored(end: TaskEnd): TaskEnd {
  if (sizeOfEnd(end) <= MAX_STORED) return end;
  return toEnd(
    new GatewayError("too_large", "The result was too large to be kept through a restart.", {
      hint: "Make the call again if that does no harm.",
    }),
  );
}

/** How a task ends whose process ended. */
export function interrupted(): TaskEnd {
  return toEnd(
    new GatewayError("unavailable", "The gateway was restarted while the task was running.", {
      hint: "Whether the tool did its work is not known: look before you make the call again.",
    }),
  );
}
