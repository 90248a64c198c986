import type { Answer } from "propylon";
import type { RpcError } from "propylon/internal";
import type { Exchange } from "./exchange.ts";
import { Faults } from "./faults.ts";
import type { Wire, WireReceiver } from "./wire.ts";

/** A connection whose session may be lost. */
interface Suspect {
  readonly name: string;
  readonly wire: Pick<Wire, "session">;
  readonly receiver: Pick<WireReceiver, "lost">;
  readonly isLost: boolean;
  request(method: string, params: undefined, options: { timeout: number }): Promise<Answer>;
}

/** JSON-RPC codes with which servers on the official SDKs refuse a session. */
const CODES = new Set([-32000, -32001, -32600]);
/** How long a server may take to say whether it knows its session, in milliseconds. */
const PING_MS = 5_000;

/**
 * Whether an HTTP status that is a refusal says that the session is gone: 404 by the specification, while others say anything
 * and name the session.
 */
export function isSessionLoss(status: number, error: RpcError | undefined): boolean {
  if (status === 404 || status === 410) return true;
  return (
    error !== undefined && CODES.has(error.code) && /session|initiali[sz]ed/i.test(error.message)
  );
}

/**
 * Finds out whether a server has forgotten its session, where its answer to a request says so with an HTTP status of success. The
 * words may be about a session of its own, e.g. of a browser, and a caller could end everybody's session by them: so a ping
 * has to be answered likewise.
 *
 * @returns whether the exchange is taken care of
 */
export function suspectLoss(
  connection: Suspect,
  exchange: Exchange,
  error: RpcError,
  settle: () => void,
): boolean {
  const isWarning = CODES.has(error.code) && /\bsession\b/i.test(error.message);
  if (!isWarning || exchange.resent || connection.wire.session === undefined) return false;
  if (exchange.method === "ping") {
    settle();
    loseSession(connection);
  } else askForSession(connection, exchange, settle);
  return true;
}

/** Sends the request of an exchange again, if a ping shows that the session is lost. */
export function askForSession(connection: Suspect, exchange: Exchange, settle: () => void): void {
  const lost = (): void => loseSession(connection, exchange);
  exchange.isHeld = true;
  connection.request("ping", undefined, { timeout: PING_MS }).then(
    ({ error: again }) => (again && CODES.has(again.code) ? lost() : settle()),
    () => (connection.isLost ? lost() : settle()),
  );
}

function loseSession({ name, receiver }: Suspect, exchange?: Exchange): void {
  if (exchange) exchange.isHeld = false;
  receiver.lost(new Faults(name).session(), "finish", exchange);
}
