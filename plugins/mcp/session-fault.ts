import { type Fault, LEGACY_VERSIONS, RPC } from "./protocol.ts";
import type { Session } from "./session.ts";

/** For an event id that nothing is kept for. */
export const NOT_RESUMABLE: Fault = {
  status: 400,
  code: RPC.server,
  message: "The stream of this Last-Event-ID is not known, or is not kept any more.",
};

/**
 * For a session that ended, e.g. with the gateway's process. Clients tell it from other refusals: those of the Python SDK by this
 * code and these very words, which they also make of a 404 without a body, the others by the status.
 */
const SESSION_TERMINATED: Fault = {
  status: 404,
  code: RPC.invalidRequest,
  message: "Session terminated",
  data: { reason: "Session not found: send initialize again." },
};

/** Why a request has no session. */
export function sessionFault(
  given: string | undefined,
  session: Session | undefined,
  version: string | undefined,
): Fault {
  if (given === undefined) {
    return {
      status: 400,
      code: RPC.server,
      message: "The Mcp-Session-Id header is missing: send initialize first.",
    };
  }
  if (session === undefined) return SESSION_TERMINATED;
  return {
    status: 400,
    code: RPC.server,
    message: `Unsupported protocol version ${String(version).slice(0, 64)} (supported: ${LEGACY_VERSIONS.join(", ")}).`,
  };
}
