import type { Logger } from "pino";
import type { Answer } from "../call/answer.ts";
import type { CallInput } from "../call/call.ts";
import { placeText } from "../config/issue.ts";
import { VERSION } from "../kit/version.ts";
import type { ConfigSource } from "./check/config-source.ts";
import type { Backlog } from "../kit/backlog.ts";
import type { DeclaredEventKind } from "../plugin/plugin-event.ts";
import type { EndpointHost } from "../plugin/endpoint-server.ts";
import type { GatewayInfo } from "../plugin/gateway-info.ts";
import type { Leases } from "../plugin/leases.ts";
import type { GatewayStore } from "../store/gateway-store.ts";
import type { HookEmitter } from "./emitter.ts";
import type { Generation } from "./generation.ts";
import type { Managed, UpperServices } from "./gateway-options.ts";
import type { KeptValues } from "./keep.ts";
import type { ScopeHost } from "./scope.ts";
import { tellUnknownTools } from "./unknown-names.ts";

/** What plugins and endpoints reach of a gateway: always the current generation. */
export interface Hosting extends Managed {
  readonly log: Logger;
  readonly cwd: string;
  readonly file: ConfigSource | undefined;
  readonly hooks: HookEmitter;
  readonly kept: KeptValues;
  readonly leases: Leases;
  readonly backlog: Backlog;
  readonly store: GatewayStore;
  readonly info: GatewayInfo;
  readonly current: Generation;
  readonly isDraining: boolean;
  call(input: CallInput): Promise<Answer>;
  readonly services: UpperServices;
  readonly point: ScopeHost["point"];
}

/** The gateway as its endpoints see it. */
function createEndpointHost(gateway: Hosting, plugin: string): EndpointHost {
  return {
    log: gateway.log,
    leases: gateway.leases,
    backlog: gateway.backlog,
    get serverInfo() {
      const { name, version = VERSION } = gateway.current.config;
      return { name, version };
    },
    get limits() {
      return gateway.current.config.limits;
    },
    get callTimeout() {
      return gateway.current.config.timeouts.default;
    },
    get draining() {
      return gateway.isDraining;
    },
    get current() {
      return gateway.current.runner;
    },
    get store() {
      return gateway.store.scope(plugin);
    },
    emit: (name, ...args) => gateway.hooks.emit(name, ...args),
  };
}

/** The gateway as its plugins see it. */
export function createScopeHost(gateway: Hosting): ScopeHost {
  const { log, cwd, hooks, kept, info } = gateway;
  return {
    log,
    cwd,
    info,
    management: () => gateway.services.management(gateway),
    placeOf: (path) =>
      placeText(gateway.current.places.place({ path, message: "", hint: "" }).place),
    endpointHost: (plugin) => createEndpointHost(gateway, plugin),
    servesEndpoints: (server) => gateway.current.compiled.endpointServer === server,
    relist: () => gateway.current.compiled.endpointServer.relist(),
    audit: (plugin) => gateway.services.audit(gateway, plugin),
    emit: (name, ...args) => hooks.emit(name, ...args),
    event: (plugin, kind, data) => tellEvent(gateway, plugin, kind, data),
    call: (input) => gateway.call(input),
    point: (point) => gateway.point(point),
    onEvent: (name, event) => reportEvent(gateway, name, event),
    store: (plugin) => gateway.store.scope(plugin),
    database: (plugin, migrations) => gateway.store.database(plugin, migrations),
    keep: (key, name, create, dispose) => kept.keep(key, name, create, dispose),
  };
}

/** Tells the hooks what a server reported. */
export function reportEvent(
  { hooks, current, log }: Pick<Hosting, "hooks" | "current" | "log">,
  ...[name, event]: Parameters<ScopeHost["onEvent"]>
): void {
  if (current.selectors.length > 0) tellUnknownTools(current, name, log);
  if (event.type === "state") hooks.emit("server:state", name, event.status);
  else if (event.type === "changed") hooks.emit("server:catalogue", name, event.lists);
}

/** Kinds of which something was not as declared: a plugin may emit one with every call, and it is said once. */
const FAULTY = new WeakSet<DeclaredEventKind>();

/** One of a plugin that left, or that is not in force yet, is told to nobody. Without a listener it is not even looked at. */
function tellEvent(
  { current, hooks, log }: Hosting,
  plugin: string,
  name: string,
  data: unknown,
): void {
  if (!hooks.hears("plugin:event")) return;
  const kind = current.compiled.eventKinds.get(name);
  if (kind?.plugin !== plugin) return;
  try {
    hooks.emit("plugin:event", kind.check(data));
  } catch (err) {
    if (FAULTY.has(kind)) return;
    FAULTY.add(kind);
    log.warn(
      { err, plugin, kind: name },
      "an event is not as its kind is declared; it is not told",
    );
  }
}
