import { GatewayError, type PluginContext, type Principal, type RouteEvent } from "propylon";
import { createEtag, isUnmodified, pathParameter, perGeneration } from "propylon/kit";
import type { PayloadsOptions } from "./options.ts";
import type { PayloadInfo, PayloadStore } from "./service.ts";

/** `GET` and `HEAD /api/agents/:id/payload`, as compressed bytes. */
export function registerRoutes(gateway: PluginContext<PayloadsOptions>, store: PayloadStore): void {
  const read = async (event: RouteEvent): Promise<Response> => {
    const id = pathParameter(event, "id");
    const info = findOwn(store, id, event.context.principal, isPersistent(gateway));
    // 404 comes before 406: whether there is anything does not depend on how it is asked for.
    if (!acceptsGzip(event.req.headers.get("accept-encoding"))) throw notAcceptable();
    return respond(event, await store.gzip(id), info);
  };
  for (const method of ["GET", "HEAD"] as const)
    gateway.route(method, "/api/agents/:id/payload", { access: "caller", mutates: false }, read);
}

/** Whether payloads are there after a restart. */
export function isPersistent({
  config,
  store,
}: Pick<PluginContext<PayloadsOptions>, "config" | "store">): boolean {
  return config.store !== undefined || store.durable;
}

/**
 * A payload its owner may see, and those who run the gateway. For everyone else there is none: that it exists is nobody's business.
 *
 * @throws {GatewayError} `not_found`
 */
export function findOwn(
  store: PayloadStore,
  id: string,
  { ref, roles }: Principal,
  outlivesProcess: boolean,
): PayloadInfo {
  const info = store.info(id);
  if (info && (info.owner === ref || roles.has("operator") || roles.has("admin"))) return info;
  throw new GatewayError("not_found", "There is no such payload.", {
    hint: outlivesProcess
      ? "It was never stored, or its time is over."
      : "It was never stored, its time is over, or the gateway was restarted: payloads are in memory unless the gateway has a store, or plugins.payloads.store names a folder.",
  });
}

function respond(event: RouteEvent, gzip: Uint8Array | undefined, info: PayloadInfo): Response {
  // Deleted while it was being read.
  if (!gzip) throw new GatewayError("not_found", "There is no such payload.");
  const etag = createEtag(gzip);
  const headers = {
    etag,
    vary: "Accept-Encoding",
    "cache-control": "private, no-cache",
    // What a page of a stranger makes of it in a browser is never run there.
    "content-security-policy": "sandbox",
    "x-content-type-options": "nosniff",
  };
  if (isUnmodified(event, etag)) return new Response(null, { status: 304, headers });
  return new Response(event.req.method === "HEAD" ? null : Uint8Array.from(gzip), {
    headers: {
      ...headers,
      "content-type": info.mimeType,
      "content-encoding": "gzip",
      "content-length": String(gzip.length),
    },
  });
}

/** The one 406 of the gateway. */
function notAcceptable(): GatewayError {
  return new GatewayError("not_acceptable", "The payload is only sent compressed.", {
    hint: "Send accept-encoding: gzip.",
    headers: { vary: "Accept-Encoding" },
  });
}

/**
 * Where a client fetches a payload: below the public URL of the gateway. That is looked up once per config in force: the
 * status of a thousand agents asks for a thousand URLs.
 */
export function urlMaker(gateway: PluginContext<PayloadsOptions>): (id: string) => string {
  const { config, control } = gateway;
  const base = perGeneration(gateway, () => {
    const written = (control.effectiveConfig() as { publicUrl?: string }).publicUrl;
    const url = config.publicUrl ?? written ?? control.describe().listeners[0]!.url;
    return url.replace(/\/$/, "");
  });
  return (id) => `${base()}/api/agents/${encodeURIComponent(id)}/payload`;
}

/**
 * Whether a client takes gzip. Stricter than RFC 9110 section 12.5.3 on purpose: the source wants it said, so a request without
 * the header does not.
 */
export function acceptsGzip(header: string | null): boolean {
  if (header === null) return false;
  const weights = new Map(header.toLowerCase().split(",").map(readCoding));
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}

/** A weight that cannot be read counts as none, so that a refusal is never taken for consent. */
function readCoding(item: string): readonly [coding: string, weight: number] {
  const [coding = "", ...parameters] = item.split(";").map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  if (weight === undefined) return [coding, 1];
  return [coding, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0];
}
