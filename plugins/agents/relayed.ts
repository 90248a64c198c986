import type { AgentEvent } from "propylon/plugins/progress";
import type { Progress } from "propylon";

/** What a tool of a run reported itself, with its values: without them nobody sees that a part of it has ended. */
export function relayedFrom(
  server: string,
  tool: string,
  { message, progress, total }: Progress,
): AgentEvent {
  return { type: "relayed", server, tool, message, progress, total };
}
