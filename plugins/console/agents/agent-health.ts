import type { Answer } from "propylon";
import { FIRST_PROBLEM, parseJson } from "propylon/kit";
import { z } from "zod";

/** How an agent is, as the console shows it. */
export interface AgentHealth {
  readonly status: "ok" | "degraded" | "error";
  /** Why it is not well. */
  readonly message: string | null;
  /** ISO 8601. */
  readonly checked_at: string;
}

/** Longest message of an agent, in characters. */
const MAX_MESSAGE = 500;
const MAX_DEPTH = 8;

const reportSchema = z.object({
  status: z.enum(["ok", "degraded", "error"]),
  message: z.string().nullish(),
});
const textSchema = z.object({ type: z.literal("text"), text: z.string() });

/** What an agent answered to `get_health`; anything but a report is an error. */
export function readHealth(answer: Answer): AgentHealth {
  if (answer.isRpcError) return notWell(`get_health failed: ${answer.error!.message}`);
  const report = answer.isError ? undefined : reportOf(answer.result?.["content"]);
  if (!report) return notWell("get_health does not answer with a status.");
  return { status: report.status, message: shorten(report.message), checked_at: now() };
}

/** An agent that cannot be asked. */
export function notWell(message: string): AgentHealth {
  return { status: "error", message: shorten(message), checked_at: now() };
}

function reportOf(content: unknown): z.output<typeof reportSchema> | undefined {
  const { data: block } = textSchema.safeParse(
    Array.isArray(content) ? content[0] : undefined,
    FIRST_PROBLEM,
  );
  if (!block) return undefined;
  try {
    return reportSchema.safeParse(parseJson(Buffer.from(block.text), MAX_DEPTH), FIRST_PROBLEM)
      .data;
  } catch {
    return undefined;
  }
}

function shorten(message: string | null | undefined): string | null {
  return message?.slice(0, MAX_MESSAGE) || null;
}

function now(): string {
  return new Date().toISOString();
}
