import { FIRST_PROBLEM, isObject } from "propylon/kit";
import { z } from "zod";

/** Every answer: an error, or what follows. */
const errorSchema = z.object({
  error: z
    .object({ code: z.number(), err_code: z.number().default(0), description: z.string() })
    .optional(),
});
/** That a message is stored. */
export const ackSchema = z.object({ seq: z.int() });
/** A message, its headers and body as base64. */
export const keptSchema = z.object({
  message: z.object({
    subject: z.string(),
    seq: z.int(),
    time: z.string(),
    hdrs: z.string().default(""),
    data: z.string().default(""),
  }),
});
/** How a stream is; of its subjects a page. */
export const stateSchema = z.object({
  total: z.int().default(0),
  state: z.object({
    last_seq: z.int(),
    // Looked at as a whole: there may be a hundred thousand.
    subjects: z.custom<Readonly<Record<string, number>>>(isObject).nullish(),
  }),
});

/** What JetStream refused. */
class RefusedError extends Error {
  /** JetStream's own. */
  readonly code: number;
  readonly status: number;

  constructor(code: number, status: number, description: string) {
    super(description);
    this.name = "RefusedError";
    this.code = code;
    this.status = status;
  }
}

/** @throws {RefusedError} */
export function answerOf(reply: unknown): object {
  const { error } = errorSchema.parse(reply, FIRST_PROBLEM);
  if (error) throw new RefusedError(error.err_code, error.code, error.description);
  return reply as object;
}

/** `NATS/1.0`, then a field a line. */
export function readFields(text: string): Readonly<Record<string, string>> {
  const lines = text.split("\r\n").slice(1);
  const fields = lines.flatMap((line) => {
    const place = line.indexOf(":");
    return place < 1 ? [] : [[line.slice(0, place), line.slice(place + 1).trim()]];
  });
  return Object.fromEntries(fields) as Record<string, string>;
}
