import { GatewayError, type PluginContext, type Principal, type RouteEvent } from "propylon";
import {
  admits,
  createEtag,
  isUnmodified,
  LookupQuota,
  pathParameter,
  perGeneration,
} from "propylon/kit";
import type { Store as GatewayStore } from "propylon/store";
import type { PayloadsOptions } from "./options.ts";
import type { PayloadInfo } from "./service.ts";
import type { Store } from "./store.ts";

/** Payloads in the list. */
const MAX_LISTED = 100;

/** `GET` and `HEAD /api/agents/:id/payload`, as compressed bytes, and the list of the newest. */
export function registerRoutes(
  gateway: PluginContext<PayloadsOptions>,
  store: Store,
  findOwn: FindOwn,
): void {
  const presignedTtl = gateway.config.bucket?.presignedTtl;
  const read = async (event: RouteEvent): Promise<Response> => {
    const id = pathParameter(event, "id");
    const info = await findOwn(id, event.context.principal);
    // 404 comes before 406: whether there is anything does not depend on how it is asked for.
    if (!acceptsGzip(event.req.headers.get("accept-encoding"))) throw notAcceptable();
    if (presignedTtl !== undefined) {
      const method = event.req.method === "HEAD" ? "HEAD" : "GET";
      const url = await store.presign(id, method, presignedTtl);
      if (url !== undefined) return redirect(url);
    }
    return respond(event, await store.gzip(id), info);
  };
  for (const method of ["GET", "HEAD"] as const)
    gateway.route(method, "/api/agents/:id/payload", { access: "caller", mutates: false }, read);
  gateway.route(
    "GET",
    "/_meta/payloads",
    { access: "caller", mutates: false, management: true },
    ({ context: { principal } }) => {
      const owner = seesAll(principal) ? undefined : principal.ref;
      return {
        ok: true,
        ...(owner === undefined ? store.usage : store.usageOf(owner)),
        payloads: store.newest(MAX_LISTED, owner).map(({ expiresAt = null, ...info }) => ({
          ...info,
          expiresAt,
          url: store.url(info.id),
        })),
      };
    },
  );
}

/** Those who run the gateway see the payloads of everybody. */
function seesAll(principal: Principal): boolean {
  return admits(principal, "operator");
}

/** Finds a payload for whom it belongs to. */
export type FindOwn = (id: string, principal: Principal) => Promise<PayloadInfo>;

/**
 * Finds a payload that its owner may see, and those who run the gateway. For everyone else there is none: that it exists is nobody's
 * business. It throws `not_found`.
 */
export function ownFinder(
  {
    config,
    services: { store },
  }: PluginContext<PayloadsOptions, { readonly store: typeof GatewayStore }>,
  payloads: Store,
): FindOwn {
  const isPersistent = config.store !== undefined || store.durable;
  const lookups = new LookupQuota("payloads");
  return async (id, principal) => {
    const { ref } = principal;
    const info = payloads.info(id) ?? (await lookups.run(ref, () => payloads.find(id)));
    if (info && (info.owner === ref || seesAll(principal))) return info;
    throw new GatewayError("not_found", "There is no such payload.", {
      hint: isPersistent
        ? "It was never stored, or its time is over."
        : "It was never stored, its time is over, or the gateway was restarted: payloads are in memory unless the gateway has a store, or plugins.payloads.store names a folder.",
    });
  };
}

/** The method and the body of a request stay as they are (RFC 9110 section 15.4.8). The URL is for this reader and this moment. */
function redirect(location: string): Response {
  const headers = {
    location,
    vary: "Accept-Encoding",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
  };
  return new Response(null, { status: 307, headers });
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
  const { config, info } = gateway;
  const base = perGeneration(gateway, () => {
    const written = (info.effectiveConfig() as { publicUrl?: string }).publicUrl;
    const url = config.publicUrl ?? written ?? info.describe().listeners[0]!.url;
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
