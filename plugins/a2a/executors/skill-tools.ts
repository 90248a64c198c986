import { randomUUID } from "node:crypto";
import { GatewayError, type Call, type Json, type PluginContext } from "propylon";
import { boundedRecord } from "propylon/kit";
import { toContent } from "propylon/internal";
import { textOf, type Message } from "propylon/contract";
import { z } from "zod";
import type { SkillOptions } from "../options.ts";
import { OWN_SERVER, type Skill } from "../tasks/task/skills.ts";
import { MAX_ID } from "../post.ts";
import { LiveTask } from "../tasks/task/live-task.ts";
import { Work } from "../tasks/task/work.ts";

/** Does the work on a message; a throw fails the task with the words of a GatewayError. */
export interface AgentExecutor {
  /** What it can do, where the config does not say. */
  readonly description: string;
  run(work: Work, call: Call): Promise<void>;
}

const inputSchema = z.looseObject({
  message: z.string().describe("What to do."),
  data: boundedRecord(z.string(), z.unknown(), 10_000)
    .optional()
    .describe("Facts that belong to it."),
  contextId: z.string().max(MAX_ID).optional().describe("Conversation to go on with."),
});

/** What our own skills are registered with. */
export interface OwnSkillInput {
  readonly gateway: Pick<PluginContext, "tool" | "info">;
  readonly options: SkillOptions;
  readonly executor: AgentExecutor;
  /** Milliseconds. */
  readonly timeout: number;
  /** Most bytes of a task. */
  readonly most: number;
  /** The work that a call is about; `undefined` when somebody just calls the tool. */
  readonly workOf: (peerKey: string) => Work | undefined;
}

/** A skill that this plugin does itself: one of its tools, for MCP clients as well. */
export function ownSkill(input: OwnSkillInput): Skill {
  const { gateway, options, executor, timeout, workOf } = input;
  const { id, name, description = executor.description } = options;
  gateway.tool(id, {
    ...(name !== undefined && { title: name }),
    description,
    input: inputSchema,
    timeout,
    async run(args, call) {
      const work = workOf(call.peer.key);
      if (!work) return runAlone(args, call, input);
      await runOn(work, call, executor);
      // The artifacts are in the task already: this is for the history of calls.
      return { content: work.parts.map(toContent) };
    },
  });
  const item = { server: OWN_SERVER, kind: "tool", name: id } as const;
  return {
    options,
    isThere: (principal) => gateway.info.exists(item, principal),
    isShown: (principal) => gateway.info.shows(item, principal),
    description: () => description,
    target: ({ message }) => ({
      server: OWN_SERVER,
      name: id,
      args: { message: textOf(message.parts) },
    }),
  };
}

/** @throws {GatewayError} what the executor throws */
async function runOn(work: Work, call: Call, executor: AgentExecutor): Promise<void> {
  const running = executor.run(work, call);
  // The call may be given up before the executor has stopped.
  work.over = running.catch(() => {});
  await running;
}

/** Somebody calls the skill as a tool: a task that nobody else sees. */
async function runAlone(
  { message: text, data, contextId = randomUUID() }: z.output<typeof inputSchema>,
  call: Call,
  { options: { id: skill }, executor, most }: OwnSkillInput,
): Promise<Json> {
  const task = new LiveTask({ id: randomUUID(), contextId, owner: call.principal, skill, most });
  const message: Message = {
    messageId: randomUUID(),
    role: "user",
    parts: [{ text }, ...(data ? [{ data }] : [])],
    contextId,
  };
  task.take(message);
  task.move("working");
  reportTo(call, task);
  const work = new Work(task, message);
  await runOn(work, call, executor);
  if (task.fault) throw task.fault;
  if (work.verdict?.state === "rejected")
    throw new GatewayError("invalid", textOf(work.verdict.parts ?? []) || "It was rejected.");
  return { content: [...work.parts, ...(work.verdict?.parts ?? [])].map(toContent) };
}

/** Tells the caller of a tool what is done, where it wants to know. */
function reportTo({ progress }: Call, task: LiveTask): void {
  if (!progress) return;
  let count = 0;
  task.watch((event) => {
    if (!("statusUpdate" in event)) return;
    const { message } = event.statusUpdate.status;
    if (message) progress({ progress: ++count, message: textOf(message.parts) });
  });
}
