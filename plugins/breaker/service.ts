import { defineService } from "propylon";

/** State of one server's circuit. */
export interface BreakerStatus {
  readonly state: "closed" | "open" | "half-open";
  /** Transport failures in a row. */
  readonly failures: number;
  /** Why it is open, as a sentence. */
  readonly reason?: string;
  /** ISO 8601. */
  readonly openedAt?: string;
  /** When the next call is let through, ISO 8601. */
  readonly retryAt?: string;
}

/** The circuits of all servers. */
export interface BreakerService {
  /** A server nothing is known of has a closed circuit. */
  statusOf(server: string): BreakerStatus;
  /** Closes a circuit by hand; the next call goes through. */
  reset(server: string): void;
}

/** Service token of the breaker plugin. */
export const Breaker = defineService<BreakerService>("breaker");

declare module "propylon" {
  interface GatewayHooks {
    /** A circuit opened, half-opened or closed. */
    "breaker:state": (server: string, status: BreakerStatus) => void;
  }
}
