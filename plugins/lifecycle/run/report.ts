import type { Dependencies } from "./dependencies.ts";
import type { PayloadStore } from "propylon/plugins/payloads";
import type { ManagedAgent, Status } from "../record/agent.ts";

/** What is said of an agent nobody knows, or nobody may know of. */
export const NOT_FOUND = "Agent not found";

/** An agent as agent_start answers it. */
export type Started = { agent_id: string; status: Status; started_at: string };

export function startedOf({ id, status, startedAt }: ManagedAgent): Started {
  return { agent_id: id, status, started_at: startedAt };
}

/** An agent as agent_status answers it. */
export type AgentStatus = Started & {
  completed_at?: string;
  stopped_at?: string;
  summary?: string;
  stop_reason?: string;
  error?: string;
  payload_size?: number;
  payload_url?: string;
  preview?: string;
};

/** Everything that is told of an agent, in the order of the source. */
export function agentStatusOf(
  agent: ManagedAgent,
  { payloads, options }: Dependencies,
): AgentStatus {
  // A thousand of these are made for one answer, and copying the parts together would cost as much as all the rest.
  const status: AgentStatus = startedOf(agent);
  const { end, endedAt } = agent;
  if (end?.status === "completed") {
    status.completed_at = endedAt!;
    status.summary = end.summary;
  } else if (end) {
    status.stopped_at = endedAt!;
    status.stop_reason = end.reason;
    if (end.error !== undefined) status.error = end.error;
  }
  const payload = payloads?.info(agent.id);
  if (payload) {
    status.payload_size = payload.size;
    status.payload_url = payloads!.url(agent.id);
  }
  const preview = agent.status === "running" ? agent.output.tail(options.maxPreview) : "";
  if (preview !== "") status.preview = preview;
  return status;
}

/** How an agent ended; `already`: it had before, and that is what is told. */
export function endingOf(
  agent: ManagedAgent,
  already: boolean,
): Omit<AgentStatus, "agent_id"> & { already?: boolean } {
  const { status, startedAt } = agent;
  return { status, started_at: startedAt, ...timeOf(agent), ...(already && { already }) };
}

/** An agent's payload as append_payload answers it. */
export function payloadOf(
  agent: ManagedAgent,
  payloads: PayloadStore | undefined,
  already: boolean,
): Pick<AgentStatus, "agent_id" | "status" | "payload_size" | "payload_url"> & {
  already?: boolean;
} {
  const { id, status } = agent;
  return {
    agent_id: id,
    status,
    ...payloadPart(agent, payloads),
    ...(already && { already }),
  };
}

function timeOf({
  status,
  endedAt,
}: ManagedAgent): Pick<AgentStatus, "completed_at" | "stopped_at"> {
  if (endedAt === undefined) return {};
  return status === "completed" ? { completed_at: endedAt } : { stopped_at: endedAt };
}

function payloadPart(
  { id }: ManagedAgent,
  payloads: PayloadStore | undefined,
): Pick<AgentStatus, "payload_size" | "payload_url"> {
  const info = payloads?.info(id);
  return info ? { payload_size: info.size, payload_url: payloads!.url(id) } : {};
}
