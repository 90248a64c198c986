import { defineService } from "propylon";

/** What `get_health` answers. */
export type HealthReport =
  | { readonly status: "ok"; readonly timestamp: string; readonly message?: string }
  /** `message` says what is wrong, naming the server. */
  | { readonly status: "degraded" | "error"; readonly timestamp: string; readonly message: string };

/** How one server answered its last probe. */
export interface ServerHealth {
  readonly server: string;
  readonly reachable: boolean;
  /** Why not, or why only slowly, as a sentence. */
  readonly reason?: string;
  /** Which rung of the ladder failed. */
  readonly failed?: "transport" | "handshake" | "auth" | "list" | "slow";
  /** Round trip in milliseconds. */
  readonly latency?: number;
  /** ISO 8601. */
  readonly checkedAt: string;
}

/** The one function behind the tool, the routes, the metrics and the management list. */
export interface HealthService {
  /** Health of an agent (its servers, its model, itself), from the cache or within the inline budget. Never throws. */
  ofAgent(agent: string): Promise<HealthReport>;
  /** Health of the whole gateway. */
  ofGateway(): Promise<HealthReport>;
  /** Last known health of one server; `undefined` = never probed. */
  ofServer(server: string): ServerHealth | undefined;
}

/** Service token of the health plugin. */
export const Health = defineService<HealthService>("health");

/** Definition of the tool on every agent endpoint, word for word. */
export const GET_HEALTH = {
  name: "get_health",
  description: "Returns the health status of this agent and its downstream dependencies.",
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
} as const;
