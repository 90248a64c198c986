import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import { Backlog } from "../http/backlog.ts";
import { Leases } from "../http/auth/leases.ts";
import { Sockets } from "../http/listeners.ts";
import { Endpoints } from "../mcp/endpoints.ts";
import { HookEmitter } from "../plugin/emitter.ts";
import { KeptValues } from "../plugin/keep.ts";
import { UpstreamPool } from "../servers/pool.ts";
import { VERSION } from "../version.ts";
import { createEndpointHost, createScopeHost, reportEvent } from "./hosts.ts";
import { createResolver, cwdOf, type GatewayOptions } from "./gateway-options.ts";
import { emptyGeneration, type GatewayParts } from "./parts.ts";
import { Queue } from "./queue.ts";

/** The parts of a gateway before its first config is applied. */
export function createParts(first: Config, options: GatewayOptions, log: Logger): GatewayParts {
  const parts = (): GatewayParts => made;
  const cwd = cwdOf(options);
  const config = first.values;
  const clientInfo = { name: config.name, version: config.version ?? VERSION };
  const leases = new Leases();
  const backlog = new Backlog(config.limits, (cut) => {
    log.warn(cut, "an answer was cut off: its client does not read it");
    made.hooks.emit("answer:cut", cut);
  });
  const made: GatewayParts = {
    log,
    resolver: createResolver(options),
    cwd,
    file: options.file,
    dryRun: options.dryRun ?? false,
    queue: new Queue(),
    hooks: new HookEmitter(log),
    kept: new KeptValues(),
    pool: new UpstreamPool({
      log,
      clientInfo,
      cwd,
      maxDepth: () => made.generation.config.limits.depth,
      onEvent: (name, event) => reportEvent(made, name, event),
    }),
    sockets: new Sockets(log, { leases, backlog }),
    leases,
    backlog,
    faces: new Endpoints(createEndpointHost(log, parts)),
    scopeHost: createScopeHost(log, cwd, parts),
    retiring: new Set(),
    leaving: new Set(),
    outgoing: new Map(),
    generation: emptyGeneration(first, log),
    listening: false,
    draining: false,
  };
  return made;
}
