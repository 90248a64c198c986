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
  /** The one that has it. */
  replica: z.string(),
});

/** An agent as it is stored. */
export type AgentRecord = z.output<typeof recordSchema>;

/** An agent as it is now, or as it will be with the end that is being written. */
export function agentRecordOf(agent: ManagedAgent, replica: string): AgentRecord {
  const { id, contract, name, owner, key, meta, starts, isWanted, createdAt, output } = agent;
  const { end, endedAt } = agent.recorded ?? {};
  return {
    id,
    contract,
    name,
    owner: keepPrincipal(owner),
    key,
    meta,
    starts,
    isWanted,
    isRunning: agent.status === "running" && !end,
    createdAt,
    startedAt: agent.startedAt,
    end,
    endedAt,
    output: output.text,
    replica,
  };
}

/** The agent of a record, in the state in which it was written. */
export function restoreAgent(record: AgentRecord, maxOutput: number): ManagedAgent {
  const { owner, starts: start, end, endedAt = record.createdAt } = record;
  const agent = new ManagedAgent(
    { ...record, owner: restorePrincipal(owner), start, output: maxOutput },
    record,
  );
  agent.isWanted = record.isWanted;
  if (end) agent.settle({ end, endedAt });
  return agent;
}
