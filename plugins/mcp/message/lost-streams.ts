import type { ServerResponse } from "node:http";
import { GatewayError } from "propylon";
import { type Fault, RPC, toFault } from "./protocol.ts";
import { sendFault } from "./reply.ts";

/** For an event id that nothing is kept for. */
export const NOT_RESUMABLE: Fault = {
  status: 400,
  code: RPC.server,
  message: "The stream of this Last-Event-ID is not known, or is not kept any more.",
};

/**
 * For a client that has all of a call's stream, the answer too. The SDK for TypeScript comes again after an answer that is an error;
 * for a stream without events it would open that of the session once more, and both would take it from each other forever.
 */
export const OVER: Fault = {
  status: 405,
  code: RPC.server,
  message: "The stream of this Last-Event-ID has ended, and all of it was sent.",
};

/** Answers with {@link OVER}. */
export function sendOver(res: ServerResponse): void {
  sendFault(res, OVER, null, { Allow: "POST, DELETE" });
}

/** For a call that ran when the gateway's process ended. Its session lives on, and its client waits. */
export const LOST_CALL: Fault = toFault(
  new GatewayError("unavailable", "The gateway was started again while this call ran.", {
    hint: "It is not known whether the call did its work. Make it again where that does no harm.",
  }),
);

/** The same, where the call ran at another replica than the one that says so. */
export const LOST_WITH_REPLICA: Fault = toFault(
  new GatewayError("unavailable", "The replica that ran this call is gone.", {
    hint: "It is not known whether the call did its work. Make it again where that does no harm.",
  }),
);
