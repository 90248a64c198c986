import { readFileSync } from "node:fs";
import { GatewayError, type ErrorCode, STAGES, type Stage } from "propylon";
import { ERROR_STATUS, toRpcError } from "../../core/kit/errors.ts";
import { page, table } from "./page.ts";

const root = new URL("../../", import.meta.url);
/** What each code means and what a client can do. */
const MEANING: Readonly<Record<ErrorCode, readonly [meaning: string, guidance: string]>> = {
  timeout: [
    "The call ran longer than it may.",
    "Ask for less, or for a longer timeout; retry only what is safe to repeat.",
  ],
  not_found: [
    "No server, tool, endpoint, route or session of that name.",
    "Check the name against `tools/list` or `propylon tools`; after a lost session, initialize again.",
  ],
  exists: ["The name is taken.", "Choose another name, or change what has it."],
  invalid: [
    "The content of the request is wrong.",
    "Correct the field that the message names; do not retry unchanged.",
  ],
  invalid_timeout: [
    "The timeout asked for is above the maximum or not a number above zero, and gating is set to refuse that as mcpo does.",
    "Ask for no more than `data.max` seconds, or leave it out.",
  ],
  not_acceptable: [
    "The answer exists only in a form that the request does not accept.",
    "Send the Accept or Accept-Encoding header that the message names.",
  ],
  not_implemented: [
    "The body has a transfer coding besides chunked.",
    "Send the body as it is, or with Content-Encoding where the route takes one.",
  ],
  unavailable: [
    "The gateway's store does not answer, so nothing was changed.",
    "Try again in a few seconds; calls that change nothing go on.",
  ],
  io_error: [
    "A file could not be written.",
    "Check disk space and permissions; nothing was changed.",
  ],
  reload_failed: [
    "The new configuration could not be applied; the old one still serves.",
    "Correct the place that the message names and reload.",
  ],
  reinit_failed: [
    "A server could not be connected again.",
    "Look at its `lastError`; it is retried with growing waits.",
  ],
  no_config_mode: [
    "The gateway was started without a config file, so nothing can be changed.",
    "Start it with a config file.",
  ],
  no_config: ["There is no config file to reload.", "Start it with a config file."],
  disabled: ["The server or tool is switched off.", "Enable it, or use another."],
  read_only: ["The gateway refuses every change.", "Restart it without read-only mode."],
  forbidden: [
    "Known, but not allowed; or a `Host` or `Origin` that is not allowed.",
    "Ask for the right, or add the host or origin to the listener.",
  ],
  unauthorized: [
    "No credentials, or wrong ones.",
    "Send `Authorization: Bearer ...` as the `WWW-Authenticate` header says.",
  ],
  rate_limited: ["Too many calls.", "Wait as long as `Retry-After` says."],
  too_large: ["The request is larger than allowed.", "Send less, or raise `limits`."],
  unsupported_media_type: [
    "The request body is not JSON, or is compressed.",
    "Send `Content-Type: application/json` without `Content-Encoding`.",
  ],
  bad_request: [
    "The request could not be read.",
    "Correct the JSON, the headers or the JSON-RPC envelope.",
  ],
  method_not_allowed: [
    "The path exists, but not for this method.",
    "Use a method of the `Allow` header.",
  ],
  circuit_open: [
    "The server failed repeatedly and is left alone for a while.",
    "Wait as long as `Retry-After` says.",
  ],
  draining: ["The gateway is shutting down.", "Retry elsewhere, or in a moment."],
  cancelled: ["The caller cancelled or went away.", "Nothing to do."],
  upstream_error: [
    "The server could not be reached, or broke the protocol.",
    "Retry later; its state and reason are in `propylon tools`.",
  ],
  result_too_large: [
    "The server's answer is larger than `maxResult`.",
    "Ask for less, or raise `maxResult` of the server.",
  ],
  internal: ["A fault of the gateway; the cause is in its log.", "Report it with the log line."],
};

/** docs/reference/errors.md */
export function errorsPage(): string {
  const rows = (Object.keys(ERROR_STATUS) as ErrorCode[]).map((code) => {
    const rpc = toRpcError(new GatewayError(code, "")).code;
    return [`\`${code}\``, String(ERROR_STATUS[code]), String(rpc), ...MEANING[code]];
  });
  return page(
    "Errors",
    'Every failure has a code. Over HTTP it is the status and the envelope `{ "ok": false, "error": { "code", "message", "data"? } }`, or an RFC 9457 problem when the client accepts `application/problem+json`. Over MCP it is a JSON-RPC error whose `data.code` is the code, or an `isError` result where the tool itself failed.',
    table(["code", "HTTP status", "JSON-RPC code", "meaning", "what a client can do"], rows),
  );
}

const STAGE_JOB: Readonly<Record<Stage, string>> = {
  observe: "Logs, counts and times every call. Outermost, so that it sees denials too.",
  gate: "Whether the call may be made: who calls, and whether server and tool are switched on. Before any traffic to a server.",
  limit: "Rate and concurrency.",
  validate: "Arguments against the tool's schema.",
  deadline:
    'Aborts the call when its time is over. How much that is, one plugin may decide: `gateway.use("deadline", { limit })`.',
  breaker: "Leaves a failing server alone for a while; counts timeouts, not a client's cancel.",
  dispatch:
    "Innermost, around the request to the server: sees what the server gets and what it answers, and may put another answer in its place.",
};

/** docs/reference/stages.md */
export function stagesPage(): string {
  return page(
    "Stages",
    "A call passes these stages from top to bottom, and its answer passes them back. `gateway.use(stage, middleware)` joins one. The list is closed; within one stage the order is that of the plugins. A stage that nobody joined costs nothing.",
    table(
      ["stage", "what belongs there"],
      STAGES.map((stage) => [`\`${stage}\``, STAGE_JOB[stage]]),
    ),
    "Behind the last stage the call reaches its server: a plugin's own tool, or an upstream.",
  );
}

/** docs/reference/hooks.md, from the source of the hook map. */
export function hooksPage(): string {
  const source = readFileSync(new URL("core/plugin/hooks.ts", root), "utf8");
  const body = /export interface CoreHooks \{\n([\s\S]*?)\n\}/.exec(source)![1]!;
  const entry = /(?:\/\*\* ([^*]*) \*\/\s*)?"?([\w:-]+)"?: (\([\s\S]*?\) => void);/g;
  const rows = [...body.matchAll(entry)].map(([, text, name, type]) => [
    `\`${name}\``,
    `\`${oneLine(type!)}\``,
    text ?? "",
  ]);
  return page(
    "Hooks",
    "`gateway.hook(name, listener)` observes. A listener cannot change, veto or fail what it observes: a throw is logged. These are the core's, and only the core emits them. `gateway.emit(name, ...)` sends one of a plugin's own, declared by merging into `GatewayHooks`.",
    table(["hook", "listener", "when"], rows),
  );
}

const oneLine = (type: string): string =>
  type
    .replaceAll(/\s+/g, " ")
    .replace("( ", "(")
    .replace(/,? ?\) =>/, ") =>");
