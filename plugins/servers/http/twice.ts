import { isObject } from "propylon/kit";
import type { Exchange } from "../wire/exchange.ts";

/** Requests that only read. `tools/call` is as its tool says. */
const READS: ReadonlySet<string> = new Set([
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "prompts/list",
  "resources/read",
  "prompts/get",
  "completion/complete",
  "server/discover",
  "tasks/get",
]);

/** Whether a request may run twice: it only reads, or its server says of the tool that a second time changes nothing. */
export function mayRunTwice({ method, call }: Exchange): boolean {
  if (method !== "tools/call") return READS.has(method);
  const hints = call?.tool?.["annotations"];
  return isObject(hints) && (hints["readOnlyHint"] === true || hints["idempotentHint"] === true);
}
