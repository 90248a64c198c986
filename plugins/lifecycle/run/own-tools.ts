import { GatewayError } from "propylon";
import { checkInput } from "propylon/kit";
import type { RunTool } from "propylon/plugins/agents";
import type { PayloadInfo } from "propylon/plugins/payloads";
import { z } from "zod";
import type { ManagedAgent } from "../record/agent.ts";
import type { Dependencies } from "./dependencies.ts";
import { endingOf, payloadOf } from "./report.ts";
import { APPEND_WORDS, ownSchemas } from "../schemas.ts";

/** Where agents report to. */
export interface Contracts {
  readonly dependencies: Dependencies;
  /** @returns whether it counts: a contract ends once */
  complete(agent: ManagedAgent, summary: string, payload?: string): Promise<boolean>;
  /** @returns what was written; `undefined` when it does not count */
  append(agent: ManagedAgent, payload: string): Promise<PayloadInfo | undefined>;
}

/**
 * What an agent ends its contract with. Made for one agent: under another id they do nothing, so that no agent ends
 * another's contract.
 */
export function ownTools(contracts: Contracts, agent: ManagedAgent): readonly RunTool[] {
  const hasPayloads = contracts.dependencies.payloads !== undefined;
  const completion: z.ZodType<z.output<typeof ownSchemas.completeWithPayload>> = hasPayloads
    ? ownSchemas.completeWithPayload
    : ownSchemas.complete;
  const complete: RunTool = {
    name: "agent_complete",
    description: "Completes your contract. Nothing you do afterwards counts.",
    inputSchema: jsonSchema(completion),
    async run(args) {
      const { summary, payload } = own(agent, args, completion);
      const counts = await contracts.complete(agent, summary, payload);
      return JSON.stringify(endingOf(agent, !counts));
    },
  };
  const append: RunTool = {
    name: "append_payload",
    description: APPEND_WORDS,
    inputSchema: jsonSchema(ownSchemas.append),
    async run(args) {
      const { payload } = own(agent, args, ownSchemas.append);
      const added = await contracts.append(agent, payload);
      return JSON.stringify(payloadOf(agent, contracts.dependencies.payloads, !added));
    },
  };
  return hasPayloads ? [complete, append] : [complete];
}

function jsonSchema(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io: "input" });
  return json;
}

/** @throws {GatewayError} `invalid`; `forbidden` for somebody else's id */
function own<T extends { readonly agent_id?: string | undefined }>(
  { id }: ManagedAgent,
  args: unknown,
  schema: z.ZodType<T>,
): T {
  const checked = checkInput(args, schema);
  if (checked.agent_id === undefined || checked.agent_id === id) return checked;
  throw new GatewayError("forbidden", "That is not your agent_id.", { hint: `Yours is ${id}.` });
}
