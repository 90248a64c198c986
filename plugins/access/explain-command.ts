import { GatewayError } from "propylon";
import { askPlugin, EXIT, type ClientFlags } from "propylon/cli";
import type { Explanation } from "./service.ts";

/** Flags of `propylon access explain`. */
export interface ExplainFlags extends ClientFlags {
  readonly library?: string;
  readonly role?: string;
}

/** What is asked. */
export interface ExplainInput extends ExplainFlags {
  readonly principal: string;
  readonly server: string;
  readonly tool: string;
}

/** Prints why somebody may or may not call a tool; returns the exit code. */
export async function explain(input: ExplainInput): Promise<number> {
  const explanation = await ask(input);
  const text = input.json ? JSON.stringify(explanation, null, 2) : textOf(explanation);
  process.stdout.write(`${text}\n`);
  return explanation.allowed ? EXIT.ok : EXIT.unauthorized;
}

async function ask(input: ExplainInput): Promise<Explanation> {
  const { principal, server, tool, library, role } = input;
  const query = { principal, server, tool, library, role };
  const answer: object = await askPlugin(input, { plugin: "access", path: "/explain", query });
  if (isExplanation(answer)) return answer;
  throw new GatewayError("upstream_error", "The gateway's answer is not an explanation.", {
    hint: "Check the target: it may be another program.",
  });
}

function isExplanation(answer: object): answer is Explanation {
  const { allowed, steps } = answer as Partial<Explanation>;
  return typeof allowed === "boolean" && Array.isArray(steps);
}

function textOf({ principal, server, tool, allowed, steps }: Explanation): string {
  const lines = steps.map(({ step, verdict, reason, place, change }) =>
    [
      `  ${step.padEnd(10)} ${verdict.padEnd(7)} ${reason}${place === undefined ? "" : ` (${place})`}`,
      ...(change === undefined ? [] : [`${" ".repeat(21)}${change}`]),
    ].join("\n"),
  );
  return [`${principal} ${allowed ? "may" : "may not"} call ${server}/${tool}`, ...lines].join(
    "\n",
  );
}
