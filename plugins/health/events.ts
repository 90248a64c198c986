import { z } from "zod";
import type { HealthReport } from "./service.ts";

type Status = HealthReport["status"];

/** Data of the event `health`. */
export interface ServerVerdict {
  readonly server: string;
  /** `degraded`: it is slow, or a part of it fails. */
  readonly status: Status;
  /** What was told last; `null`: nothing. */
  readonly was: Status | null;
}

/** Data of the event `agent_state`. */
export interface AgentVerdict {
  readonly agent: string;
  readonly status: Status;
  /** What was told last; `null`: nothing. */
  readonly was: Status | null;
}

declare module "propylon" {
  interface GatewayHooks {
    /** The verdict about a probed server changed. */
    health: (verdict: ServerVerdict) => void;
    /** The verdict about an agent changed. */
    agent_state: (verdict: AgentVerdict) => void;
  }
}

const name = z.string().max(200);
const status = z.enum(["ok", "degraded", "error"]);
const was = status.nullable();

/** Kinds of events of the health plugin. Reasons are not told: they may quote what a child process wrote. */
export const events = [
  {
    kind: "health",
    description: "The verdict about a probed server changed.",
    access: "viewer",
    data: z.strictObject({ server: name, status, was }),
  },
  {
    kind: "agent_state",
    description: "The verdict about an agent changed.",
    access: "viewer",
    data: z.strictObject({ agent: name, status, was }),
  },
] as const;
