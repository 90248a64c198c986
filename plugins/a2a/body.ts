import { GatewayError, isGatewayError, type RouteEvent } from "propylon";

/** Longest id that a client may choose, in characters: it becomes a key, a variable and a part of subjects. */
export const MAX_ID = 1_024;

/**
 * The bytes of a body, as the listener has read them: the web's stream around them would cost an eighth of a message.
 *
 * @throws {GatewayError} `too_large`
 */
export async function readBytes({ req }: RouteEvent): Promise<Buffer> {
  const source = req.runtime?.node?.req as { readonly rawBody?: Buffer } | undefined;
  try {
    return source?.rawBody ?? Buffer.from(await req.arrayBuffer());
  } catch (error) {
    if (!isGatewayError(error) || error.code !== "too_large") throw error;
    // Without the hint, which is for who runs the gateway.
    throw new GatewayError("too_large", error.message, { cause: error });
  }
}
