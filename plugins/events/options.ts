import { durationSchema, sizeSchema } from "propylon";
import { z } from "zod";

/** Options of the events plugin. */
export const optionsSchema = z.strictObject({
  maxEvents: z
    .int()
    .min(0)
    .max(100_000)
    .default(1_000)
    .describe(
      "Events kept for readers that come back; what happens to calls and log lines are not kept.",
    ),
  maxSize: sizeSchema()
    .default(1_048_576)
    .describe("Size of the events kept, whatever their number; a bare number is bytes."),
  maxQueue: sizeSchema()
    .default(1_048_576)
    .refine((bytes) => bytes >= 1_024, "expected at least 1KiB")
    .describe("Bytes that may wait for one slow reader before its stream is ended; at least 1KiB."),
  maxStreams: z
    .int()
    .min(1)
    .max(100_000)
    .default(5_000)
    .describe("Streams open at the same time; one more is refused with 429."),
  heartbeatInterval: durationSchema()
    .default(15_000)
    .refine((ms) => ms >= 100 && ms <= 3_600_000, "expected between 100ms and 1h")
    .describe(
      "How often a quiet server-sent stream gets a comment, so that no proxy gives up on it; a bare number is seconds. WebSockets are pinged every 30 s by the gateway.",
    ),
});

/** {@link optionsSchema} filled in. */
export type EventsOptions = z.output<typeof optionsSchema>;
