import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import { Backlog } from "../plugin/backlog.ts";
import { Guesses } from "../http/guesses.ts";
import { Leases, WITHDRAWN } from "../plugin/leases.ts";
import { Sockets } from "../http/listeners.ts";
import { HookEmitter } from "./emitter.ts";
import { KeptValues } from "./keep.ts";
import { GatewayStore } from "../store/gateway-store.ts";
import { ServerPool } from "./pool.ts";
import { createResolver, cwdOf, type StartedWith } from "./gateway-options.ts";
import { compile } from "./compile.ts";
import { Generation } from "./generation.ts";
import { tellUnknownTools } from "./unknown-names.ts";
import type { GatewayParts } from "./parts.ts";
import type { Abortion } from "../call/pipeline.ts";
import { InFlightSet } from "../call/cancellation.ts";
import type { Call } from "../call/call.ts";
import { createAudit, toPluginMutation } from "../http/audit.ts";
import { createControl } from "./management.ts";
import { GatewayError } from "../kit/errors.ts";
import { completeCall } from "../server/tool-call.ts";
import { answerInputs, needsInput } from "../call/bridge.ts";
import type { EndpointHost } from "../plugin/endpoint-server.ts";
import { isObject } from "../kit/json.ts";
import type { Listed } from "../plugin/filters.ts";
import type { ScopeHost } from "./scope.ts";
import { VERSION } from "../kit/version.ts";

/** The parts of a gateway before its first config is applied. */
export function createParts(first: Config, options: StartedWith, log: Logger): GatewayParts {
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
    hooks: new HookEmitter(log),
    kept: new KeptValues(),
    store: GatewayStore.inMemory(log),
    seat: options.seat,
    pool: new ServerPool({ log, onEvent: (name, event) => reportEvent(made, name, event) }),
    sockets: new Sockets(log, { leases, backlog, keeper: options.seat?.keeper }),
    leases,
    guesses: new Guesses((by) => made.hooks.emit("auth:throttled", by)),
    backlog,
    scopeHost: createScopeHost(log, cwd, parts),
    retiring: new Set(),
    leaving: new Set(),
    outgoing: new Map(),
    turn: Promise.resolve(),
    generation: emptyGeneration(first, log),
    listening: false,
    draining: false,
  };
  return made;
}

/** What serves before the first config is applied: nothing. */
function emptyGeneration(config: Config, log: Logger): Generation {
  const running = new InFlightSet<Abortion>();
  const nothing = config.with({ servers: {}, endpoints: {}, insecure: true });
  return new Generation({
    number: 0,
    written: config.values,
    config: config.values,
    places: config.places,
    scopes: [],
    compiled: compile({ config: nothing, scopes: [], servers: new Map(), running, log }),
    running,
  });
}

/** The gateway as its endpoints see it: always the current generation. */
function createEndpointHost(log: Logger, plugin: string, parts: () => GatewayParts): EndpointHost {
  return {
    log,
    get serverInfo() {
      const { name, version = VERSION } = parts().generation.config;
      return { name, version };
    },
    get limits() {
      return parts().generation.config.limits;
    },
    get callTimeout() {
      return parts().generation.config.timeouts.default;
    },
    get draining() {
      return parts().draining;
    },
    get current() {
      return parts().generation;
    },
    get leases() {
      return parts().leases;
    },
    get backlog() {
      return parts().backlog;
    },
    get store() {
      return parts().store.scope(plugin);
    },
    emit: (name, ...args) => parts().hooks.emit(name, ...args),
  };
}

/** The gateway as its plugins see it: always the current generation. */
function createScopeHost(log: Logger, cwd: string, parts: () => GatewayParts): ScopeHost {
  const write = createAudit(log, (mutation) => parts().hooks.emit("mutation", mutation));
  return {
    log,
    cwd,
    endpointHost: (plugin) => createEndpointHost(log, plugin, parts),
    relist: () => parts().generation.compiled.endpointServer.relist(),
    audit: (action) => write(toPluginMutation(action, [...(parts().file?.secrets ?? [])])),
    control: createControl(parts),
    emit: (name, ...args) => parts().hooks.emit(name, ...args),
    event: (plugin, kind, data) => tellEvent(parts(), { plugin, kind, data }),
    call: (input) => callLocally(parts(), input),
    onEvent: (name, event) => reportEvent(parts(), name, event),
    store: (plugin) => parts().store.scope(plugin),
    database: (plugin, migrations) => parts().store.database(plugin, migrations),
    keep: (key, name, create, dispose) => parts().kept.keep(key, name, create, dispose),
  };
}

/**
 * Makes a call inside the process, through the pipeline of the current generation. What a callee asks in place of an answer
 * (`input_required`, 2026-07-28) goes to the input's peer, if it has one, and the call is made again (docs/decisions/0004).
 *
 * @throws {GatewayError} `not_found` for a tool that the config does not let out, or that is not there for the principal,
 * `unauthorized` when the principal's credential was taken away since its request came
 */
export async function callLocally(
  { generation, leases }: GatewayParts,
  input: Parameters<typeof completeCall>[0],
): ReturnType<ScopeHost["call"]> {
  const { server, name, method = "tools/call" } = input;
  if (method === "tools/call" && !generation.compiled.exposes(server, name))
    throw new GatewayError("not_found", `Server "${server}" has no tool "${name}" to call.`, {
      hint: `The config leaves it out; see servers.${server}.tools.`,
    });
  const complete = (next: typeof input): Call => completeCall(next, generation.compiled.servers);
  const call = complete(input);
  if (!listedBy(call).every((item) => generation.compiled.exists(item, call.principal)))
    throw new GatewayError("not_found", `Server "${server}" has no "${name}".`);
  // Its face may have waited for a body, or for a server to connect.
  if (leases.isWithdrawn(call.principal)) throw new GatewayError("unauthorized", WITHDRAWN);
  const answer = await generation.call(call);
  // Whoever names a peer can answer; anybody else gets to see the question.
  if (!input.peer || !needsInput(answer)) return answer;
  return answerInputs(call, answer, (next) => generation.call(complete(next)));
}

/** What a call is about, as filters know it. */
function listedBy({ method, server, name, params }: Call): readonly Listed[] {
  if (method === "tools/call") return [{ server, kind: "tool", name }];
  if (method === "prompts/get") return [{ server, kind: "prompt", name }];
  if (method === "resources/read") return [{ server, kind: "resource", name }];
  const ref = params?.["ref"];
  if (isObject(ref) && ref["type"] === "ref/prompt") return [{ server, kind: "prompt", name }];
  // A reference to a resource may name one, or the template of many.
  return [
    { server, kind: "resource", name },
    { server, kind: "resourceTemplate", name },
  ];
}

/** Tells the hooks what a server reported. */
function reportEvent(
  { hooks, generation, log }: GatewayParts,
  ...[name, event]: Parameters<ScopeHost["onEvent"]>
): void {
  if (generation.selectors.length > 0) tellUnknownTools(generation, name, log);
  if (event.type === "state") hooks.emit("server:state", name, event.status);
  else if (event.type === "changed") hooks.emit("server:catalogue", name, event.lists);
}

/** One of a plugin that left, or that is not in force yet, is told to nobody. Without a listener it is not even looked at. */
function tellEvent(
  { generation, hooks, log }: GatewayParts,
  {
    plugin,
    kind,
    data,
  }: { readonly plugin: string; readonly kind: string; readonly data: unknown },
): void {
  const { events } = generation.compiled;
  if (!hooks.hears("plugin:event") || !events?.has(plugin, kind)) return;
  try {
    hooks.emit("plugin:event", events.check(kind, data));
  } catch (err) {
    if (events.isFirstFault(kind))
      log.warn({ err, plugin, kind }, "an event is not as its kind is declared; it is not told");
  }
}
