import { GatewayError, type Json, type PluginContext, type Tool } from "propylon";
import { amendCall } from "propylon/kit";
import { findProblems } from "./check/check.ts";
import { coerceArguments } from "./coerce.ts";
import type { OpenapiOptions } from "./options.ts";

/**
 * Checks arguments against a tool's input schema, as far as that takes no pattern of its server: what is left over, its server
 * judges itself.
 *
 * @throws {GatewayError} `invalid`, with every wrong place as `data.problems` and the first as `data.path`
 */
function checkArguments(tool: Tool, args: Json): void {
  const problems = findProblems(tool.inputSchema, args);
  const [first] = problems;
  if (!first) return;
  const words = problems.map(({ path, message }) => `${path || "the arguments"}: ${message}`);
  throw new GatewayError(
    "invalid",
    `The arguments do not match the tool's input schema. ${words.join(" ")}`,
    {
      data: { path: first.path, problems },
      hint: "Correct the places that are named.",
    },
  );
}

/** Refuses wrong arguments behind the gate and before the server. Plugins' tools are checked by the core. */
export function validateCalls(
  gateway: Pick<PluginContext, "use">,
  { validate, coerce }: Pick<OpenapiOptions, "validate" | "coerce">,
): void {
  gateway.use("validate", (call, next) => {
    const { tool, args = {} } = call;
    if (call.source !== "http" || !tool) return next(call);
    const given = coerce ? coerceArguments(tool.inputSchema, args) : args;
    if (validate) checkArguments(tool, given);
    return next(coerce ? amendCall(call, { args: given }) : call);
  });
}
