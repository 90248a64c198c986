import { firstBytes } from "propylon/internal";

/** How far into a line a message may begin, in bytes. */
const REACH = 4_096;
/** How a JSON-RPC message begins. */
const MESSAGE = /\{\s*"(?:jsonrpc|id|method|result|error)"\s*:/;

/**
 * Splits a line of invalid JSON into the text before it and the message. What begins as JSON has no text: it may hold what a caller
 * was to get, which belongs into no log.
 */
export function splitBanner(chunks: readonly Buffer[]): {
  readonly text: string;
  readonly message?: readonly Buffer[];
} {
  const head = firstBytes(chunks, REACH).toString("latin1");
  const at = head.search(MESSAGE);
  const end = at === -1 ? head.indexOf("{") : at;
  const text = Buffer.from(end === -1 ? head : head.slice(0, end), "latin1").toString("utf8");
  const isText = text.trim() !== "" && !text.trimStart().startsWith("[{");
  if (at <= 0 || !isText) return { text: isText ? text.trim() : "" };
  return { text: text.trim(), message: [Buffer.concat(chunks).subarray(at)] };
}
