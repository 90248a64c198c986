import type { LocalDefinitions } from "../../plugin/definitions.ts";
import type { Call } from "../../call/call.ts";
import { Answer } from "../../call/answer.ts";
import type { Json } from "../../call/types.ts";

/** Most values one completion may carry (MCP, completion/complete). */
const MAX_VALUES = 100;

/** Answers `completion/complete` from the `complete` callbacks of a plugin's prompts and resource templates. */
export async function complete(
  call: Call,
  { prompts, resourceTemplates }: LocalDefinitions,
): Promise<Answer> {
  const ref = call.params?.["ref"] as Json | undefined;
  const argument = call.params?.["argument"] as Json | undefined;
  const target =
    ref?.["type"] === "ref/prompt"
      ? prompts.find(({ name }) => name === call.name)
      : resourceTemplates.find(({ definition }) => definition.uriTemplate === call.name);
  if (!target) return Answer.error({ code: -32602, message: `Nothing to complete: ${call.name}` });
  if (typeof argument?.["name"] !== "string" || typeof argument["value"] !== "string") {
    return Answer.error({
      code: -32602,
      message: "Completion needs argument.name and argument.value as strings.",
    });
  }
  const values =
    (await target.definition.complete?.(argument["name"], argument["value"], call)) ?? [];
  const shown = values.slice(0, MAX_VALUES);
  return Answer.result({
    completion: { values: shown, total: values.length, hasMore: values.length > shown.length },
  });
}
