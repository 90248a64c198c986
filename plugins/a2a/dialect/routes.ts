import type { Json, PluginContext } from "propylon";
import { type Files, traceOf } from "propylon/kit";
import { CARD_PATH, MANIFEST_FILE } from "propylon/contract";
import { type DirectHandler, type DirectHead, prefersEvents } from "propylon/internal";
import { directPost, type PostRequest, postOf, type PostReply, toResponse } from "../post.ts";
import { CONTINUES_HEADER } from "../contract/message.ts";
import type { Card } from "../standard/card.ts";
import type { A2aOptions } from "../options.ts";
import type { RuntimeService } from "../service.ts";
import type { StandardFace } from "../standard/routes.ts";
import { WaitingClients } from "./waiting-clients.ts";
import { HEALTH_PATH, keepManifest } from "./manifest.ts";
import { Readiness } from "./readiness.ts";
import { ContractHandler } from "./contract-handler.ts";
import { readEnvelope, readJsonObject } from "./request.ts";

/**
 * The routes of contract v1: `POST {path}` and the agent card, which A2A 1.0 shares, `GET /health` and `GET /runtime-contract.json`.
 */
export function contractRoutes(
  gateway: PluginContext<A2aOptions, { readonly files: typeof Files }>,
  runtime: RuntimeService,
  card: Card,
  standard: StandardFace,
): void {
  const { listener, path } = card.place;
  const open = { access: "public", mutates: false, listener } as const;
  const readiness = new Readiness(gateway);
  const handler = new ContractHandler(
    runtime,
    // Clients of one task may have come before a reload and behind it.
    gateway.keep("waiting", () => new WaitingClients()),
  );
  const answer = async (post: PostRequest): Promise<PostReply | undefined> => {
    let body: Json;
    try {
      body = await readJsonObject(post);
    } catch (error) {
      return standard.refuse(post, error);
    }
    if (Object.hasOwn(body, "jsonrpc")) return standard.handle(post, body);
    const envelope = readEnvelope(body);
    readiness.check();
    const { principal, headers, onRevoked } = post;
    return handler.answer({
      ...envelope,
      principal,
      meta: traceOf(headers),
      gone: post.gone(),
      continues: headers.get(CONTINUES_HEADER) === "true",
      isStream: onRevoked !== undefined && prefersEvents(headers.get("accept") ?? null),
      onRevoked,
    });
  };
  const direct = (head: DirectHead): DirectHandler | undefined => {
    if (head.url.includes("?") || prefersEvents(head.headers.accept ?? null)) return undefined;
    // Streams are the router's.
    return (request) => answer(directPost(head, request)) as ReturnType<DirectHandler>;
  };
  const policy = { access: "caller", mutates: false, listener } as const;
  gateway.route("POST", path, { ...policy, direct }, async (event) =>
    toResponse((await answer(postOf(event)))!),
  );
  gateway.route("GET", HEALTH_PATH, open, () => {
    readiness.check();
    return Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } });
  });
  gateway.route("GET", `/${MANIFEST_FILE}`, open, keepManifest(gateway, card));
  // It must be there before the first task is.
  gateway.route("GET", CARD_PATH, open, (event) => card.answer(event));
}
