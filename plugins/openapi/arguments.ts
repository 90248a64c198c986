import { GatewayError, type Json, type Tool } from "propylon";
import { findProblems } from "./check/check.ts";

/**
 * Checks arguments against a tool's input schema, as far as that takes no pattern of its server: what is left over, its server
 * judges itself.
 *
 * @throws {GatewayError} `invalid`, with every wrong place as `data.problems` and the first as `data.path`
 */
export function checkArguments(tool: Tool, args: Json): void {
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
