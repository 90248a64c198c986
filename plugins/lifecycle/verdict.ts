import type { End } from "./agent.ts";

/** What an agent writes that cannot or does not call a tool (A037, C20). */
const MARKER = /\[CONTRACT (COMPLETE|FAILED)\]/g;

/**
 * What a text of the agent says about its contract; `undefined` when nothing. Ask only about what the agent itself said: contracts
 * and tool results may hold the words too.
 */
export function verdictOf(text: string): End | undefined {
  // Of several the last one counts: before it the agent may have spoken of what it was going to do.
  const [, verdict] = [...text.matchAll(MARKER)].at(-1) ?? [];
  if (verdict === undefined) return undefined;
  const words = text.replaceAll(MARKER, "").trim();
  return verdict === "COMPLETE"
    ? { status: "completed", summary: words }
    : { status: "stopped", reason: "failed", error: words || "The agent said that it failed." };
}
