import { type Call, type Middleware, amendCall } from "../call/call.ts";
import { Answer } from "../call/answer.ts";
import { logCalls } from "../call/outcome.ts";
import type { Server } from "../call/server.ts";
import type { PluginServer } from "../server/plugin-server.ts";
import { ReshapedServer } from "../server/reshaped-server.ts";
import type { Logger } from "pino";
import type { GatewayConfig } from "../config/schema.ts";
import type { InFlightSet } from "../kit/cancellation.ts";
import {
  createDeadline,
  type Abortion,
  type StagedMiddleware,
  type Deadline,
  type Timeouts,
} from "../call/pipeline.ts";
import { onlyOne, type Scope } from "./scope.ts";

/** What the stages are made from. */
export interface StagesInput {
  readonly scopes: readonly Scope[];
  /** As everybody sees them. */
  readonly servers: ReadonlyMap<string, Server>;
  readonly running: InFlightSet<Abortion>;
  readonly log: Logger;
}

/** The stages that exist without any plugin; each comes first in its stage, and is left out where it has nothing to do. */
export function coreStages(
  { scopes, servers, running, log }: StagesInput,
  allowance: Allowance,
): StagedMiddleware[] {
  // One whose tools plugins have changed checks what they get by itself.
  const locals = new Map(
    [...localsOf(scopes)].filter(([name]) => {
      const server = servers.get(name);
      return !(server instanceof ReshapedServer && server.changes("tool"));
    }),
  );
  const rule = pluginRule(scopes) ?? ownRule(allowance);
  const stages: StagedMiddleware[] = [{ stage: "deadline", run: createDeadline(rule, running) }];
  if (locals.size > 0) stages.push({ stage: "validate", run: validateLocally(locals) });
  if (log.isLevelEnabled("info")) stages.push({ stage: "observe", run: logCalls(log) });
  return stages;
}

/** What the config and the tools themselves say about how long a call may run; see `GatewayInfo.timeouts`. */
export type Allowance = (call: Pick<Call, "method" | "server" | "name">) => Timeouts;

/** Reads the allowance off a config and its plugins. */
export function createAllowance({
  config,
  servers: shown,
}: {
  readonly config: GatewayConfig;
} & Pick<StagesInput, "servers">): Allowance {
  const gateway: Timeouts = { default: config.timeouts.default };
  const servers = new Map(
    Object.entries(config.servers).map(([name, { timeout }]) => [
      name,
      timeout === undefined ? gateway : { ...gateway, server: timeout },
    ]),
  );
  return ({ method, server, name }) => {
    const isOfPlugin = method === "tools/call" && !servers.has(server);
    const tool = isOfPlugin ? shown.get(server)?.timeoutOf?.(name) : undefined;
    return tool === undefined ? (servers.get(server) ?? gateway) : { ...gateway, tool };
  };
}

/** The time of a call: what its caller asked for, else its tool's or server's, else the gateway's. */
function ownRule(allowance: Allowance): (call: Call) => Deadline {
  return (call) => {
    const { tool, server, default: fallback } = allowance(call);
    return { total: call.timeout ?? tool ?? server ?? fallback };
  };
}

/** The rule that a plugin registered, if one did; one call has one deadline. */
function pluginRule(scopes: readonly Scope[]): ((call: Call) => Deadline) | undefined {
  const rule = onlyOne(
    scopes.flatMap(({ name: plugin, deadlines }) => deadlines.map((value) => ({ plugin, value }))),
    (one, other) => `Plugins "${one}" and "${other}" both decide how long calls may run.`,
  );
  return rule && ((call) => rule.limit(call));
}

function localsOf(scopes: readonly Scope[]): ReadonlyMap<string, PluginServer> {
  return new Map(
    scopes.filter(({ local }) => !local.isEmpty).map(({ name, local }) => [name, local]),
  );
}

/** Checks the arguments of plugin tools; an upstream answers for its own. */
function validateLocally(locals: ReadonlyMap<string, PluginServer>): Middleware {
  return (call, next) => {
    const tool =
      call.method === "tools/call" ? locals.get(call.server)?.tool(call.name) : undefined;
    if (!tool) return next(call);
    const checked = tool.check(call.args);
    return checked instanceof Answer
      ? Promise.resolve(checked)
      : next(amendCall(call, { args: checked }));
  };
}
