import { durationSchema, sizeSchema } from "propylon";
import { headersSchema } from "propylon/internal";
import { CARD_PATH } from "propylon/contract";
import { z } from "zod";

/** What an agent can be spoken to in. */
export const DIALECTS = ["contract-v1", "0.3", "1.0"] as const;
/** One of {@link DIALECTS}. */
export type AgentDialect = (typeof DIALECTS)[number];

const address = () => z.url({ protocol: /^https?$/ });

/** Options of an entry of `servers` with `type: a2a`, besides those that every entry has. */
export const agentOptions = z.strictObject({
  url: address().describe(
    "Where the agent is; for a runtime of contract v1 also where messages go.",
  ),
  card: z
    .string()
    .min(1)
    .default(CARD_PATH.slice(1))
    .describe(
      "Where its card is: a path below `url`, or a URL. On another host it is read without `headers`.",
    ),
  endpoint: address()
    .optional()
    .describe(
      "Where messages go; default: what the card says, if that is on the host of `url`. Needed for an agent behind a proxy, whose card names another host.",
    ),
  dialect: z
    .enum(["auto", ...DIALECTS])
    .default("auto")
    .describe(
      "Runtime contract v1, A2A 0.3 or A2A 1.0; `auto`: a card with `supportedInterfaces` is A2A 1.0, with `protocolVersion` or `url` 0.3, else contract v1.",
    ),
  headers: headersSchema()
    .default({})
    .describe("Headers sent with every request, e.g. Authorization."),
  refreshInterval: durationSchema()
    .default(300_000)
    .describe(
      "How often the card is read again, by its ETag; a bare number is seconds. 0 = never.",
    ),
  connectTimeout: durationSchema()
    .default(10_000)
    .describe("Longest connect, and longest reading of the card; a bare number is seconds."),
  pollInterval: durationSchema()
    .default(2_000)
    .describe(
      "Longest wait between two looks at a task that cannot be streamed, the first after 0.1 s; a bare number is seconds.",
    ),
  resumeTimeout: durationSchema()
    .default(30_000)
    .describe(
      "How long a task is looked for when its agent is out of reach; a bare number is seconds.",
    ),
  maxResult: sizeSchema()
    .default(16 * 1024 * 1024)
    .describe("Largest result of a task, and largest card; a bare number is bytes."),
});

/** Checked options: durations in milliseconds, sizes in bytes. */
export type RemoteAgentOptions = z.output<typeof agentOptions>;
