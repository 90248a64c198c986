import { durationSchema } from "propylon";
import { z } from "zod";

/** Schema of the option `push` of the a2a plugin. */
export const pushSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe(
        "Whether clients may have changes of their tasks posted to a URL of theirs (A2A push notifications).",
      ),
    allow: z
      .array(z.string().min(1))
      .default([])
      .describe(
        "Host names, addresses and CIDR blocks that such a URL may name although they are not public, e.g. hooks.internal or 10.1.0.0/16.",
      ),
    timeout: durationSchema()
      .default(5_000)
      .describe(
        "How long one delivery may take, and how long a shutdown waits for what is left. A bare number is seconds.",
      ),
    retries: z
      .int()
      .min(0)
      .max(10)
      .default(3)
      .describe(
        "How often a delivery is tried again after no answer, 408, 425, 429 or 5xx, 0.5 s later, then 1 s, 2 s and so on.",
      ),
    maxPending: z
      .int()
      .min(1)
      .max(100_000)
      .default(1_000)
      .describe(
        "Notifications that may wait, over all tasks. Beyond it only the end of a task is told.",
      ),
  })
  .prefault({});

/** {@link pushSchema} filled in; the timeout in milliseconds. */
export type PushOptions = Readonly<z.output<typeof pushSchema>>;
