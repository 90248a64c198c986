import { prefersEvents, traceOf, type Json, type PluginContext, type RouteEvent } from "propylon";
import { MANIFEST_FILE } from "propylon/contract";
import type { Card } from "../card.ts";
import type { A2aOptions } from "../options.ts";
import type { RuntimeService } from "../service.ts";
import { createManifest, HEALTH_PATH } from "./manifest.ts";
import { Readiness } from "./readiness.ts";
import { Reception } from "./reception.ts";
import { readEnvelope, readObject } from "./request.ts";

/** The face that answers what is no message of contract v1. */
export interface StandardFace {
  /** Answers a JSON-RPC request of A2A 1.0. */
  handle(event: RouteEvent, body: Json): Promise<Response> | Response;
}

/**
 * The routes of contract v1: `POST {path}`, which A2A 1.0 shares (C41), `GET /health` and `GET /runtime-contract.json`
 * (R015-R017, R077).
 */
export function contractRoutes(
  gateway: PluginContext<A2aOptions>,
  runtime: RuntimeService,
  card: Card,
  standard?: StandardFace,
): void {
  const { listener, path } = card.place;
  const open = { access: "public", mutates: false, listener } as const;
  const readiness = new Readiness(gateway);
  const reception = new Reception(runtime);
  gateway.route("POST", path, { access: "caller", mutates: false, listener }, async (event) => {
    const body = await readObject(event);
    if (Object.hasOwn(body, "jsonrpc")) return standard?.handle(event, body) ?? noStandard(body);
    const envelope = readEnvelope(body);
    readiness.check();
    const { req, context } = event;
    return reception.answer({
      ...envelope,
      principal: context.principal,
      meta: traceOf(req.headers),
      gone: req.signal,
      isStream: prefersEvents(req.headers.get("accept")),
    });
  });
  gateway.route("GET", HEALTH_PATH, open, () => {
    readiness.check();
    return Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } });
  });
  gateway.route("GET", `/${MANIFEST_FILE}`, open, () => createManifest(gateway, card));
}

/** JSON-RPC 2.0, section 5.1: method not found. */
function noStandard({ id = null }: Json): Json {
  const message = "This runtime speaks contract v1 only.";
  return { jsonrpc: "2.0", id, error: { code: -32601, message } };
}
