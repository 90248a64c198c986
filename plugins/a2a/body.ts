import type { IncomingMessage } from "node:http";
import { GatewayError, type RouteEvent } from "propylon";

/** Longest id that a client may choose, in characters: it becomes a key, a variable and a part of subjects. */
export const MAX_ID = 1_024;

/**
 * The bytes of a body. One that says its length is refused by the listener; of others the end of the room is met while reading.
 *
 * @throws {GatewayError} `too_large`
 */
export async function readBytes({ req }: RouteEvent): Promise<Buffer> {
  const source = req.runtime?.node?.req as IncomingMessage | undefined;
  // What says its length ends there. The web's stream around it would cost an eighth of a message.
  if (source?.headers["content-length"] !== undefined && !req.bodyUsed)
    return Buffer.concat((await source.toArray()) as Buffer[]);
  try {
    return Buffer.from(await req.arrayBuffer());
  } catch (error) {
    const { status, message } = error as { readonly status?: unknown; readonly message: string };
    throw status === 413 ? new GatewayError("too_large", message, { cause: error }) : error;
  }
}
