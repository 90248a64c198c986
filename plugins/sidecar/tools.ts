import type { PluginContext } from "propylon";
import { traceOf } from "propylon/kit";
import { z } from "zod";
import { resultFor } from "./routes.ts";
import type { Sidecar } from "./sidecar.ts";

/** `task_submit` and `task_result`: the queue for agents. */
export function registerTools(gateway: PluginContext, sidecar: Sidecar): void {
  const { queue } = sidecar;
  gateway.tool("task_submit", {
    title: "Hand in a task",
    description:
      "Hands a task to an agent behind a durable queue and returns its id at once. Ask task_result for the outcome.",
    input: z.object({
      text: z.string().min(1).describe("What is to be done."),
      agent: z
        .string()
        .regex(/^[A-Za-z0-9_-]{1,64}$/)
        .optional()
        .describe("Agent that does the work; default: the one of this gateway."),
      context_id: z.string().min(1).optional().describe("Conversation that it belongs to."),
    }),
    output: z.object({ id: z.string() }),
    async run({ text, agent, context_id: contextId }, { principal, meta }) {
      const message = {
        role: "user" as const,
        parts: [{ text }],
        ...(contextId !== undefined && { contextId }),
      };
      const headers = (traceOf(meta ?? {}) ?? {}) as Record<string, string>;
      return { ...(await queue.submit(message, { agent, headers, owner: principal.ref })) };
    },
  });
  gateway.tool("task_result", {
    title: "Result of a task",
    description: "The result of a task from the queue, or that there is none yet.",
    input: z.object({
      id: z.string().min(1).describe("Id that task_submit returned."),
      wait_seconds: z.number().min(0).max(60).default(0).describe("How long to wait for it."),
      owner: z
        .string()
        .max(1_000)
        .optional()
        .describe("Who handed it in, as key:ci; for operators. Default: you."),
    }),
    annotations: { readOnlyHint: true },
    async run({ id, wait_seconds, owner }, { principal, signal }) {
      const task = await resultFor(sidecar, principal, { id, owner }, wait_seconds * 1_000, signal);
      return task ? { ...task } : { id, pending: true };
    },
  });
}
