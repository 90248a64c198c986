import type { Fact } from "../plugin/plugin-checks.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import { GatewayError } from "../kit/errors.ts";
import { sendBody, sendError } from "./failure.ts";

/** What is told once somebody has given notice. */
export const ABOUT_TO_END: Fact = {
  name: "staying",
  ok: false,
  reason: "The gateway is about to shut down.",
};

/** Answers `/livez`: 200 as long as the process can answer at all. */
export function sendLiveness(req: IncomingMessage, res: ServerResponse): void {
  sendProbe(req, res, "livez", [{ name: "process", ok: true }]);
}

/** Answers `/readyz`: 200, or 503 when a check fails; `?verbose` lists the checks. */
export function sendReadiness(
  req: IncomingMessage,
  res: ServerResponse,
  checks: readonly Fact[],
): void {
  sendProbe(req, res, "readyz", checks);
}

function sendProbe(
  req: IncomingMessage,
  res: ServerResponse,
  name: string,
  checks: readonly Fact[],
): void {
  if (req.method !== "GET" && req.method !== "HEAD") {
    sendError(
      res,
      new GatewayError("method_not_allowed", `/${name} answers GET and HEAD.`, {
        headers: { allow: "GET, HEAD" },
      }),
    );
    return;
  }
  const ok = checks.every((check) => check.ok);
  const verdict = ok ? "ok" : "not ready";
  const verbose = /[?&]verbose\b/.test(req.url ?? "");
  const lines = verbose ? checks.map(lineOf).join("") : "";
  const body = `${lines}${verdict}\n`;
  sendBody(res, ok ? 200 : 503, body, { "content-type": "text/plain; charset=utf-8" });
}

function lineOf({ name, ok, reason }: Fact): string {
  return `[${ok ? "+" : "-"}] ${name}${reason === undefined ? "" : `: ${reason}`}\n`;
}
