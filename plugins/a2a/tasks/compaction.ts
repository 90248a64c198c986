import type { ChatMessage } from "propylon/plugins/agents";
import { estimateTokens, tokensOf, writeTranscript } from "./transcript.ts";

/** When and how far a conversation is compacted. */
export interface CompactionLimits {
  /** Tokens, estimated, above which it is. */
  readonly maxTokens: number;
  /** Share of them that the newest messages keep. */
  readonly keepRatio: number;
}

/** What was done to a conversation: `metadata.compaction` of the task. Tokens are estimated. */
export interface CompactionReport {
  readonly compacted: true;
  /** `trim`: no summary could be had, so the oldest messages were left out. */
  readonly method: "summary" | "trim";
  readonly before: { readonly messages: number; readonly tokens: number };
  readonly after: { readonly messages: number; readonly tokens: number };
}

/** A conversation that was made shorter. */
export interface Compacted {
  readonly messages: readonly ChatMessage[];
  readonly report: CompactionReport;
}

/** Share of the tokens that a summary may take. */
const SUMMARY = 0.3;

/**
 * Makes a conversation that is too long shorter: its older part becomes a summary at the beginning of the first message that stays.
 * The last message, which is yet to be answered, always stays whole.
 *
 * @param summarise makes a summary of a transcript; may fail
 * @returns `undefined` when it is short enough, or there is nothing to leave out
 */
export async function compact(
  messages: readonly ChatMessage[],
  limits: CompactionLimits,
  summarise: (transcript: string) => Promise<string>,
): Promise<Compacted | undefined> {
  if (estimateTokens(messages) <= limits.maxTokens) return undefined;
  const cut = findCut(messages, limits);
  if (cut === 0) return undefined;
  const older = messages.slice(0, cut);
  const summary = await summarise(writeTranscript(older)).catch(() => "");
  const room = Math.floor(limits.maxTokens * SUMMARY) * 4;
  const preface =
    summary === ""
      ? `[The ${cut} messages before this were left out, because the conversation got too long.]`
      : `[Summary of the conversation before this: ${summary.slice(0, room)}]`;
  const shorter = withPreface(messages.slice(cut), preface);
  const method = summary === "" ? "trim" : "summary";
  return { messages: shorter, report: { ...describe(messages, shorter), method } };
}

/** Where the part that stays begins: with a message of the user, so that no result loses its call. */
function findCut(
  messages: readonly ChatMessage[],
  { maxTokens, keepRatio }: CompactionLimits,
): number {
  const last = messages.length - 1;
  let left = maxTokens * keepRatio - tokensOf(messages[last]!);
  let cut = last;
  for (let at = last - 1; at >= 0; at--) {
    left -= tokensOf(messages[at]!);
    if (left < 0) break;
    if (messages[at]!.role === "user") cut = at;
  }
  return cut;
}

function withPreface(
  [first, ...rest]: readonly ChatMessage[],
  text: string,
): readonly ChatMessage[] {
  return [{ role: "user", parts: [{ type: "text", text }, ...first!.parts] }, ...rest];
}

function describe(
  before: readonly ChatMessage[],
  after: readonly ChatMessage[],
): Omit<CompactionReport, "method"> {
  const sizeOf = (messages: readonly ChatMessage[]): CompactionReport["before"] => ({
    messages: messages.length,
    tokens: estimateTokens(messages),
  });
  return { compacted: true, before: sizeOf(before), after: sizeOf(after) };
}
