import {
  GatewayError,
  type Answer,
  type Json,
  type PluginContext,
  type RouteEvent,
} from "propylon";
import { endOf, parseExact } from "propylon/kit";
import type { Entry } from "./entry.ts";
import type { Recorder } from "./recorder.ts";

/**
 * Makes a call once more, as the one who asks for it.
 *
 * @throws {GatewayError} `invalid` when the arguments were not kept whole; whatever the pipeline decides
 */
export async function replay(
  entry: Entry,
  { req, context: { principal } }: RouteEvent,
  gateway: Pick<PluginContext, "call">,
  recorder: Recorder,
): Promise<object> {
  const args = argumentsOf(entry);
  const { server, tool: name, id } = entry.head;
  recorder.repeats(args, id);
  const answer = await gateway.call({
    server,
    name,
    args,
    principal,
    source: "http",
    signal: req.signal,
  });
  return { ok: true, replayOf: id, ...endOf(answer), ...contentOf(answer) };
}

function argumentsOf(entry: Entry): Json {
  if (!entry.is("hasArguments")) return {};
  const refuse = (what: string): never => {
    throw new GatewayError("invalid", `This call cannot be repeated: its arguments were ${what}.`, {
      hint: "Make the call yourself, or see the options arguments, maxArguments and redact.",
    });
  };
  if (!entry.is("keptArguments")) return refuse("not kept");
  if (entry.is("redactedArguments")) return refuse("kept without the secrets in them");
  if (entry.is("truncatedArguments")) return refuse("too large to be kept whole");
  return parseExact(entry.argumentsText) as Json;
}

function contentOf(answer: Answer): object {
  return answer.isRpcError ? { error: answer.error } : { result: answer.result };
}
