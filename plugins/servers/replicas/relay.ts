import { Answer, type Call, GatewayError } from "propylon";
import { boundedRecord } from "propylon/kit";
import { keepPrincipal, keptErrorSchema, keptPrincipalSchema, scanJson } from "propylon/internal";
import { z } from "zod";

/** What replicas ask each other about servers. */
export const RELAY_TOPIC = "placed";

const jsonSchema = boundedRecord(z.string(), z.unknown(), 10_000);

const callSchema = z.object({
  id: z.string(),
  method: z.enum(["tools/call", "resources/read", "prompts/get", "completion/complete"]),
  source: z.enum(["mcp", "http", "a2a", "agent", "local"]),
  endpoint: z.string(),
  name: z.string(),
  args: jsonSchema.optional(),
  params: jsonSchema.optional(),
  meta: jsonSchema.optional(),
  timeout: z.number().optional(),
  principal: keptPrincipalSchema,
  /** Whether its client wants to hear of progress. */
  reports: z.boolean(),
  keepsTask: z.boolean(),
  peer: z.object({
    key: z.string(),
    era: z.enum(["legacy", "modern"]).optional(),
    capabilities: jsonSchema,
    logLevel: z.string().optional(),
  }),
});

/** A call as it is told to the replica that runs its server. */
export type RelayedCall = z.output<typeof callSchema>;

const common = {
  server: z.string(),
  /** Of the lease that the asked replica is believed to hold. */
  fence: z.number(),
};

/** What one replica wants of the one that runs a server. */
export const questionSchema = z.discriminatedUnion("verb", [
  /** Runs a call, or waits for the task of one. */
  z.object({
    ...common,
    verb: z.literal("call"),
    id: z.string(),
    call: callSchema,
    task: z.string().optional(),
  }),
  /** What the client of a call says to a question of the server's. */
  z.object({
    ...common,
    verb: z.literal("answer"),
    id: z.string(),
    key: z.string(),
    result: jsonSchema.optional(),
    error: keptErrorSchema.optional(),
  }),
  /** Tells how the server is, its lists, and what it says on its own. */
  z.object({ ...common, verb: z.literal("follow"), id: z.string() }),
  /** What clients of a replica that follows want to hear of. */
  z.object({
    ...common,
    verb: z.literal("want"),
    id: z.string(),
    subscribe: z.string().optional(),
    unsubscribe: z.string().optional(),
    level: z.string().nullable().optional(),
    roots: z.literal(true).optional(),
  }),
  z.object({ ...common, verb: z.literal("reconnect") }),
  z.object({ ...common, verb: z.literal("probe") }),
]);

/** One of them. */
export type RelayQuestion = z.output<typeof questionSchema>;

/** What comes back while a call runs; an answer or an error is the last. */
export const callMessageSchema = z.union([
  z.object({ progress: z.looseObject({ progress: z.number() }) }),
  z.object({ tell: z.object({ method: z.string(), params: jsonSchema.optional() }) }),
  z.object({
    ask: z.object({ key: z.string(), method: z.string(), params: jsonSchema.optional() }),
  }),
  z.object({ withdraw: z.string() }),
  z.object({ keep: z.object({ key: z.string(), task: z.string() }) }),
  z.object({ answer: z.string() }),
  z.object({ error: keptErrorSchema }),
]);

/** One of them. */
export type CallMessage = z.output<typeof callMessageSchema>;

/** A call as it is told to another replica. */
export function toRelayed(call: Call): RelayedCall {
  const { id, method, source, endpoint, name, args, params, meta, timeout, principal, peer } = call;
  return {
    id,
    method,
    source,
    endpoint,
    name,
    args,
    params,
    meta,
    timeout,
    principal: keepPrincipal(principal),
    reports: call.progress !== undefined,
    keepsTask: peer.keepTask !== undefined,
    peer: {
      key: peer.key,
      era: peer.era,
      capabilities: peer.capabilities,
      logLevel: peer.logLevel,
    },
  };
}

/** An answer as text, to the last digit as its server wrote it. */
export function toText(answer: Answer): string {
  const pieces = answer.encode(0);
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString("utf8");
}

/**
 * The answer that a text holds.
 *
 * @param maxDepth deepest accepted nesting
 * @throws {GatewayError} `upstream_error` for a text that is not an answer
 */
export function toAnswer(text: string, maxDepth: number): Answer {
  const chunks = [Buffer.from(text)];
  const { members, fault } = scanJson(chunks, maxDepth);
  const id = members.find(({ name }) => name === "id");
  if (fault !== undefined || !id)
    throw new GatewayError("upstream_error", "The replica that runs the server sent no answer.");
  return Answer.raw({ chunks, idStart: id.start, idEnd: id.end });
}
