import { Answer } from "../answer.ts";
import { logCalls } from "./call-log.ts";
import type { CompileInput } from "./compile.ts";
import type { LocalProvider } from "../local/provider.ts";
import { createDeadline, type StagedMiddleware } from "./pipeline.ts";
import type { Call, Middleware } from "../types.ts";

/** The stages that exist without any plugin; each comes first in its stage, and is left out where it has nothing to do. */
export function coreStages({
  config,
  scopes,
  running,
  log,
}: Omit<CompileInput, "upstreams">): StagedMiddleware[] {
  const locals = new Map(
    scopes.filter(({ local }) => !local.isEmpty).map(({ name, local }) => [name, local]),
  );
  const stages: StagedMiddleware[] = [
    { stage: "deadline", run: createDeadline(timeouts(config, locals), running) },
  ];
  if (locals.size > 0) stages.push({ stage: "validate", run: validateLocally(locals) });
  if (log.isLevelEnabled("info")) stages.push({ stage: "observe", run: logCalls(log) });
  return stages;
}

/** The time of a call: what its caller asked for, else its server's or tool's, else the gateway's. */
function timeouts(
  { servers, timeouts: { default: fallback } }: CompileInput["config"],
  locals: ReadonlyMap<string, LocalProvider>,
): (call: Call) => number {
  const limits = new Map(
    Object.entries(servers).map(([name, { timeout }]) => [name, timeout ?? fallback]),
  );
  const ofTool = ({ method, server, name }: Call): number | undefined =>
    method === "tools/call" ? locals.get(server)?.tool(name)?.timeout : undefined;
  return (call) => call.timeout ?? limits.get(call.server) ?? ofTool(call) ?? fallback;
}

/** Checks the arguments of plugin tools; an upstream answers for its own. */
function validateLocally(locals: ReadonlyMap<string, LocalProvider>): Middleware {
  return (call, next) => {
    const tool =
      call.method === "tools/call" ? locals.get(call.server)?.tool(call.name) : undefined;
    if (!tool) return next(call);
    const checked = tool.check(call.args);
    return checked instanceof Answer ? Promise.resolve(checked) : next({ ...call, args: checked });
  };
}
