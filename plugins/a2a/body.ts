import type { RouteEvent } from "propylon";

/** Longest id that a client may choose, in characters: it becomes a key, a variable and a part of subjects. */
export const MAX_ID = 1_024;

/**
 * The bytes of a body, as the listener has read them: the web's stream around them would cost an eighth of a message.
 *
 * @throws {GatewayError} `too_large`
 */
export async function readBytes({ req }: RouteEvent): Promise<Buffer> {
  const source = req.runtime?.node?.req as { readonly rawBody?: Buffer } | undefined;
  return source?.rawBody ?? Buffer.from(await req.arrayBuffer());
}
