import { isObject } from "propylon/kit";

/** A body ready to send. */
export interface EncodedBody {
  readonly contentType: string;
  readonly content: string | Buffer;
}

/** An argument that cannot be sent. The tool's own failure, said to the model so that it can try again. */
export class WrongArgument extends Error {
  override readonly name = "WrongArgument";
}

/** @throws {WrongArgument} for half a surrogate pair, which has no UTF-8 */
export function encode(text: string): string {
  try {
    // RFC 3986: these four are reserved, and encodeURIComponent leaves them.
    return encodeURIComponent(text).replaceAll(
      /[!'()*]/g,
      (found) => `%${found.codePointAt(0)!.toString(16).toUpperCase()}`,
    );
  } catch {
    throw new WrongArgument("An argument is not valid Unicode.");
  }
}

/** What RFC 3986 reserves, except for what ends a value, a query or a pair: an argument must not become two parameters. */
const RESERVED = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g;

/** {@link encode} that leaves reserved characters. */
export function encodeReserved(text: string): string {
  return encode(text).replaceAll(RESERVED, (found) => decodeURIComponent(found));
}

/** @throws {WrongArgument} for anything without properties */
export function entriesOf(value: unknown): [string, unknown][] {
  if (!isObject(value)) throw new WrongArgument('"body" must be an object.');
  return Object.entries(value).filter(([, part]) => part !== undefined && part !== null);
}
