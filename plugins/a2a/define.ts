import type { Answer, Json, Principal } from "propylon";
import type { Message, Part } from "propylon/contract";

/** A piece of an artifact, or all of it. */
export interface SkillArtifact {
  /** Default: one artifact for everything. */
  readonly artifactId?: string;
  readonly name?: string;
  readonly description?: string;
  readonly parts: readonly Part[];
  readonly metadata?: Json;
  /** Whether the parts go behind those before; default: they replace them. */
  readonly append?: boolean;
  /** Whether this was the last piece. */
  readonly lastChunk?: boolean;
}

/** One message that a skill works on, and what it can do with it. */
export interface SkillTask {
  readonly taskId: string;
  readonly contextId: string;
  readonly message: Message;
  /** The texts of the message, one per line. */
  readonly text: string;
  /** What was said in this task before. */
  readonly history: readonly Message[];
  readonly principal: Principal;
  /** Folder to work in ($WORK_DIR), which may be missing: only commands need it. */
  readonly workDir: string;
  /** Ends with the task: it was cancelled, or the time is over. */
  readonly signal: AbortSignal;
  /** Says what it is doing. */
  readonly status: (text: string) => void;
  /** Adds text to the answer while it is made. */
  readonly write: (text: string) => void;
  /** Adds to an artifact, or replaces it. */
  readonly artifact: (artifact: SkillArtifact) => void;
  /** Asks for more: the task waits, and the answer is the message of another run. Return behind it. */
  readonly ask: (question: string, state?: "input-required" | "auth-required") => void;
  /** Says that it does not want to do this. Return behind it. */
  readonly reject: (reason: string) => void;
  /** Answers with just a message, for clients that take one in place of a task. Return behind it. */
  readonly reply: (text: string) => void;
  /**
   * Calls a tool on behalf of the sender of the message.
   * @throws {GatewayError} whatever the pipeline decides
   */
  readonly call: (server: string, tool: string, args?: Json) => Promise<Answer>;
}

/** A skill written in TypeScript; see {@link defineSkill}. */
export interface SkillCode {
  /** What it can do, where the config does not say. */
  readonly description?: string;
  /**
   * Works on one message. Text or parts that it returns are its answer; nothing, when it wrote or asked already. A throw fails the
   * task: with the words of a GatewayError, and without any for other errors. Keeps no state between runs.
   */
  run(task: SkillTask): string | readonly Part[] | void | Promise<string | readonly Part[] | void>;
}

/**
 * Types a skill that is code. Its file is named by `function` of the skill in the config, which says everything else.
 *
 * @example
 * export default defineSkill({
 *   async run({ text, status, ask }) {
 *     if (text === "") return ask("What shall I count?");
 *     status("counting");
 *     return `${text.length} characters`;
 *   },
 * });
 */
export function defineSkill(code: SkillCode): SkillCode {
  return code;
}

/** Whether a value is what {@link defineSkill} returns. */
export function isSkillCode(value: unknown): value is SkillCode {
  return (
    typeof value === "object" && value !== null && "run" in value && typeof value.run === "function"
  );
}
