import { GatewayError } from "../kit/errors.ts";
import type { Authenticator, AuthenticatorDefinition, FindCredential } from "./authentication.ts";
import { AUTH_PLUGIN } from "../config/defaults.ts";
import type { Check } from "./plugin-checks.ts";
import { type Contribution, definePoint, type Point } from "./point.ts";
import type { PageHandler } from "./route.ts";

/**
 * Those who tell who makes a request. The keys and tokens of the config's `auth` are asked first, then the authenticators of plugins
 * in the order of the plugins, each until one knows the credentials; see {@link Authenticate}. When the plugin leaves, what its
 * principals have open ends.
 *
 * @example
 * gateway.add(Authenticators, {
 *   name: "directory",
 *   authenticate({ headers }) {
 *     const token = /^Bearer (dir_\S+)$/.exec(String(headers["authorization"]))?.[1];
 *     if (token === undefined) return undefined; // not mine
 *     const person = directory.find(token);
 *     if (!person) throw new GatewayError("unauthorized", "The directory does not know this token.");
 *     return { id: person.id, kind: "user", roles: new Set(["caller"]), expiresAt: person.until };
 *   },
 * });
 */
export const Authenticators: Point<AuthenticatorDefinition, Authenticator> = definePoint(
  "authenticators",
  {
    read: ({ key, plugin, value }) => ({
      ...readAuthenticator(plugin, value),
      plugin: key === AUTH_PLUGIN ? undefined : plugin,
    }),
  },
);

/**
 * What a plugin gives as an authenticator, bound to what it gives: a class has its methods in its prototype. Its grants are those of
 * this moment.
 *
 * @throws {GatewayError} `invalid` for anything else
 */
export function readAuthenticator(
  plugin: string,
  value: AuthenticatorDefinition,
): AuthenticatorDefinition {
  if (typeof value?.name !== "string" || typeof value.authenticate !== "function")
    throw misshapen(plugin, "an authenticator", '{ name: "mine", authenticate }');
  return {
    name: value.name,
    authenticate: value.authenticate.bind(value),
    ...(value.challenge && { challenge: value.challenge.bind(value) }),
    ...(value.stepUp && { stepUp: value.stepUp.bind(value) }),
    ...(value.admits && { admits: value.admits.bind(value) }),
    ...(value.isSigned && { isSigned: value.isSigned.bind(value) }),
    ...(value.refusal && { refusal: value.refusal.bind(value) }),
    ...(value.renew && { renew: value.renew.bind(value) }),
    ...(value.grants && { grants: readGrants(plugin, value.grants) }),
    ...(value.among && { among: value.among.bind(value) }),
  };
}

/** A reload compares them, which must not fail, and a plugin may change its own. */
function readGrants(plugin: string, grants: unknown): ReadonlyMap<string, string> {
  if (grants instanceof Map) return new Map(grants as ReadonlyMap<string, string>);
  const form = '{ name: "mine", authenticate, grants: new Map() }';
  throw misshapen(plugin, "an authenticator whose grants are a Map", form);
}

/**
 * What is wrong with a plugin. Each check is asked each time that somebody looks; its answer holds nothing private.
 *
 * - `undefined`: all is well.
 * - A sentence: something is missing without which this gateway should get no traffic. `GET /readyz` of every listener is 503
 *   meanwhile and tells it with `?verbose`. `/livez` does not change, so nothing is restarted for it. A throw counts as missing.
 * - A {@link PluginWarning}: it works but should not stay so. `propylon check`, the start-up summary and status pages show it.
 *
 * @example
 * gateway.add(Checks, { name: "queue", ask: () => (queue.isConnected ? undefined : "The queue is away.") });
 */
export const Checks: Point<Check, Check> = definePoint("checks", {
  read({ plugin, value }) {
    if (typeof value?.name !== "string" || typeof value.ask !== "function")
      throw misshapen(plugin, "a check", '{ name: "queue", ask: () => undefined }');
    return value;
  },
});

/**
 * What finds a stand-in for the credentials of requests to routes that bring none, e.g. a session for its cookie. Never asked at MCP
 * endpoints, nor where everyone is let in. One at most.
 *
 * @example
 * gateway.add(StandIns, ({ headers }, route) => (route.startsWith("/ui") ? sessions.get(headers["cookie"]) : undefined));
 */
export const StandIns: Point<FindCredential, FindCredential> = definePoint("stand-ins", {
  only: (one, other) => `Plugins "${one}" and "${other}" both stand in for credentials.`,
  read: (added) => functionOf(added, "a stand-in for credentials"),
});

/**
 * Makes a link that signs in the person who opens it; `undefined` where nobody has to sign in. The terminal of a gateway shows one below
 * its web interface, and another for each Enter. One at most.
 *
 * @example gateway.add(SignInLinks, () => `${url}/ui/#code=${createCode()}`);
 */
export const SignInLinks: Point<() => string | undefined, () => string | undefined> = definePoint(
  "sign-in-links",
  {
    only: (one, other) => `Plugins "${one}" and "${other}" both make links that sign in.`,
    read: (added) => functionOf(added, "what makes a link"),
  },
);

/**
 * What answers browsers that open an MCP endpoint of the first listener (`GET` with `text/html`), or its root where no route is. MCP
 * clients notice nothing. One at most. Asked before anybody is known, so that people without credentials can be led to where they
 * sign in. Redirect by a relative path: a proxy may have taken a prefix off.
 *
 * @example gateway.add(Pages, () => new Response(null, { status: 302, headers: { location: "ui/" } }));
 */
export const Pages: Point<PageHandler, PageHandler> = definePoint("pages", {
  only: (one, other) =>
    `Browsers get two pages at an endpoint: of plugin "${one}" and of plugin "${other}".`,
  read: (added) => functionOf(added, "a page"),
});

/** Plugins in files are run without a look at their types, so what the types demand is demanded here again. */
function functionOf<T>({ plugin, value }: Contribution<T>, what: string): T {
  if (typeof value === "function") return value;
  throw misshapen(plugin, what, "a function");
}

function misshapen(plugin: string, what: string, form: string): GatewayError {
  return new GatewayError("invalid", `What plugin "${plugin}" adds is not ${what}.`, {
    hint: `Write gateway.add(point, ${form}).`,
  });
}
