import type { Answer } from "../call/answer.ts";
import { answerInputs, needsInput } from "../call/bridge.ts";
import type { Call, CallInput } from "../call/call.ts";
import { GatewayError } from "../kit/errors.ts";
import { isObject } from "../kit/json.ts";
import type { Listed } from "../plugin/filters.ts";
import type { Leases } from "../plugin/leases.ts";
import { completeCall } from "../server/tool-call.ts";
import type { Generation } from "./generation.ts";

/**
 * Makes a call inside the process, through the pipeline of a generation. What a callee asks in place of an answer
 * (`input_required`, 2026-07-28) goes to the input's peer, if it has one, and the call is made again (docs/decisions/0004).
 *
 * @throws {GatewayError} `not_found` for a tool that the config does not let out, or that is not there for the principal,
 * `unauthorized` when the principal's credential was withdrawn since its request came
 */
export async function callLocally(
  generation: Generation,
  leases: Leases,
  input: CallInput,
): Promise<Answer> {
  const { compiled } = generation;
  const { server, name, method = "tools/call" } = input;
  if (method === "tools/call" && !compiled.exposes(server, name))
    throw new GatewayError("not_found", `Server "${server}" has no tool "${name}" to call.`, {
      hint: `The config leaves it out; see servers.${server}.tools.`,
    });
  const complete = (next: CallInput): Call => completeCall(next, compiled.servers);
  const call = complete(input);
  if (!listedBy(call).every((item) => compiled.exists(item, call.principal)))
    throw new GatewayError("not_found", `Server "${server}" has no "${name}".`);
  // Its face may have waited for a body, or for a server to connect.
  leases.refuseWithdrawn(call.principal);
  const answer = await generation.call(call);
  // A caller that names a peer can answer. Every other caller gets the question as its answer.
  if (!input.peer || !needsInput(answer)) return answer;
  return answerInputs(call, answer, (next) => generation.call(complete(next)));
}

/** What a call is about, as filters know it. */
function listedBy({ method, server, name, params }: Call): readonly Listed[] {
  if (method === "tools/call") return [{ server, kind: "tool", name }];
  if (method === "prompts/get") return [{ server, kind: "prompt", name }];
  if (method === "resources/read") return [{ server, kind: "resource", name }];
  const ref = params?.["ref"];
  if (isObject(ref) && ref["type"] === "ref/prompt") return [{ server, kind: "prompt", name }];
  // A reference to a resource may name one, or the template of many.
  return [
    { server, kind: "resource", name },
    { server, kind: "resourceTemplate", name },
  ];
}
