import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import { Backlog } from "../http/backlog.ts";
import { Leases } from "../http/auth/leases.ts";
import { Sockets } from "../http/listeners.ts";
import { HookEmitter } from "../plugin/emitter.ts";
import { KeptValues } from "../plugin/keep.ts";
import { ServerPool } from "../server/pool.ts";
import { createScopeHost, reportEvent } from "./hosts.ts";
import { createResolver, cwdOf, type GatewayOptions } from "./gateway-options.ts";
import { emptyGeneration, type GatewayParts } from "./parts.ts";
import { Queue } from "./queue.ts";

/** The parts of a gateway before its first config is applied. */
export function createParts(first: Config, options: GatewayOptions, log: Logger): GatewayParts {
  const parts = (): GatewayParts => made;
  const cwd = cwdOf(options);
  const leases = new Leases();
  const backlog = new Backlog(first.values.limits, (cut) => {
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
    pool: new ServerPool({ log, onEvent: (name, event) => reportEvent(made, name, event) }),
    sockets: new Sockets(log, { leases, backlog }),
    leases,
    backlog,
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
