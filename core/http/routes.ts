import type { Leases } from "../plugin/leases.ts";
import { writeJson } from "../kit/exact-json.ts";
import type { AppInput, ListenerApp } from "./app.ts";
import type { RegisteredRoute, RouteEvent } from "../plugin/route.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import { assertBodySize, H3, type H3Event } from "h3";
import type { Logger } from "pino";
import { recordMutation, toMutation } from "./audit.ts";
import { Actor, noteActor } from "../kit/actor.ts";
import type { Credentials } from "../plugin/authentication.ts";
import { credentialsOf as nodeCredentialsOf, NOBODY, optionally } from "./guard.ts";
import { GatewayError, toEnvelope } from "../kit/errors.ts";
import { findDirect } from "./direct.ts";
import { answerOf, readBody, tooLarge } from "./http-messages.ts";
import { cutSoon } from "./failure.ts";
import { sseFrame } from "../kit/sse-body.ts";
import { wantsPage } from "./request.ts";
import { PathTable, type RouteMatch } from "./path-table.ts";
import { logFault, refuse, toErrorResponse, toOwnError } from "./refusal.ts";
import type { Principal } from "../kit/types.ts";
import { keepBody } from "./web.ts";
import type { SocketDoor } from "./websocket/websockets.ts";

/** What the routes of one listener share. */
interface RouterInput extends AppInput {
  readonly table: PathTable;
}

/** The routes, endpoints and documents of one listener, by path. */
export interface Router extends Pick<ListenerApp, "fetch" | "direct"> {
  readonly admit: SocketDoor["admit"];
}

/** Makes the router of one listener. Authorisation hangs on the matched route, never on a prefix of the path. */
export function createRouter(input: AppInput): Router {
  const { routes, sockets, guard, log } = input;
  const table = new PathTable(routes, sockets.values());
  const shared: RouterInput = { ...input, table };
  const app = new H3({
    silent: true,
    onError: (error, event) => render(toOwnError(error), event, log),
  });
  app.all("/**", (event) => {
    const match = table.route(event.req.method, event.url.pathname);
    if (!match) return answerUnmatched(event, shared);
    Object.assign(event.context, { params: match.params });
    return answer(match.found, event, shared);
  });
  const fetch: Router["fetch"] = (request) => app.fetch(request);
  return {
    fetch,
    direct: findDirect({ ...shared, fetch }),
    admit: async (req) => (await import("./upgrades.ts")).admission(table, guard)(req),
  };
}

/** Identifies, permits, bounds the body, runs the handler; tells the audit how a change ended. */
async function answer(
  route: RegisteredRoute,
  event: H3Event,
  input: RouterInput,
): Promise<unknown> {
  const { options, handler } = route;
  const { guard, bodyLimit, maxDepth, log } = input;
  const credentials = credentialsOf(event);
  let actor = new Actor(undefined, credentials.remoteAddress);
  const record = (status: number, error?: GatewayError): void => {
    if (!options.mutates) return;
    const { params, target } = (event as RouteEvent).context;
    const attempt = { route, actor, params, target, status, ...(error && { error }) };
    recordMutation(input, toMutation(attempt));
  };
  try {
    const principal = await guard.identify(credentials, options, route.path);
    actor = new Actor(principal, credentials.remoteAddress);
    noteActor(event, actor);
    const answering = answerOf(event.runtime?.node?.res);
    if (answering) answering.principal = principal;
    guard.permit(principal, options, credentials.path);
    await boundBody(event, options.bodyLimit ?? bodyLimit);
    // To know who it is may take its time, and a body may be slow.
    if (principal) input.leases.refuseWithdrawn(principal);
    const { mutates } = options;
    Object.assign(event.context, { principal: principal ?? NOBODY, mutates, maxDepth });
    const result = await handler(event as RouteEvent);
    if (result instanceof Error) throw result;
    if (event.req.method === "HEAD") await dropBody(result);
    record(statusOf(result, event));
    if (principal && isEventStream(result)) lease(event, principal, input.leases);
    return isPlain(result) ? writePlain(result, event) : result;
  } catch (thrown) {
    const error = toOwnError(thrown);
    record(error.status, error);
    return render(error, event, log);
  }
}

/** A stream lives no longer than the credential that opened it. */
function lease(event: H3Event, principal: Principal, leases: Leases): void {
  const { runtime, context } = event as RouteEvent;
  const res = runtime?.node?.res as ServerResponse | undefined;
  if (!res || res.destroyed) return;
  const release = leases.open(principal, (reason) => {
    const error = new GatewayError("unauthorized", reason);
    if (context.onRevoked) context.onRevoked(error);
    else endWith(res, error);
    cutSoon(res);
  });
  res.once("close", release);
}

function endWith(res: ServerResponse, error: GatewayError): void {
  // What the route still writes comes too late.
  res.on("error", () => {});
  if (!res.writableEnded) res.end(sseFrame(JSON.stringify(toEnvelope(error)), "error"));
}

function isEventStream(result: unknown): boolean {
  if (!(result instanceof Response)) return false;
  return result.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/**
 * Reads the body before the handler runs: a credential that is withdrawn while a body is on its way changes nothing. As a stream of
 * the web each chunk of it would cost half a kilobyte besides, and a client may send chunks of one byte.
 */
async function boundBody(event: H3Event, limit: number): Promise<void> {
  const { headers } = event.req;
  const source = event.runtime?.node?.req as IncomingMessage | undefined;
  const isCoded = headers.has("transfer-encoding");
  const length = isCoded ? 0 : Number(headers.get("content-length") ?? 0);
  if (length > limit) throw tooLarge(limit);
  if (source === undefined) assertBodySize(event, limit);
  else if (isCoded || (length > 0 && !hasNoBody(event.req.method))) await readAhead(source, limit);
}

/** Nothing reads the body of these: it is thrown away as it comes. */
function hasNoBody(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** A failure shows when the route asks for the body, which says it in its own way. */
async function readAhead(source: IncomingMessage, limit: number): Promise<void> {
  // A way around the router may have led here.
  if ("rawBody" in source) return;
  keepBody(source, await readBody(source, limit).catch((error: Error) => error));
}

function credentialsOf({ req, url, runtime }: H3Event): Credentials {
  // Node's own headers: the web ones would be made for this alone.
  if (runtime?.node)
    return { ...nodeCredentialsOf(runtime.node.req as IncomingMessage), path: url.pathname };
  return {
    method: req.method,
    path: url.pathname,
    headers: Object.fromEntries(req.headers),
    remoteAddress: (req as { ip?: string }).ip,
  };
}

/** h3 sends no body in answer to HEAD, but would leave a stream open behind it. */
async function dropBody(result: unknown): Promise<void> {
  const body = result instanceof Response ? result.body : result;
  if (body instanceof ReadableStream && !body.locked) await body.cancel();
}

function statusOf(result: unknown, { res }: H3Event): number {
  const own = (result as { status?: unknown } | null | undefined)?.status;
  const isResponse = result instanceof Response || isHttpResponse(result);
  return isResponse && typeof own === "number" ? own : (res.status ?? 200);
}

/** What `new HTTPResponse()` of h3 makes, of any copy of h3. */
function isHttpResponse(result: unknown): boolean {
  return typeof result === "object" && result !== null && Symbol.for("h3.HTTPResponse") in result;
}

/** A map or a list, of which h3 would make JSON. */
function isPlain(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return false;
  return Array.isArray(result) || Object.getPrototypeOf(result) === Object.prototype;
}

/** h3 would write a number that JavaScript does not hold as a text. */
function writePlain(result: unknown, { res }: H3Event): string {
  if (!res.headers.has("content-type"))
    res.headers.set("content-type", "application/json;charset=UTF-8");
  return writeJson(result);
}

/** Nothing is here; except at the root, where somebody may want to know what this is. */
async function answerUnmatched(event: H3Event, input: RouterInput): Promise<unknown> {
  const { req, url } = event;
  const isRoot = url.pathname === "/";
  if (isRoot && input.page && wantsPage(req.method, req.headers.get("accept")))
    return input.page(req);
  if (isRoot && (req.method === "GET" || req.method === "HEAD")) return introduce(event, input);
  const own = isRoot ? ["GET", "HEAD"] : [];
  const endpoint = endpointBeside(url.pathname, input);
  if (endpoint !== undefined) return redirect(`${endpoint}${url.search}`);
  const matches = input.table.matchesAt(url.pathname);
  const allowed = new Set([...own, ...(await answered(matches, event, input))]);
  return render(refuse(req.method, allowed), event, input.log);
}

/** Some clients add a slash to a URL, or take it off: where to they are sent from there, relative to where they are. */
function endpointBeside(path: string, { endpoints }: RouterInput): string | undefined {
  if (path === "/") return undefined;
  const last = (whole: string): string => whole.slice(whole.lastIndexOf("/") + 1);
  const bare = path.slice(0, -1);
  if (path.endsWith("/")) return endpoints.has(bare) ? `../${last(bare)}` : undefined;
  return endpoints.has(`${path}/`) ? `${last(path)}/` : undefined;
}

/** Method and body stay the same (RFC 9110, section 15.4.9). */
function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { location } });
}

/** The methods behind which there is something, for the client that asks. */
async function answered(
  matches: readonly RouteMatch[],
  event: H3Event,
  input: RouterInput,
): Promise<string[]> {
  const asks = matches.some(({ found }) => found.options.exists);
  const principal = asks ? await known(event, input) : undefined;
  const there = matches.filter(
    ({ found, params = {} }) => found.options.exists?.(params, principal) ?? true,
  );
  return there.map(({ method }) => method);
}

/** Who it is, where no route is and it matters little. */
async function known(
  event: H3Event,
  { guard, leases }: RouterInput,
): Promise<Principal | undefined> {
  const principal = await optionally(guard.authenticator, credentialsOf(event));
  return principal && leases.isWithdrawn(principal) ? undefined : principal;
}

/** The gateway's name, and for callers the paths of the MCP endpoints on this listener. */
async function introduce(event: H3Event, input: RouterInput): Promise<unknown> {
  const { guard, name, endpoints } = input;
  const principal = await known(event, input);
  const isCaller = principal !== undefined && guard.authenticator.admits(principal, "caller");
  return { ok: true, name, ...(isCaller && { endpoints: [...endpoints.keys()] }) };
}

function render(error: GatewayError, { req }: H3Event, log: Logger): Response {
  logFault(log, error);
  return toErrorResponse(error, req.headers.get("accept"));
}
