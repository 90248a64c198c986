import { type GatewayError, toGatewayError } from "propylon";
import type { ProbeRung } from "propylon/kit";
import { amendError } from "propylon/internal";
import { statusOf } from "../wire/faults.ts";

/** What a probe rejects with: the failure, and in its `data.failed` how far the probe came. */
export function toProbeFailure(thrown: unknown): GatewayError {
  const error = toGatewayError(thrown);
  return amendError(error, { data: { failed: error.data?.["failed"] ?? rungOf(error) } });
}

function rungOf(error: GatewayError): ProbeRung {
  const status = statusOf(error);
  if (status === 401 || status === 403) return "auth";
  // A redirect leads elsewhere; what would answer there is not known.
  if (status !== undefined) return status >= 300 && status < 400 ? "transport" : "handshake";
  const { code, data, cause } = error;
  // Faults.network carries what the socket said; a child's last connection has a state.
  const isNetwork = cause instanceof Error || data?.["cause"] !== undefined;
  if (code === "timeout" || code === "cancelled" || isNetwork) return "transport";
  return data?.["state"] !== undefined && data["state"] !== "failed" ? "transport" : "handshake";
}
