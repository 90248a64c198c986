import { z } from "zod";

/** Data of the event `audit`: a row of the audit without its details. */
export interface AuditNews {
  /** Number of the row. */
  readonly seq: number;
  /** `kind:id` of who made the change, or `cli`. */
  readonly actor: string;
  /** A noun and a verb, such as `team.rotate`. */
  readonly action: string;
  /** `kind:id` of what was changed. */
  readonly target: string;
}

/** Data of the event `team`. */
export interface TeamNews {
  /** Number of the row of the audit. */
  readonly seq: number;
  /** Id of the team. */
  readonly team: string;
  /** As in the audit, such as `team.rotate`. */
  readonly action: string;
}

declare module "propylon" {
  interface GatewayHooks {
    /** Somebody changed who may see what, at this gateway or another one of the database. */
    audit: (row: AuditNews) => void;
    /** A team was changed, at this gateway or another one of the database. */
    team: (change: TeamNews) => void;
  }
}

/** Longest text of an event, in characters. */
export const MAX_TEXT = 300;
const text = z.string().max(MAX_TEXT);

/** Kinds of events of team-auth. Details of the audit are not told: readers who need them read the row. */
export const events = [
  {
    kind: "audit",
    description: "Somebody changed who may see what: a new row of the audit of team-auth.",
    access: "operator",
    data: z.strictObject({ seq: z.int().min(1), actor: text, action: text, target: text }),
    once: "seq",
  },
  {
    kind: "team",
    description: "A team was changed.",
    access: "admin",
    data: z.strictObject({ seq: z.int().min(1), team: text, action: text }),
    once: "seq",
  },
] as const;
