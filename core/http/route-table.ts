import { defaultListener } from "./listeners.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { GatewayError } from "../errors.ts";
import type { Access, RouteMethod } from "./route.ts";
import type { RegisteredRoute, Scope } from "../plugin/scope.ts";

const ACCESS: readonly Access[] = [
  "public",
  "principal",
  "viewer",
  "caller",
  "operator",
  "service",
  "admin",
];
const METHODS: readonly RouteMethod[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** Where an endpoint of the gateway is. */
export interface EndpointPlace {
  readonly listener: string;
  readonly path: string;
}

/**
 * Sorts every plugin's routes by listener. Without a management API its routes are not there at all.
 *
 * @throws {GatewayError} `invalid` for a route without access policy or `mutates` flag, with an unknown method, path or
 * listener; `exists` for two routes that match the same requests, or a route on the path of an MCP endpoint
 */
export function assignRoutes(
  config: GatewayConfig,
  scopes: readonly Scope[],
  endpoints: ReadonlyMap<string, EndpointPlace>,
): ReadonlyMap<string, readonly RegisteredRoute[]> {
  const tables = new Map(
    Object.keys(config.listeners).map((name) => [name, [] as RegisteredRoute[]]),
  );
  const owners = new Map<string, string>(
    [...endpoints].map(([name, { listener, path }]) => [
      `${listener} ${path}`,
      `endpoint "${name}"`,
    ]),
  );
  for (const route of scopes.flatMap((scope) => scope.routes)) {
    checkRoute(route);
    if (route.options.management === true && !config.management.enabled) continue;
    const listener = route.options.listener ?? defaultListener(config);
    const table = tables.get(listener);
    if (!table)
      throw new GatewayError(
        "invalid",
        `${describe(route)} names an unknown listener "${listener}".`,
        { hint: `Listeners: ${[...tables.keys()].join(", ")}.` },
      );
    for (const key of [
      `${listener} ${route.path}`,
      `${listener} ${route.method} ${shapeOf(route.path)}`,
    ]) {
      const other = owners.get(key);
      if (other)
        throw new GatewayError(
          "exists",
          `${describe(route)} collides with ${other} on listener "${listener}".`,
        );
    }
    owners.set(`${listener} ${route.method} ${shapeOf(route.path)}`, lowerFirst(describe(route)));
    table.push(route);
  }
  return tables;
}

/** A path with the names of its parameters left out: `/a/:x` and `/a/:y` match the same requests. */
export function shapeOf(path: string): string {
  const segments = path.split("/").map((segment) =>
    segment.startsWith("**")
      ? "**"
      : segment.startsWith(":") || segment === "*"
        ? ":"
        : // A colon inside a segment is escaped for the router: it would begin a parameter.
          segment.replaceAll("\\:", ":"),
  );
  return segments.join("/").replace(/(?<=.)\/$/, "");
}

/** Plugins may be plain JavaScript, so what the types demand is demanded here again. */
function checkRoute(route: RegisteredRoute): void {
  const { path, method, options } = route;
  const refuse = (problem: string, hint: string): never => {
    throw new GatewayError("invalid", `${describe(route)} ${problem}.`, { hint });
  };
  if (!path.startsWith("/"))
    refuse("has a path that does not start with a slash", `Write "/${path}".`);
  if (!METHODS.includes(method)) refuse("has an unknown method", `Methods: ${METHODS.join(", ")}.`);
  if (!ACCESS.includes(options?.access))
    refuse("has no access policy", `Set access to one of ${ACCESS.join(", ")}.`);
  if (typeof options.mutates !== "boolean")
    refuse("does not say whether it changes anything", "Set mutates to true or false.");
  for (const flag of ["management", "websocket"] as const)
    if (!["undefined", "boolean"].includes(typeof options[flag]))
      refuse(`has an unclear ${flag} flag`, `Set ${flag} to true or false, or leave it out.`);
}

function describe({ plugin, method, path }: RegisteredRoute): string {
  return `Route ${method} ${path} of plugin "${plugin}"`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
