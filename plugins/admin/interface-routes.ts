import {
  type Access,
  GatewayError,
  type GatewayDescription,
  type PluginContext,
  type Principal,
  type RouteEvent,
} from "propylon";
import { EventKinds, pathParameter, VERSION } from "propylon/kit";
import { type DeclaredEventKind, randomText } from "propylon/internal";
import type { AdminContext } from "./administration.ts";
import { Panels } from "./panel/index.ts";

/** A client without credentials learns how to sign in, and nothing else. */
const OPEN = { access: "public", mutates: false, management: true } as const;
const READ = { access: "viewer", mutates: false, management: true } as const;

/** Answer of `GET /_meta/ui`: what a web interface shows first, and what its visitor may do. */
export type InterfaceView = ReturnType<typeof describeInterface>;

/** What a web interface needs to know first, and the modules of its panels. */
export function interfaceRoutes(gateway: AdminContext): void {
  const instance = gateway.keep("instance", () => randomText(12));
  gateway.route("GET", "/_meta/ui", OPEN, ({ context }) =>
    describeInterface(gateway, context.principal, instance),
  );
  gateway.route("GET", "/_meta/ui/panels/:plugin/:panel", READ, (event) =>
    sendModule(gateway, event),
  );
}

function describeInterface(gateway: AdminContext, principal: Principal, instance: string) {
  const {
    info,
    services: { management },
  } = gateway;
  const description = info.describe();
  const mayLook = isLetIn(info, principal, "viewer");
  const isOperator = isLetIn(info, principal, "operator");
  return {
    ok: true,
    name: description.name,
    version: mayLook ? VERSION : null,
    generation: mayLook ? description.generation : null,
    instance,
    principal: isNobody(principal) ? null : showPrincipal(principal),
    signIn: signInOf(description),
    readOnly: mayLook ? readOnlyOf(gateway, description, isOperator) : null,
    warnings: isOperator ? management.warnings() : [],
    plugins: mayLook ? description.plugins.map(({ name }) => name) : [],
    panels: mayLook ? panelsFor(gateway, principal) : [],
    events: mayLook ? eventsFor(gateway, principal) : [],
    routes: mayLook ? routesFor(info, principal, description) : [],
  };
}

/** As a route of that access decides: an authenticator may have rules of its own. */
function isLetIn(info: PluginContext["info"], principal: Principal, access: Access): boolean {
  return info.refusal(principal, { access, mutates: false }) === undefined;
}

function isNobody({ kind, roles }: Principal): boolean {
  return kind === "anonymous" && roles.size === 0;
}

function showPrincipal({ ref, kind, roles, claims, expiresAt }: Principal) {
  const ends = expiresAt === undefined ? null : new Date(expiresAt).toISOString();
  const session = typeof claims?.["session"] === "string";
  return { ref, kind, roles: [...roles], expiresAt: ends, session };
}

/** Every authenticator takes what a request's Authorization holds. */
function signInOf({ authenticators, plugins }: GatewayDescription) {
  if (authenticators.length === 0) return [{ kind: "open" as const }];
  const key = { kind: "key" as const, authenticators: authenticators.map(({ name }) => name) };
  const hasSessions = plugins.some(({ name }) => name === "sessions");
  return hasSessions ? [key, { kind: "code" as const }] : [key];
}

/** Where it stands in the file is for those who may see the config. */
function readOnlyOf(
  { services: { files } }: AdminContext,
  { readOnly }: GatewayDescription,
  isOperator: boolean,
) {
  if (!readOnly) return null;
  const { scope, message, hint, path } = readOnly;
  return { scope, message, hint, place: isOperator ? files.placeOf(path) : null };
}

function panelsFor(gateway: PluginContext, principal: Principal) {
  return gateway
    .point(Panels)
    .filter(({ access }) => isLetIn(gateway.info, principal, access))
    .map(({ plugin, id, module, ...panel }) => ({
      ...panel,
      id: `${plugin}/${id}`,
      plugin,
      ...(module && { module: `/_meta/ui/panels/${plugin}/${id}?v=${module.version}` }),
    }));
}

function eventsFor(
  gateway: PluginContext,
  principal: Principal,
): readonly Omit<DeclaredEventKind, "check">[] {
  return gateway.point(EventKinds).filter(({ access }) => isLetIn(gateway.info, principal, access));
}

/** The routes that a page of this listener can reach, with what stands in the way of the caller. */
function routesFor(
  info: PluginContext["info"],
  principal: Principal,
  { routes, listeners }: GatewayDescription,
) {
  return routes
    .filter(({ listener }) => listener === listeners[0]?.name)
    .map(({ method, path, access, mutates, plugin, management, socket = false }) => {
      const why = info.refusal(principal, { access, mutates, management }) ?? null;
      return { method, path, access, mutates, plugin, management, socket, allowed: !why, why };
    })
    .toSorted((a, b) => `${a.path} ${a.method}`.localeCompare(`${b.path} ${b.method}`));
}

/** @throws {GatewayError} `not_found`, also for a panel that is not for the asker */
function sendModule(gateway: PluginContext, event: RouteEvent): Response {
  const [plugin, id] = [pathParameter(event, "plugin"), pathParameter(event, "panel")];
  const panel = gateway.point(Panels).find((each) => each.plugin === plugin && each.id === id);
  if (!panel?.module || !isLetIn(gateway.info, event.context.principal, panel.access))
    throw new GatewayError("not_found", "There is no such panel.", {
      hint: "GET /_meta/ui lists those there are.",
    });
  const { text, version } = panel.module;
  const isCurrent = event.url.searchParams.get("v") === version;
  return new Response(text, {
    headers: {
      "content-type": "text/javascript; charset=utf-8",
      "x-content-type-options": "nosniff",
      // Only who has the role may see it, so no shared cache keeps it.
      "cache-control": isCurrent ? "private, max-age=31536000, immutable" : "no-cache",
    },
  });
}
