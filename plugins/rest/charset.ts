import { isUtf8 } from "node:buffer";

type Decoder = InstanceType<typeof TextDecoder>;

/** Longest name of a charset. */
const MAX_NAME = 40;

/**
 * The text of a body in the charset that its content type names. Without one, or with one that nobody knows, it is UTF-8 if it can
 * be; what else it is, Windows-1252 tells at least without a loss.
 */
export function decodeText(body: Buffer, contentType: string): string {
  const named = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
  const decoder =
    byMark(body) ?? decoderOf(named) ?? new TextDecoder(isUtf8(body) ? "utf-8" : "windows-1252");
  // In one piece, Node 20 reads Windows-1252 as ISO-8859-1: the euro sign and quotation marks would be control characters.
  return decoder.decode(body, { stream: true }) + decoder.decode();
}

/** A byte order mark is surer than what is said of it; `utf-16` alone means little-endian (WHATWG Encoding, 4.2). */
function byMark(body: Buffer): Decoder | undefined {
  if (body[0] === 0xfe && body[1] === 0xff) return decoderOf("utf-16be");
  if (body[0] === 0xff && body[1] === 0xfe) return decoderOf("utf-16le");
  return undefined;
}

function decoderOf(name: string | undefined): Decoder | undefined {
  if (name === undefined || name.length > MAX_NAME) return undefined;
  try {
    return new TextDecoder(name);
  } catch {
    return undefined;
  }
}
