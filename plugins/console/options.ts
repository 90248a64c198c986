import { durationSchema } from "propylon";
import { secretKeysSchema } from "propylon/kit";
import { readDuration } from "propylon/process";
import { z } from "zod";

const issuerSchema = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .describe("Where the issuer is; the paths of its teams are below it."),
  username: z.string().min(1).default("daedalus-service").describe("Its service account."),
  password: z.string().min(1).describe("Password of the service account."),
  timeout: durationSchema()
    .default(10_000)
    .describe("Longest wait for an answer of it. A bare number is seconds."),
});

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  issuer: issuerSchema
    .optional()
    .describe(
      "Who issues the tokens of the teams. Without it instances are registered and have no token.",
    ),
  secretKeys: secretKeysSchema,
  interval: durationSchema()
    .default(60_000)
    .describe(
      "How often every team at the issuer is compared with what it should be, more or less a tenth. A bare number is seconds.",
    ),
  allowedAddresses: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Host names, addresses and networks that a registry and its agents may have, besides public ones, e.g. 10.1.0.0/16.",
    ),
  registryTimeout: durationSchema()
    .default(5_000)
    .describe("Longest wait for the document of a registry. A bare number is seconds."),
  maxAgents: z
    .int()
    .min(1)
    .max(1_000)
    .default(256)
    .describe("Agents of one instance; further ones of its registry are left out."),
  maxInstances: z
    .int()
    .min(1)
    .max(10_000)
    .default(1_000)
    .describe("Instances, with those whose team the issuer has not deleted yet."),
  maxWorkspaces: z.int().min(1).max(10_000).default(1_000).describe("Workspaces."),
  maxAttachments: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(10_000)
    .describe("Instances attached to workspaces, all workspaces together."),
  maxConnectedAgents: z
    .int()
    .min(1)
    .max(10_000)
    .default(1_000)
    .describe("Agents of attached instances that are connected; nothing is known of further ones."),
  healthInterval: durationSchema()
    .optional()
    .describe(
      "How often a connected agent is asked how it is, more or less a tenth, at least 1s. A bare number is seconds. Default: the variable `DAEDALUS_MCP_HEALTH_INTERVAL`, else 1m.",
    ),
  healthTimeout: durationSchema()
    .default(5_000)
    .describe(
      "Longest wait for an agent to connect or to say how it is; without an answer it is in `error`. A bare number is seconds.",
    ),
  turnTimeout: durationSchema()
    .default(900_000)
    .describe("Longest wait for an agent's answer to a message. A bare number is seconds."),
  maxTurns: z
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .describe("Messages that are being answered at a time."),
  maxTurnsPerCaller: z
    .int()
    .min(1)
    .max(10_000)
    .default(8)
    .describe("Of these, the messages of one caller."),
});

/** Options, durations in milliseconds. */
export type ConsoleOptions = z.output<typeof optionsSchema>;

/** @throws {GatewayError} `invalid` for a variable that is not a duration */
export function healthIntervalOf(
  { healthInterval }: ConsoleOptions,
  environment: NodeJS.ProcessEnv = process.env,
): number {
  const chosen = healthInterval ?? readDuration(environment, "DAEDALUS_MCP_HEALTH_INTERVAL");
  return Math.max(1_000, chosen ?? 60_000);
}
