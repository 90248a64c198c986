import type { AgentCard } from "@a2a-js/sdk";
import type { Json } from "propylon";
import type { Card } from "./card.ts";
import { type PostRequest, postOf, type PostReply, toResponse } from "../post.ts";
import type { RuntimeService } from "../service.ts";
import type { EventQueue } from "./event-queue.ts";
import type { HandlerDependencies } from "./handler.ts";
import { createPushes, type PushContext } from "./pushes.ts";
import { answerRest, REST_ROUTES } from "./rest.ts";
import { answerRpc, asksForStream, refuseRpc } from "./rpc.ts";
import { openSdk, type Sdk } from "./sdk.ts";
import type { TaskService } from "propylon/plugins/tasks";
import { readContext } from "./call-context.ts";

/** What answers the requests of A2A 1.0 that come to the path which both dialects share. */
export interface StandardFace {
  /** Answers a JSON-RPC request; one that is wrong as well. `undefined`: it wants a stream, and came on a way that takes none. */
  handle(post: PostRequest, body: Json): Promise<PostReply | undefined>;
  /**
   * Answers a request that could not even be read, in the words of JSON-RPC and with the status of the error, if its header says
   * that it is one of A2A 1.0.
   * @throws the error, if not
   */
  refuse(post: PostRequest, error: unknown): Promise<PostReply>;
  /** To be called when the previous tasks are loaded: tells webhooks what a replica left untold that ended. @returns ends that */
  begin(): () => void;
}

/**
 * The face of A2A 1.0: the routes of the HTTP+JSON binding below the path of the runtime, and the answers to JSON-RPC. A message
 * is a call, not a change of the gateway, so read-only mode lets it pass, as it does with MCP and OpenAPI.
 */
export function standardFace(
  gateway: PushContext,
  runtime: RuntimeService,
  card: Card,
  tasks: TaskService | undefined,
): StandardFace {
  // A stream outlives the configuration that it was opened under.
  const subscriptions = gateway.keep("subscriptions", () => new Set<EventQueue>());
  const pushes = createPushes(gateway, runtime);
  const dependencies: HandlerDependencies = { runtime, tasks, pushes, subscriptions };
  // No message comes any more, so a task that waits for one would keep its streams open until the grace is over.
  gateway.hook("gateway:drain", () => {
    for (const events of subscriptions) events.endIfWaiting();
  });
  const cards = new WeakMap<object, AgentCard>();
  const contextOf = async (post: PostRequest) => {
    const sdk = await openSdk();
    return readContext(post, sdk, readCard(sdk, card.document, cards));
  };
  const { listener } = card.place;
  for (const route of REST_ROUTES) {
    const policy = { access: "caller", mutates: false, listener } as const;
    gateway.route(route.method, card.place.below(route.path), policy, async (event) => {
      const post = postOf(event);
      const context = await contextOf(post);
      return toResponse(await answerRest(route, { event, post, context }, dependencies));
    });
  }
  return {
    handle: async (post, body) =>
      !post.onRevoked && asksForStream(body)
        ? undefined
        : answerRpc(await contextOf(post), body, dependencies),
    begin: () => pushes.lookAfterOthers(),
    async refuse({ headers }, error) {
      if (headers.get("a2a-version") == null) throw error;
      return refuseRpc(await openSdk(), error);
    },
  };
}

/** The card as the SDK has it, read once per document. */
function readCard(sdk: Sdk, document: object, known: WeakMap<object, AgentCard>): AgentCard {
  const card = known.get(document) ?? sdk.AgentCard.fromJSON(document);
  known.set(document, card);
  return card;
}
