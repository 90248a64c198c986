import type { RpcId } from "propylon/kit";
import type { Fault } from "./protocol.ts";

/** A JSON-RPC message ready to be written. */
export type Pieces = readonly (string | Buffer)[];

/**
 * A JSON message as it can stand in an event: CR and LF, which in JSON stand only between tokens, become spaces. Servers may
 * send them raw, and in an event they would end it and begin one of the server's own making. Buffers are changed in place.
 */
export function blankLineBreaks(pieces: Pieces): Pieces {
  return pieces.map((piece) => (typeof piece === "string" ? blankText(piece) : blankBytes(piece)));
}

function blankText(text: string): string {
  return text.includes("\n") || text.includes("\r") ? text.replaceAll(/[\r\n]/g, " ") : text;
}

function blankBytes(bytes: Buffer): Buffer {
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) bytes[at] = 32;
  for (let at = bytes.indexOf(13); at !== -1; at = bytes.indexOf(13, at + 1)) bytes[at] = 32;
  return bytes;
}

/** A JSON-RPC error response. */
export function faultPieces(
  { code, message, data }: Omit<Fault, "status">,
  id: RpcId | null,
): Pieces {
  return [
    JSON.stringify({
      jsonrpc: "2.0",
      id,
      error: data === undefined ? { code, message } : { code, message, data },
    }),
  ];
}

/** Size of a body in pieces. */
export function bytesOf(pieces: readonly (string | Buffer)[]): number {
  let bytes = 0;
  for (const piece of pieces)
    bytes += typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
  return bytes;
}
