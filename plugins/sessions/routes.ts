import {
  GatewayError,
  type PluginContext,
  type Principal,
  type RouteEvent,
  type Service,
} from "propylon";
import { type Audit, type Credentials, readJson } from "propylon/kit";
import { z } from "zod";
import { cookieOf, dropCookie, setCookie } from "./cookie.ts";
import type { SessionsOptions } from "./options.ts";
import { ownOriginOf, plainCookie, SECURE_COOKIE } from "./origin.ts";
import type { SessionsService } from "./service.ts";
import { type BrowserSessions, type BrowserSession, sessionOf } from "./sessions.ts";

const PATH = "/ui/session";
/** Signing in and out changes nothing of the gateway: it works in read-only mode. */
const OPEN = { access: "public", mutates: false, management: true } as const;

const signInSchema = z.strictObject({ code: z.string().max(200).optional() });

type SessionsContext = PluginContext<SessionsOptions, { readonly audit: Service<Audit> }>;

/** What the routes work with. */
export interface SessionRoutes {
  readonly sessions: BrowserSessions;
  readonly publicUrl: () => string | undefined;
  /** Whether the gateway lets everybody in. */
  readonly isOpen: () => boolean;
}

/** `/ui/session`: sign in, who am I, sign out. */
export function registerRoutes(gateway: SessionsContext, parts: SessionRoutes): void {
  gateway.route("POST", PATH, { ...OPEN, signsIn: true }, (event) => signIn(gateway, parts, event));
  gateway.route("GET", PATH, OPEN, ({ context: { principal } }) => ({
    ok: true,
    principal: isKnown(principal) ? show(principal) : null,
    expiresAt: principal.expiresAt === undefined ? null : timeOf(principal.expiresAt),
  }));
  gateway.route("DELETE", PATH, OPEN, (event) => signOut(gateway, parts, event));
}

/**
 * The session of a request's cookie.
 *
 * @param route path of the route as it is registered
 * @throws {GatewayError} `forbidden` for a request that another page may have made
 */
export function findSession(
  { sessions, publicUrl }: SessionRoutes,
  { idleTimeout }: SessionsOptions,
  credentials: Pick<Credentials, "method" | "headers">,
  route: string,
): BrowserSession | undefined {
  const sent = cookieOf(credentials, route, publicUrl());
  return sent && sessions.use(sent.name, sent.secret, idleTimeout);
}

/** Opens a session for a page of the gateway; the header that gives it its cookie, and when it ends. */
export function openSession(
  { config, services }: Pick<SessionsContext, "config" | "services">,
  { sessions, publicUrl }: SessionRoutes,
  ...[request, session, event]: [...Parameters<SessionsService["open"]>, event?: RouteEvent]
): { readonly cookie: string; readonly session: BrowserSession } {
  const { cookie, isSecure } = ownOriginOf(request.headers, publicUrl());
  const opened = sessions.open(session, cookie, config);
  services.audit(
    "sign-in",
    { session: opened.session.id, principal: opened.session.ref },
    {},
    event,
  );
  return { cookie: setCookie(cookie, opened.secret, isSecure), session: opened.session };
}

async function signIn(
  gateway: SessionsContext,
  parts: SessionRoutes,
  event: RouteEvent,
): Promise<object> {
  const { req } = event;
  ownOriginOf(req.headers, parts.publicUrl());
  if (!/^application\/json\s*(?:;|$)/i.test(req.headers.get("content-type") ?? ""))
    throw new GatewayError("unsupported_media_type", "The body must be JSON.", {
      hint: "Send content-type: application/json and {}.",
    });
  const { code } = await readJson(event, signInSchema);
  if (parts.isOpen())
    throw new GatewayError("invalid", "This gateway lets everybody in: no sign-in is needed.");
  // Its principal is that of the key where one is sent.
  const sent = { method: req.method, headers: Object.fromEntries(req.headers) };
  const before = findSession(parts, gateway.config, sent, PATH);
  const { cookie, session } = openSession(
    gateway,
    parts,
    req,
    credentialOf(event, code, parts.sessions),
    event,
  );
  // Who signs in again is another: nothing goes on under the old secret.
  parts.sessions.end((each) => each === before);
  event.res.status = 201;
  event.res.headers.set("set-cookie", cookie);
  event.res.headers.set("cache-control", "no-store");
  const { idleTimeout } = gateway.config;
  return {
    ok: true,
    principal: show(session.principal),
    expiresAt: timeOf(session.expiresAt),
    idleTimeout: Math.round(idleTimeout / 1_000),
  };
}

/** @throws {GatewayError} `unauthorized` for a code or a credential that is wrong, and without either */
function credentialOf(
  { req, context: { principal } }: RouteEvent,
  code: string | undefined,
  sessions: BrowserSessions,
): Parameters<SessionsService["open"]>[1] {
  if (code !== undefined) return { principal: sessions.takeCode(code) };
  const authorization = req.headers.get("authorization");
  if (authorization !== null && isKnown(principal)) return { principal, authorization };
  throw new GatewayError(
    "unauthorized",
    authorization === null ? "Authentication is required." : "The key or token is wrong.",
    { hint: "Send the key as Authorization: Bearer <key>." },
  );
}

function signOut(gateway: SessionsContext, { sessions }: SessionRoutes, event: RouteEvent): object {
  const { principal } = event.context;
  const isEverywhere = event.url.searchParams.get("all") === "1";
  const own = sessionOf(principal);
  if (!isKnown(principal) || (own === undefined && !isEverywhere))
    throw new GatewayError("unauthorized", "There is no session here.");
  const ended = sessions.end(
    ({ id, ref }) => id === own || (isEverywhere && ref === principal.ref),
  );
  gateway.services.audit("sign-out", { principal: principal.ref }, { ended }, event);
  const host = event.req.headers.get("host") ?? "";
  for (const name of [SECURE_COOKIE, plainCookie(host)])
    event.res.headers.append("set-cookie", dropCookie(name));
  event.res.headers.set("cache-control", "no-store");
  return { ok: true, ended };
}

function isKnown({ kind, roles }: Principal): boolean {
  return kind !== "anonymous" || roles.size > 0;
}

function show({ ref, kind, roles }: Principal): object {
  return { ref, kind, roles: [...roles] };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
