import type { End } from "../record/agent.ts";

/** What an agent writes that cannot or does not call a tool, with emphasis and punctuation around it. */
const MARKER = /[*_]*\[CONTRACT (COMPLETE|FAILED)\][*_]*[.:!]?/g;

/**
 * What a text of the agent says about its contract; `undefined` when nothing. Ask only about what the agent itself said: contracts
 * and tool results may hold the words too.
 *
 * Agents quote what they were told, so the words alone say nothing. They count as a sentence of their own, at the beginning or the
 * end of the text: behind "end with", in quotation marks, in a list or in the middle they are talked about. An end that is missed
 * costs a reminder; one that is made up costs the contract.
 */
export function verdictOf(text: string): End | undefined {
  const said = text.trim();
  // Of several the last one counts: before it the agent may have spoken of what it was going to do.
  const found = [...said.matchAll(MARKER)].findLast(({ 0: marker, index }) =>
    isSentence(said, marker, index),
  );
  if (!found) return undefined;
  const words = said.replaceAll(MARKER, "").trim();
  return found[1] === "COMPLETE"
    ? { status: "completed", summary: words }
    : { status: "stopped", reason: "failed", error: words || "The agent said that it failed." };
}

function isSentence(text: string, marker: string, from: number): boolean {
  const to = from + marker.length;
  const begin = text.lastIndexOf("\n", from) + 1;
  const end = text.indexOf("\n", to);
  if (begin > 0 && end !== -1) return false;
  const before = text.slice(begin, from);
  const behind = text.slice(to, end === -1 ? undefined : end);
  return endsSentence(before) && (marker.endsWith(":") || beginsSentence(behind));
}

function endsSentence(before: string): boolean {
  const words = before.trimEnd();
  return words === "" || (words !== before && /[.!?…]$/.test(words));
}

/** A small letter goes on with the sentence. */
function beginsSentence(behind: string): boolean {
  return behind.trim() === "" || /^\s+[^\s\p{Ll}]/u.test(behind);
}
