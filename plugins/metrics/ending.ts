import { outcomeOf, type Answer } from "propylon";

/** How a call ended, by the layer in which it failed; the words of the log's `outcome`. */
export const ENDINGS = ["ok", "transport_error", "rpc_error", "tool_error"] as const;

/** One of {@link ENDINGS}. */
export type Ending = (typeof ENDINGS)[number];

/** An ending, with its code: a code of the error table, a JSON-RPC code, `tool_error`, or nothing. */
export interface End {
  readonly ending: Ending;
  readonly code: string;
}

const OK: End = { ending: "ok", code: "" };
const TOOL_ERROR: End = { ending: "tool_error", code: "tool_error" };

/** Sorts the end of a call; never parses a large result. */
export function endOf(end: Answer | Error): End {
  const { transport, rpc, tool } = outcomeOf(end);
  if (transport !== "ok") return { ending: "transport_error", code: transport };
  if (rpc !== "ok") return { ending: "rpc_error", code: String(rpc) };
  return tool === "ok" ? OK : TOOL_ERROR;
}
