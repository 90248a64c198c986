import { boundedRecord, checkShape } from "propylon/kit";
import { HEADER_NAME, HEADER_VALUE, RESERVED_SERVERS } from "propylon/internal";
import { z } from "zod";

/** A `\${VAR}` in an entry would hand a variable of the gateway to the user who added the server. */
const plain = z
  .string()
  .max(8_192)
  .refine((text) => !text.includes("${"), {
    message: "must not refer to variables; write the entry into the config file instead",
  })
  .refine((text) => !text.includes("\0"), { message: "must not hold a NUL character" });

const headerValue = plain.refine((text) => HEADER_VALUE.test(text), {
  message: "must not hold line breaks or control characters",
});

const common = {
  name: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, {
      message: "must be 1 to 64 letters, digits, dots, dashes and underscores",
    })
    .refine((name) => !RESERVED_SERVERS.has(name), {
      message: "is reserved; choose another",
    }),
  enabled: z.boolean().default(true),
  timeout: z.union([z.number().positive(), plain]).optional(),
  prefix: plain.optional(),
  tools: z
    .strictObject({
      include: z.array(plain).max(1_000).optional(),
      exclude: z.array(plain).max(1_000).optional(),
    })
    .optional(),
};

const NO_ENVIRONMENT =
  "must not be set here, since it can make a harmless command run anything; write it into the config file";

const stdioAddition = z.strictObject({
  ...common,
  command: plain.min(1).refine((command) => !/\s/.test(command), {
    message: "must be the executable alone; put the rest into args",
  }),
  args: z.array(plain).max(256).default([]),
  type: z.literal("stdio").optional(),
  env: z.undefined({ message: NO_ENVIRONMENT }).optional(),
  cwd: z.undefined({ message: NO_ENVIRONMENT }).optional(),
});

const httpAddition = z.strictObject({
  ...common,
  url: plain.pipe(z.url({ protocol: /^https?$/, message: "must be an http or https URL" })),
  // All spellings that clients use; the loader makes them one.
  type: z
    .string()
    .regex(/^(?:https?|sse|streamable[-_]?http)$/i, {
      message: "must be streamable-http or sse",
    })
    .optional(),
  headers: boundedRecord(z.string().regex(HEADER_NAME), headerValue, 1_000).optional(),
});

/** The body of `POST /_meta/servers`: `{name, command, args?}` or `{name, url, type?, headers?}`. */
export const additionSchema = z
  .looseObject({})
  .refine((body) => "command" in body !== "url" in body, {
    message: "must have either a command or a url",
  })
  .transform((body, context): Addition => {
    const checked = checkShape<Addition>("command" in body ? stdioAddition : httpAddition, body);
    if (checked.success) return checked.data;
    for (const issue of checked.error.issues) context.addIssue({ ...issue, code: "custom" });
    return z.NEVER;
  });

/** A server to be added. */
export type Addition = z.output<typeof stdioAddition> | z.output<typeof httpAddition>;

/** The entry as it is written into the config: what was sent, without its name and without defaults. */
export function toEntry(addition: Addition): Record<string, unknown> {
  const kept = Object.entries(addition).filter(
    ([key, value]) => key !== "name" && value !== undefined && !isDefault(key, value),
  );
  return Object.fromEntries(kept);
}

function isDefault(key: string, value: unknown): boolean {
  return (
    (key === "enabled" && value === true) ||
    (key === "args" && Array.isArray(value) && value.length === 0)
  );
}
