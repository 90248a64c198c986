import { GatewayError, type ErrorCode } from "propylon";
import { EXIT, findTarget, timeoutOf, type ClientFlags } from "propylon/cli";
import { isObject, timeoutSignal } from "propylon/kit";
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
  const { url: endpoint, apiKey } = await findTarget(input);
  const url = new URL("/_meta/access/explain", endpoint);
  for (const [name, value] of Object.entries({ principal, server, tool, library, role }))
    if (value !== undefined) url.searchParams.set(name, value);
  const response = await fetch(url, {
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    // The key is for this gateway and nobody else.
    redirect: "error",
    signal: timeoutSignal(timeoutOf(input)),
  }).catch((cause: unknown) => {
    throw new GatewayError("upstream_error", `The gateway at ${url.origin} cannot be reached.`, {
      cause,
      hint: "Start it with propylon start, or check the URL.",
    });
  });
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok && isExplanation(body)) return body;
  throw failure(response.status, body);
}

function isExplanation(body: unknown): body is Explanation {
  return isObject(body) && typeof body["allowed"] === "boolean" && Array.isArray(body["steps"]);
}

const CODES: Readonly<Record<number, ErrorCode>> = {
  401: "unauthorized",
  403: "forbidden",
  422: "invalid",
};

function failure(status: number, body: unknown): GatewayError {
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
  const { message = `The gateway answered ${status}.`, hint } = error;
  const otherwise =
    status === 404
      ? "The gateway needs the plugin access."
      : "Check the target and the key (--api-key or PROPYLON_API_KEY).";
  return new GatewayError(CODES[status] ?? "upstream_error", String(message), {
    hint: typeof hint === "string" ? hint : otherwise,
  });
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
