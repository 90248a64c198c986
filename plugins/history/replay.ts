import {
  endOf,
  GatewayError,
  type Answer,
  type Json,
  type PluginContext,
  type RouteEvent,
} from "propylon";
import type { Entry } from "./entry.ts";
import type { Recorder } from "./recorder.ts";

/**
 * Makes a call once more, as whoever asks for it.
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
  recorder.repeats(args, entry.id);
  const { server, tool: name, id } = entry;
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

function argumentsOf({ args, hasArguments }: Entry): Json {
  if (!hasArguments) return {};
  const refuse = (what: string): never => {
    throw new GatewayError("invalid", `This call cannot be repeated: its arguments were ${what}.`, {
      hint: "Make the call yourself, or see the options arguments, argumentLimit and redact.",
    });
  };
  if (!args) return refuse("not kept");
  if (args.redacted) return refuse("kept without the secrets in them");
  if (args.truncated) return refuse("too large to be kept whole");
  return JSON.parse(args.text) as Json;
}

function contentOf(answer: Answer): object {
  return answer.isRpcError ? { error: answer.error } : { result: answer.result };
}
