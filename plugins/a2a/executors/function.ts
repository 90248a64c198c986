import { GatewayError, type Call, type PluginContext } from "propylon";
import type { Files } from "propylon/kit";
import { textOf } from "propylon/contract";
import { isSkillCode, type SkillTask } from "../define.ts";
import type { Work } from "../tasks/task/work.ts";
import type { AgentExecutor } from "./skill-tools.ts";

/**
 * A skill that is a TypeScript or JavaScript file.
 *
 * @throws {GatewayError} `io_error` when there is no such file; `invalid` when it is not a skill
 */
export async function functionExecutor(
  file: string,
  gateway: Pick<PluginContext, "call">,
  files: Files,
  workDir: string,
): Promise<AgentExecutor> {
  const { default: code } = await files.import(file);
  if (!isSkillCode(code))
    throw new GatewayError("invalid", `${file} does not export a skill.`, {
      hint: "export default defineSkill({ run(task) { ... } }).",
    });
  return {
    description: code.description ?? "Works on a message.",
    async run(work, call) {
      const said = await code.run({ ...taskOf(work, call, gateway), workDir });
      if (typeof said === "string") work.artifact({ parts: [{ text: said }], lastChunk: true });
      else if (said) work.artifact({ parts: [...said], lastChunk: true });
    },
  };
}

function taskOf(
  work: Work,
  outer: Call,
  gateway: Pick<PluginContext, "call">,
): Omit<SkillTask, "workDir"> {
  const { taskId, contextId, message, history } = work;
  const { principal, signal, meta } = outer;
  const { peer = outer.peer } = work;
  return {
    taskId,
    contextId,
    message,
    text: textOf(message.parts),
    history,
    principal,
    signal,
    status: (text) => work.status([{ text }]),
    write: (text) => work.artifact({ parts: [{ text }], append: work.hasWritten }),
    artifact: (piece) => work.artifact(piece),
    ask: (question, state) => work.ask([{ text: question }], state),
    reject: (reason) => work.reject([{ text: reason }]),
    reply: (text) => work.reply([{ text }]),
    call: (server, name, args = {}) =>
      gateway.call({ server, name, args, principal, signal, meta, peer, source: "a2a" }),
  };
}
