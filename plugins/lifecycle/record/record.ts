import { boundedRecord } from "propylon/kit";
import { keepPrincipal, keptPrincipalSchema, restorePrincipal } from "propylon/internal";
import { z } from "zod";
import { ManagedAgent } from "./agent.ts";

const endSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("completed"), summary: z.string() }),
  z.object({
    status: z.literal("stopped"),
    reason: z.enum([
      "requested",
      "shutdown",
      "failed",
      "error",
      "unfinished",
      "restarted",
      "turns",
      "calls",
      "tokens",
      "time",
    ]),
    error: z.string().optional(),
  }),
]);

/** Form in which agents are stored. */
export const recordSchema = z.object({
  id: z.uuid(),
  contract: z.string(),
  name: z.string(),
  owner: keptPrincipalSchema,
  key: z.string().optional(),
  meta: boundedRecord(z.string(), z.unknown(), 10_000),
  /** Whether the request that made it wanted it to run. */
  starts: z.boolean(),
  /** Whether it is to run. */
  isWanted: z.boolean(),
  isRunning: z.boolean(),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().optional(),
  endedAt: z.iso.datetime().optional(),
  end: endSchema.optional(),
  output: z.string(),
  /** The gateway that has it. */
  gateway: z.string(),
});

/** An agent as it is stored. */
export type AgentRecord = z.output<typeof recordSchema>;

/** An agent as it is now, or as it will be with the end that is being written. */
export function agentRecordOf(
  agent: ManagedAgent,
  { starts, gateway }: Pick<AgentRecord, "starts" | "gateway">,
): AgentRecord {
  const { id, contract, name, owner, key, meta, isWanted, status, createdAt, output } = agent;
  const { end, endedAt } = agent.nextEnd ?? agent;
  return {
    id,
    contract,
    name,
    owner: keepPrincipal(owner),
    key,
    meta,
    starts,
    isWanted,
    isRunning: status === "running" && !end,
    createdAt,
    startedAt: agent.startedAt,
    end,
    endedAt,
    output: output.text,
    gateway,
  };
}

/** The agent of a record, in the state in which it was written. */
export function restoreAgent(record: AgentRecord, maxOutput: number): ManagedAgent {
  const { contract, name, owner, key, meta, end, endedAt } = record;
  const agent = new ManagedAgent(
    { contract, name, owner: restorePrincipal(owner), key, meta, output: maxOutput },
    record,
  );
  agent.isWanted = record.isWanted;
  if (end) agent.finish(end, endedAt);
  return agent;
}
