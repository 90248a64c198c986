import { durationSchema } from "propylon";
import { z } from "zod";

/** A URL without a password in it: URLs get into logs, and fetch refuses such. */
const urlSchema = z
  .url({ protocol: /^https?$/ })
  .refine(
    (url) => !hasUserinfo(url),
    "put the credentials into apiKey or headers, not into the URL",
  );

function hasUserinfo(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return username !== "" || password !== "";
}

const common = {
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe("Headers of every request, e.g. of a proxy; never logged."),
  retries: z
    .int()
    .min(0)
    .max(10)
    .default(3)
    .describe(
      "How often a request is made again after 429, 5xx or a lost connection; never once text was passed on.",
    ),
  backoff: durationSchema()
    .default(500)
    .describe(
      "First wait before a retry; doubles each time, with jitter. A bare number is seconds.",
    ),
  maxWait: durationSchema()
    .default(60_000)
    .describe(
      "Longest wait before a retry; a provider that asks for more (Retry-After) is not asked again. A bare number is seconds.",
    ),
  timeout: durationSchema()
    .default(600_000)
    .describe("Longest time for one answer of the model. A bare number is seconds."),
  health: z
    .union([z.literal("none"), urlSchema])
    .optional()
    .describe(
      "What a health check asks: a URL, or none; default: the list of models, which costs no tokens. The key goes to the provider's own host only.",
    ),
};

const maxTools = z.int().min(1).max(10_000);
const MAX_TOOLS =
  "Most tools in one request; an agent with more fails with a sentence. Default: 128 for openai, which refuses more, else no limit.";
const TYPE =
  "The API: that of OpenAI, that of Anthropic, or any server with the chat completions of OpenAI.";
const BASE_URL =
  "Base URL of the API, usually with /v1. Required for openai-compatible; default: that of the company.";
const API_KEY = "Key of the API, e.g. ${OPENAI_API_KEY}. Optional for openai-compatible.";

const compatibleSchema = z.strictObject({
  type: z.literal("openai-compatible").describe(TYPE),
  baseUrl: urlSchema.describe(BASE_URL),
  apiKey: z.string().min(1).optional().describe(API_KEY),
  maxTools: maxTools.optional().describe(MAX_TOOLS),
  ...common,
});

const openaiSchema = z.strictObject({
  type: z.literal("openai").describe(TYPE),
  baseUrl: urlSchema.default("https://api.openai.com/v1").describe(BASE_URL),
  apiKey: z.string().min(1).describe(API_KEY),
  maxTools: maxTools.default(128).describe(MAX_TOOLS),
  ...common,
});

const anthropicSchema = z.strictObject({
  type: z.literal("anthropic").describe(TYPE),
  baseUrl: urlSchema.default("https://api.anthropic.com/v1").describe(BASE_URL),
  apiKey: z.string().min(1).describe(API_KEY),
  maxTools: maxTools.optional().describe(MAX_TOOLS),
  ...common,
});

/** One entry of `providers`: who runs models, and how to ask. */
const providerSchema = z.discriminatedUnion("type", [
  compatibleSchema,
  openaiSchema,
  anthropicSchema,
]);

/** The `providers` of the config, by the name that stands before the slash of a model. */
export const providersSchema = z
  .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/), providerSchema)
  .default({})
  .describe("Who runs models, by the name before the slash in `model`.");

/** One entry of `providers`, filled in. */
export type ProviderOptions = z.output<typeof providerSchema>;
